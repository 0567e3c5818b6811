// SPDX-License-Identifier: Apache-2.0
#include "bench/report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/progress.h"

namespace nvs::bench {
namespace {

constexpr std::size_t kColumns = 6;
using Line = std::array<std::string, kColumns>;
// What the cases need, but for some names of a few letters more. The verdict has no width.
constexpr std::array<std::size_t, kColumns> kWidths = {42, 7, 12, 6, 14, 0};

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
          row.facts ? format_value(*row.facts) : row.facts_word,
          row.target ? format_target(*row.target) : "",
          verdict_text(judge(row))};
}

// Names and units stand left, figures right: digits of one column then line up.
std::string pad(const Line& line) {
  std::string text = fmt::format("  {:<{}}  {:>{}} {:<{}}  {:>{}}  {:>{}}  {}", line[0], kWidths[0],
                                 line[1], kWidths[1], line[2], kWidths[2], line[3], kWidths[3],
                                 line[4], kWidths[4], line[5]);
  text.erase(text.find_last_not_of(' ') + 1);
  return text + "\n";
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

std::string render_top(const Heading& heading) {
  return fmt::format("{} on {}\n\n", heading.case_name, heading.device) +
         pad({"what", "value", "unit", "FACTS", "target", "ok"});
}

std::string render_row(const Row& row, const std::string& section_before) {
  const std::string line = pad(line_of(row));
  return row.section == section_before ? line : row.section + "\n" + line;
}

std::string render_lines(const std::string& section, const std::string& lines,
                         const std::string& section_before) {
  std::string text = section == section_before ? "" : section + "\n";
  std::istringstream stream(lines);
  for (std::string line; std::getline(stream, line);) text += "  " + line + "\n";
  return text;
}

std::string render_summary(const std::vector<Row>& rows) {
  std::size_t targets = 0;
  std::size_t met = 0;
  std::size_t invalid = 0;
  for (const Row& row : rows) {
    targets += row.target ? 1 : 0;
    met += judge(row) == Verdict::kMet ? 1 : 0;
    invalid += judge(row) == Verdict::kInvalid ? 1 : 0;
  }
  std::string text = fmt::format("\n{} rows, {} of {} targets met", rows.size(), met, targets);
  text += invalid == 0 ? ", none invalid\n"
                       : fmt::format(
                             ", {} invalid (the simulator was more than {:.0f} % late: the "
                             "machine is too busy)\n",
                             invalid, kOverrunMax * 100);
  return text;
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
  if (!row.facts_word.empty()) object["facts"] = row.facts_word;
  object["low"] = number_or_null(row.value.low);
  object["high"] = number_or_null(row.value.high);
  object["overrun"] = number_or_null(row.overrun);
  object["section"] = row.section;
  object["device"] = heading.device;
  return object.dump() + "\n";
}

Report::Report(Heading heading, Format format, std::FILE* out)
    : heading_(std::move(heading)), format_(format), out_(out) {
  if (format_ == Format::kTable) print(render_top(heading_));
}

void Report::add(Row row) {
  if (format_ == Format::kJson) {
    print(render_json(heading_, row));
  } else {
    print(render_row(row, section_));
  }
  section_ = row.section;
  rows_.push_back(std::move(row));
}

void Report::show(const std::string& section, const std::string& lines) {
  if (format_ == Format::kJson) return;
  print(render_lines(section, lines, section_));
  section_ = section;
}

void Report::finish() {
  if (format_ == Format::kTable) print(render_summary(rows_));
}

void Report::print(const std::string& text) {
  const Progress::Pause pause;
  fmt::print(out_, "{}", text);
  std::fflush(out_);
}

bool Report::acceptable() const {
  // A case that measured nothing has shown nothing.
  return !rows_.empty() && std::all_of(rows_.begin(), rows_.end(), [](const Row& row) {
    return bench::acceptable(judge(row));
  });
}

}  // namespace nvs::bench
