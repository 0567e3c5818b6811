// SPDX-License-Identifier: Apache-2.0
// The node in numbers for Prometheus, in its text format 0.0.4: what status shows people, under
// the names of spec/metrics.def. Names of tenants come from strangers; whatever bytes they hold,
// the text can be read, since Prometheus drops all of one that cannot.
#pragma once

#include <string>

#include "core/view.h"
#include "daemon/status.h"

namespace nvs::daemon {

inline constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

std::string metrics_text(const core::NodeView& view, const NodeLabels& labels);

}  // namespace nvs::daemon
