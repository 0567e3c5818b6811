// SPDX-License-Identifier: Apache-2.0
// Between the thread of the watch and the event loop of its owner. Nothing gets lost, and an owner
// that is slow does not make it grow: of each pod there is one change at most, the sum of all that
// the owner has not taken.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/result.h"
#include "kube/update.h"
#include "os/wake_event.h"

namespace nvs::kube {

class PodMailbox {
 public:
  static Result<PodMailbox> create();

  // From any thread.
  void post(Update update);

  // Readable while take() has something.
  int fd() const { return wake_.fd(); }
  // Changes in the order in which their pods were first heard of; of messages the last
  // kMessagesMax.
  Update take();

  // It moves only as long as nobody knows it.
  PodMailbox(PodMailbox&& other) noexcept : wake_(std::move(other.wake_)) {}

 private:
  struct Pending {
    std::uint64_t order;
    PodChange change;
  };

  explicit PodMailbox(os::WakeEvent wake) : wake_(std::move(wake)) {}
  void add(PodChange change);

  os::WakeEvent wake_;
  std::mutex mutex_;                        // of all below
  std::map<std::string, Pending> changes_;  // by uid
  std::uint64_t next_order_ = 0;
  Update rest_;  // without changes
};

}  // namespace nvs::kube
