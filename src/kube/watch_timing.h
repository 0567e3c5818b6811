// SPDX-License-Identifier: Apache-2.0
// All times of the watch in one place. Programs leave them alone; tests that would wait make them
// shorter.
#pragma once

#include "base/instant.h"

namespace nvs::kube {

struct WatchTiming {
  // Between attempts: one to two times a span that doubles from the first to the most.
  Duration backoff_first = Duration::from_ms(800);
  Duration backoff_most = Duration::from_s(15);
  // A watch that held so long was a good one: what went wrong before is forgiven.
  Duration healthy = Duration::from_s(10);
  Duration connect = Duration::from_s(10);
  // For the first answer, and between two pieces of a list. A quiet watch is silent for longer.
  Duration silence = Duration::from_s(60);
  Duration list_most = Duration::from_s(300);
  // The server is asked to end a watch after a time between these; each node has its own.
  Duration watch_least = Duration::from_s(300);
  Duration watch_most = Duration::from_s(600);
  Duration watch_margin = Duration::from_s(30);  // until we end it ourselves
  // A watch that held so long, and in which not even a bookmark came, began at a version that the
  // server does not know (a restored etcd, for one): it hears nothing, for ever.
  Duration suspicious = Duration::from_s(150);
  Duration relist_least = Duration::from_s(600);
  Duration relist_most = Duration::from_s(1800);
  Duration retry_after_most = Duration::from_s(300);
};

}  // namespace nvs::kube
