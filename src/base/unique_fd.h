// SPDX-License-Identifier: Apache-2.0
// A file descriptor with an owner: it is closed exactly once, whichever way the owner goes away.
#pragma once

#include <utility>

#include <unistd.h>

namespace nvs {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }

  // Hands the descriptor over: closing it is the caller's business from here on.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

  // Never retried on EINTR: Linux has closed the descriptor by then, and the number may already be
  // somebody else's.
  void reset(int fd = -1) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = fd;
  }

 private:
  int fd_ = -1;
};

}  // namespace nvs
