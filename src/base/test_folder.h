// SPDX-License-Identifier: Apache-2.0
// A folder of a test's own for the files that it looks at; gone with its object.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "base/assert.h"

namespace nvs {

class TestFolder {
 public:
  TestFolder() : path_((std::filesystem::temp_directory_path() / "nvshare_test_XXXXXX").string()) {
    NVS_ASSERT(::mkdtemp(path_.data()) != nullptr);
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string path(const std::string& name) const { return path_ + "/" + name; }

  // Makes a file, and the folders above it; returns its path.
  std::string write(const std::string& name, std::string_view text) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  std::string write(const std::string& name, std::string_view text,
                    std::filesystem::perms rights) const {
    std::filesystem::permissions(write(name, text), rights);
    return path(name);
  }
  std::string read(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool has(const std::string& name) const { return std::filesystem::exists(path(name)); }

 private:
  std::string path_;
};

}  // namespace nvs
