// SPDX-License-Identifier: Apache-2.0
#include "daemon/web.h"

#include "daemon/limits.h"
#include "daemon/metrics.h"

namespace nvs::daemon {

HttpPage Web::page(std::string_view path) {
  if (path == "/healthz") {
    return {"text/plain; charset=utf-8", std::make_shared<const std::string>("ok\n")};
  }
  if (path != "/metrics") return {};
  const Instant now = clock_();
  if (!latest_ || now - made_ >= kMetricsAge) {
    latest_ = std::make_shared<const std::string>(metrics_());
    made_ = now;
  }
  return {kMetricsType, latest_};
}

}  // namespace nvs::daemon
