// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics_writer.h"

#include <algorithm>
#include <charconv>

#include "base/assert.h"
#include "base/log_text.h"

namespace nvs::daemon {
namespace {

struct Family {
  std::string_view name;
  std::string_view type;
  MetricLabels labels;
  std::string_view help;
};

constexpr Family kFamilies[] = {
#define NVS_METRIC_LABELS(set, names)
#define NVS_METRIC(name, type, set, help) {#name, #type, MetricLabels::set, help},
#include "spec/metrics.def"
#undef NVS_METRIC
#undef NVS_METRIC_LABELS
};

constexpr std::string_view kLabelNames[] = {
#define NVS_METRIC_LABELS(set, names) names,
#define NVS_METRIC(name, type, set, help)
#include "spec/metrics.def"
#undef NVS_METRIC
#undef NVS_METRIC_LABELS
};

constexpr bool names_follow_the_types() {
  return std::all_of(std::begin(kFamilies), std::end(kFamilies), [](const Family& family) {
    const bool is_counter = family.type == "counter";
    return family.name.ends_with("_total") == is_counter && (is_counter || family.type == "gauge");
  });
}
static_assert(names_follow_the_types());

const Family& family_of(Metric metric) { return kFamilies[static_cast<std::size_t>(metric)]; }

// The format has three escapes, and wants UTF-8. Other control characters would do harm on the
// terminal of who reads it.
void append_value(std::string& out, std::string_view value) {
  while (!value.empty()) {
    const Character character = first_character(value);
    value.remove_prefix(character.bytes.size());
    const std::uint32_t point = character.point.value_or(0xfffd);
    if (point == '\n') {
      out += "\\n";
    } else if (point == '"' || point == '\\') {
      out += '\\';
      out += static_cast<char>(point);
    } else if (!character.point || is_control(point)) {
      out += "\ufffd";
    } else {
      out += character.bytes;
    }
  }
}

}  // namespace

LabelText::LabelText(MetricLabels set, std::initializer_list<std::string_view> values) : set_(set) {
  std::string_view names = kLabelNames[static_cast<std::size_t>(set)];
  for (const std::string_view value : values) {
    NVS_ASSERT(!names.empty());
    const std::string_view name = names.substr(0, names.find(','));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    text_ += text_.empty() ? '{' : ',';
    text_ += name;
    text_ += "=\"";
    append_value(text_, value);
    text_ += '"';
  }
  NVS_ASSERT(names.empty());
  if (!text_.empty()) text_ += '}';
}

void MetricsWriter::add(Metric metric, const LabelText& labels, double value) {
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  add_text(metric, labels, {buffer.data(), static_cast<std::size_t>(end - buffer.data())});
}

void MetricsWriter::add(Metric metric, const LabelText& labels, Duration value) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::int64_t ns = std::max<std::int64_t>(value.ns(), 0);
  std::string text = std::to_string(ns / kSecond);
  if (ns % kSecond != 0) {
    // Nine digits, without those zeros at the end that say nothing.
    std::string digits = std::to_string(kSecond + ns % kSecond);
    digits.erase(digits.find_last_not_of('0') + 1);
    text += '.' + digits.substr(1);
  }
  add_text(metric, labels, text);
}

void MetricsWriter::add_text(Metric metric, const LabelText& labels, std::string_view value) {
  const Family& family = family_of(metric);
  NVS_ASSERT(labels.set() == family.labels);
  std::string& samples = samples_[static_cast<std::size_t>(metric)];
  samples += family.name;
  samples += labels.text();
  samples += ' ';
  samples += value;
  samples += '\n';
}

std::string MetricsWriter::take() const {
  std::string text;
  for (std::size_t index = 0; index < samples_.size(); ++index) {
    const Family& family = kFamilies[index];
    for (const std::string_view part :
         {std::string_view("# HELP "), family.name, std::string_view(" "), family.help,
          std::string_view("\n# TYPE "), family.name, std::string_view(" "), family.type,
          std::string_view("\n"), std::string_view(samples_[index])}) {
      text += part;
    }
  }
  return text;
}

}  // namespace nvs::daemon
