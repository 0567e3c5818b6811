// SPDX-License-Identifier: Apache-2.0
// Tells which files come into a folder and which leave it, as a descriptor for the event loop. It
// is about the folder that was there at first: another one under the same name is not watched.
#pragma once

#include <cstdint>
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
    gone,  // the folder was removed, moved or unmounted: there will be nothing more
  } kind;
  std::string name;
};

class FolderWatch {
 public:
  static Result<FolderWatch> create(const std::string& folder);

  int fd() const { return fd_.get(); }
  // What happened since the last time.
  std::vector<FolderChange> take();
  // No if it was removed, or something else has its name by now. The kernel says nothing of a
  // folder that is removed while it is mounted elsewhere, as it is into a container.
  bool is_there() const;

 private:
  FolderWatch(UniqueFd fd, std::string folder, std::uint64_t device, std::uint64_t inode)
      : fd_(std::move(fd)), folder_(std::move(folder)), device_(device), inode_(inode) {}
  UniqueFd fd_;
  std::string folder_;
  std::uint64_t device_;
  std::uint64_t inode_;
};

}  // namespace nvs::plugin
