// SPDX-License-Identifier: Apache-2.0
// A descriptor that somebody else may have made, or whose unread packets may carry such ones.
// Closing it can take as long as they like: a TCP socket may linger for hours, a file system in
// user space need not answer. So it is closed on a thread that nobody waits for, and that is
// interrupted; or left behind, if that does not help.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "base/unique_fd.h"

namespace nvs::os {

class ForeignFile {
 public:
  // Interrupting always helps with a socket of our own, whatever it brings, and not with what was
  // passed to us. They do not wait for each other.
  enum class Kind : std::uint8_t { passed, our_socket };
  // Given back when it is closed.
  using Ticket = std::shared_ptr<const void>;

  ForeignFile() = default;
  explicit ForeignFile(UniqueFd fd, Kind kind = Kind::passed) : fd_(std::move(fd)), kind_(kind) {}
  ForeignFile(ForeignFile&&) noexcept = default;
  ForeignFile& operator=(ForeignFile&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::move(other.fd_);
      kind_ = other.kind_;
      ticket_ = std::move(other.ticket_);
    }
    return *this;
  }
  ForeignFile(const ForeignFile&) = delete;
  ForeignFile& operator=(const ForeignFile&) = delete;
  ~ForeignFile() { reset(); }

  explicit operator bool() const { return static_cast<bool>(fd_); }
  int get() const { return fd_.get(); }
  void keep(Ticket ticket) { ticket_ = std::move(ticket); }
  void reset();

 private:
  UniqueFd fd_;
  Kind kind_ = Kind::passed;
  Ticket ticket_;
};

// Until all that was given up so far is closed: for whoever counts descriptors.
void wait_until_closed();

}  // namespace nvs::os
