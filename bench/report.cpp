// SPDX-License-Identifier: Apache-2.0
#include "bench/report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace nvs::bench {
namespace {

constexpr std::size_t kColumns = 6;
using Line = std::array<std::string, kColumns>;

const char* verdict_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::kNone:
      return "";
    case Verdict::kMet:
      return "ok";
    case Verdict::kMissed:
      return "MISSED";
    case Verdict::kInvalid:
      return "invalid";
  }
  return "";
}

Line line_of(const Row& row) {
  return {row.what,
          format_value(row.value.median),
          row.unit,
          row.facts ? format_value(*row.facts) : "",
          row.target ? format_target(*row.target) : "",
          verdict_text(judge(row))};
}

// Names and units stand left, figures right: digits of one column then line up.
std::string pad(const Line& line, const std::array<std::size_t, kColumns>& widths) {
  std::string text =
      fmt::format("  {:<{}}  {:>{}} {:<{}}  {:>{}}  {:>{}}  {}", line[0], widths[0], line[1],
                  widths[1], line[2], widths[2], line[3], widths[3], line[4], widths[4], line[5]);
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
}

std::string summary_of(const std::vector<Row>& rows) {
  std::size_t targets = 0;
  std::size_t met = 0;
  std::size_t invalid = 0;
  for (const Row& row : rows) {
    targets += row.target ? 1 : 0;
    met += judge(row) == Verdict::kMet ? 1 : 0;
    invalid += judge(row) == Verdict::kInvalid ? 1 : 0;
  }
  std::string text = fmt::format("{} rows, {} of {} targets met", rows.size(), met, targets);
  text += invalid == 0 ? ", none invalid\n"
                       : fmt::format(
                             ", {} invalid (the simulator was more than {:.0f} % late: the "
                             "machine is too busy)\n",
                             invalid, kOverrunMax * 100);
  return text;
}

nlohmann::ordered_json number_or_null(const std::optional<double>& value) {
  // JSON knows no NaN and no infinity.
  if (!value || !std::isfinite(*value)) return nullptr;
  return *value;
}

}  // namespace

std::string format_value(double value) {
  if (!std::isfinite(value)) return "-";
  const double size = std::fabs(value);
  if (size == 0) return "0";
  if (size >= 999.5) return fmt::format("{:.0f}", value);
  if (size >= 99.95) return fmt::format("{:.1f}", value);
  if (size >= 0.9995) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3f}", value);
}

std::string format_target(const Target& target) {
  if (target.min && target.max) {
    return fmt::format("{} .. {}", format_value(*target.min), format_value(*target.max));
  }
  if (target.min) return fmt::format(">= {}", format_value(*target.min));
  if (target.max) return fmt::format("<= {}", format_value(*target.max));
  return "";
}

std::string render_table(const Heading& heading, const std::vector<Row>& rows) {
  const Line titles = {"what", "value", "unit", "FACTS", "target", "ok"};
  std::vector<Line> lines = {titles};
  for (const Row& row : rows) lines.push_back(line_of(row));
  std::array<std::size_t, kColumns> widths{};
  for (const Line& line : lines) {
    for (std::size_t i = 0; i < kColumns; ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text = fmt::format("{} on {}\n\n", heading.case_name, heading.device);
  text += pad(titles, widths);
  std::string section;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].section != section) {
      section = rows[i].section;
      text += fmt::format("{}\n", section);
    }
    text += pad(lines[i + 1], widths);
  }
  return text + "\n" + summary_of(rows);
}

std::string render_json(const Heading& heading, const Row& row) {
  nlohmann::ordered_json object;
  object["case"] = heading.case_name;
  object["what"] = row.what;
  object["value"] = number_or_null(row.value.median);
  object["unit"] = row.unit;
  object["target"] = nullptr;
  object["ok"] = nullptr;
  if (row.target) {
    object["target"] = {{"min", number_or_null(row.target->min)},
                        {"max", number_or_null(row.target->max)}};
    object["ok"] = judge(row) == Verdict::kMet;
  }
  object["valid"] = valid(row);
  object["facts"] = number_or_null(row.facts);
  object["low"] = number_or_null(row.value.low);
  object["high"] = number_or_null(row.value.high);
  object["overrun"] = number_or_null(row.overrun);
  object["section"] = row.section;
  object["device"] = heading.device;
  return object.dump() + "\n";
}

Report::Report(Heading heading, Format format, std::FILE* out)
    : heading_(std::move(heading)), format_(format), out_(out) {}

void Report::add(Row row) {
  if (format_ == Format::kJson) {
    fmt::print(out_, "{}", render_json(heading_, row));
    std::fflush(out_);
  }
  rows_.push_back(std::move(row));
}

void Report::finish() {
  if (format_ == Format::kTable) fmt::print(out_, "{}", render_table(heading_, rows_));
  std::fflush(out_);
}

bool Report::acceptable() const {
  // A case that measured nothing has shown nothing.
  return !rows_.empty() && std::all_of(rows_.begin(), rows_.end(), [](const Row& row) {
    return bench::acceptable(judge(row));
  });
}

}  // namespace nvs::bench
