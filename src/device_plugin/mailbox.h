// SPDX-License-Identifier: Apache-2.0
// Where other threads leave messages for the event loop: they only post, and the loop decides.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "os/wake_event.h"

namespace nvs::plugin {

template <class Message>
class Mailbox {
 public:
  // Without a descriptor at the start there is no program.
  Mailbox() : event_(made()) {}

  // Readable while there are messages.
  int fd() const { return event_.fd(); }

  void post(Message message) {
    {
      const std::lock_guard<std::mutex> guard(lock_);
      messages_.push_back(std::move(message));
    }
    event_.set();
  }

  std::vector<Message> take() {
    event_.clear();
    const std::lock_guard<std::mutex> guard(lock_);
    return std::exchange(messages_, {});
  }

 private:
  static os::WakeEvent made() {
    auto event = os::WakeEvent::create();
    NVS_ASSERT(event);
    return *std::move(event);
  }

  os::WakeEvent event_;
  std::mutex lock_;  // of messages_
  std::vector<Message> messages_;
};

}  // namespace nvs::plugin
