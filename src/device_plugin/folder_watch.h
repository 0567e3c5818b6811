// SPDX-License-Identifier: Apache-2.0
// Tells which files come into a folder and which leave it, as a descriptor for the event loop.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nvs::plugin {

struct FolderChange {
  enum class Kind : std::uint8_t {
    came,
    left,
    lost,  // changes were missed: look for yourself
  } kind;
  std::string name;
};

class FolderWatch {
 public:
  static Result<FolderWatch> create(const std::string& folder);

  int fd() const { return fd_.get(); }
  // What happened since the last time.
  std::vector<FolderChange> take();

 private:
  explicit FolderWatch(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace nvs::plugin
