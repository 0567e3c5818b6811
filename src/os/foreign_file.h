// SPDX-License-Identifier: Apache-2.0
// A descriptor that somebody else may have made, or whose unread packets may carry such ones.
// Closing it can take as long as they like: a TCP socket may linger for hours. So it is closed on a
// thread that nobody waits for, and that is interrupted; or left behind, if that does not help.
#pragma once

#include <utility>

#include "base/unique_fd.h"

namespace nvs::os {

class ForeignFile {
 public:
  ForeignFile() = default;
  explicit ForeignFile(UniqueFd fd) : fd_(std::move(fd)) {}
  ForeignFile(ForeignFile&&) noexcept = default;
  ForeignFile& operator=(ForeignFile&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::move(other.fd_);
    }
    return *this;
  }
  ForeignFile(const ForeignFile&) = delete;
  ForeignFile& operator=(const ForeignFile&) = delete;
  ~ForeignFile() { reset(); }

  explicit operator bool() const { return static_cast<bool>(fd_); }
  int get() const { return fd_.get(); }
  void reset();

 private:
  UniqueFd fd_;
};

// Until all that was given up so far is closed: for whoever counts descriptors.
void wait_until_closed();

}  // namespace nvs::os
