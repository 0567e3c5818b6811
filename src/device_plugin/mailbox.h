// SPDX-License-Identifier: Apache-2.0
// Where other threads leave messages for the event loop: they only post, and the loop decides.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include <sys/eventfd.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/unique_fd.h"

namespace nvs::plugin {

template <class Message>
class Mailbox {
 public:
  Mailbox() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) { NVS_ASSERT(event_); }

  // Readable while there are messages.
  int fd() const { return event_.get(); }

  void post(Message message) {
    {
      const std::lock_guard<std::mutex> guard(lock_);
      messages_.push_back(std::move(message));
    }
    const std::uint64_t one = 1;
    // It fails if 2^64 posts were not taken: then it is readable anyway.
    [[maybe_unused]] const ssize_t put = ::write(event_.get(), &one, sizeof one);
  }

  std::vector<Message> take() {
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t got = ::read(event_.get(), &count, sizeof count);
    const std::lock_guard<std::mutex> guard(lock_);
    return std::exchange(messages_, {});
  }

 private:
  UniqueFd event_;
  std::mutex lock_;  // of messages_
  std::vector<Message> messages_;
};

}  // namespace nvs::plugin
