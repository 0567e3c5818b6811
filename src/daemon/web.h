// SPDX-License-Identifier: Apache-2.0
// What the daemon serves over HTTP: /metrics for Prometheus, and /healthz, which tells that the
// loop turns.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/instant.h"
#include "daemon/http_connection.h"

namespace nvs::daemon {

class Web {
 public:
  using Clock = std::function<Instant()>;
  using Metrics = std::function<std::string()>;  // metrics_text()

  Web(Clock clock, Metrics metrics) : clock_(std::move(clock)), metrics_(std::move(metrics)) {}

  HttpPage page(std::string_view path);

 private:
  Clock clock_;
  Metrics metrics_;
  // Made in one round of the loop, in which no window changes hands: not for each who asks.
  std::shared_ptr<const std::string> latest_;
  Instant made_;
};

}  // namespace nvs::daemon
