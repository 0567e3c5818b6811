// SPDX-License-Identifier: Apache-2.0
// The pods of this node and their annotations, as the API server has them, from a thread of its own
// that does nothing but watch and post. Whatever becomes of the server, the owner is not disturbed,
// and what was known stays known.
#pragma once

#include <functional>
#include <memory>

#include "base/result.h"
#include "kube/in_cluster.h"
#include "kube/update.h"

namespace nvs::kube {

class PodWatch {
 public:
  // Called in the thread of the watch: it passes the update on and returns (kube/pod_mailbox.h).
  using Post = std::function<void(Update)>;

  // Errors: libcurl is not there, no thread to be had. A server that is not there is none: it is
  // waited for.
  static Result<std::unique_ptr<PodWatch>> start(const Settings& settings, Post post);

  // Does not wait for the server. Nothing is posted any more when it returns.
  virtual ~PodWatch() = default;
  PodWatch(const PodWatch&) = delete;
  PodWatch& operator=(const PodWatch&) = delete;

 protected:
  PodWatch() = default;
};

}  // namespace nvs::kube
