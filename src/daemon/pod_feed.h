// SPDX-License-Identifier: Apache-2.0
// The watch of pods in the daemon's event loop: its thread posts, the loop takes what is there and
// never waits.
#pragma once

#include <functional>
#include <memory>

#include "base/result.h"
#include "kube/in_cluster.h"
#include "kube/pod_mailbox.h"
#include "kube/pod_watch.h"
#include "os/event_loop.h"

namespace nvs::daemon {

class PodFeed {
 public:
  using Take = std::function<void(const kube::Update&)>;
  static Result<std::unique_ptr<PodFeed>> start(const kube::Settings& settings, os::EventLoop& loop,
                                                Take take);
  ~PodFeed();
  PodFeed(const PodFeed&) = delete;
  PodFeed& operator=(const PodFeed&) = delete;

 private:
  PodFeed(os::EventLoop& loop, kube::PodMailbox mailbox)
      : loop_(loop), mailbox_(std::move(mailbox)) {}

  os::EventLoop& loop_;
  kube::PodMailbox mailbox_;
  std::unique_ptr<kube::PodWatch> watch_;  // ends before the mailbox
};

}  // namespace nvs::daemon
