// SPDX-License-Identifier: Apache-2.0
// Writes the text that Prometheus reads. The samples of a metric must stand together, while whoever
// knows the samples goes from tenant to tenant: they are collected by metric.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/instant.h"

namespace nvs::daemon {

enum class Metric : std::uint8_t {
#define NVS_METRIC_LABELS(set, names)
#define NVS_METRIC(name, type, set, help) name,
#include "spec/metrics.def"
#undef NVS_METRIC
#undef NVS_METRIC_LABELS
  count,
};

enum class MetricLabels : std::uint8_t {
#define NVS_METRIC_LABELS(set, names) set,
#define NVS_METRIC(name, type, set, help)
#include "spec/metrics.def"
#undef NVS_METRIC
#undef NVS_METRIC_LABELS
};

// The labels of a sample as they are written, made once for all metrics of a tenant or GPU.
class LabelText {
 public:
  // A value for each label of the set, in its order.
  LabelText(MetricLabels set, std::initializer_list<std::string_view> values);

  MetricLabels set() const { return set_; }
  const std::string& text() const { return text_; }

 private:
  MetricLabels set_;
  std::string text_;
};

class MetricsWriter {
 public:
  // The labels must be of the metric's set.
  void add(Metric metric, const LabelText& labels, std::integral auto value) {
    add_text(metric, labels, std::to_string(value));
  }
  void add(Metric metric, const LabelText& labels, double value);
  // In seconds, exact to the nanosecond.
  void add(Metric metric, const LabelText& labels, Duration value);

  // Every metric with what it means, also those without a sample.
  std::string take() const;

 private:
  void add_text(Metric metric, const LabelText& labels, std::string_view value);

  std::array<std::string, static_cast<std::size_t>(Metric::count)> samples_;
};

}  // namespace nvs::daemon
