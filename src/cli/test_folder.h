// SPDX-License-Identifier: Apache-2.0
// A folder of a test's own for the files that it looks at; gone with its object.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/assert.h"

namespace nvs::cli {

class TestFolder {
 public:
  TestFolder() : path_((std::filesystem::temp_directory_path() / "nvshare_cli_XXXXXX").string()) {
    NVS_ASSERT(::mkdtemp(path_.data()) != nullptr);
  }
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string path(const std::string& name) const { return path_ + "/" + name; }

  // Makes a file, and the folders above it; returns its path.
  std::string write(const std::string& name, std::string_view text,
                    std::filesystem::perms rights = std::filesystem::perms::owner_read) const {
    const std::string file = path(name);
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    std::ofstream(file, std::ios::binary) << text;
    std::filesystem::permissions(file, rights);
    return file;
  }

 private:
  std::string path_;
};

}  // namespace nvs::cli
