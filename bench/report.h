// SPDX-License-Identifier: Apache-2.0
// Where rows go: a table with aligned columns for people, or one JSON object a line for programs.
// Each row is printed as soon as it is known, so that a run that is cut off shows what it had.
// Rendering is apart from printing so that tests can read it.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "bench/row.h"

namespace nvs::bench {

enum class Format { kTable, kJson };

// What all rows of a run have in common.
struct Heading {
  std::string case_name;
  std::string device;
};

// Four significant digits at most, no exponent, and no more decimals than help.
std::string format_value(double value);
std::string format_target(const Target& target);
// The table in the order in which it appears. Columns are as wide as nearly all rows need, since
// rows to come are not known; what is wider sticks out.
std::string render_top(const Heading& heading);
// With the row's section above it if that is not the one of the row before.
std::string render_row(const Row& row, const std::string& section_before);
// Lines of any kind, likewise.
std::string render_lines(const std::string& section, const std::string& lines,
                         const std::string& section_before);
std::string render_summary(const std::vector<Row>& rows);
std::string render_json(const Heading& heading, const Row& row);

class Report {
 public:
  // Prints the top of the table.
  Report(Heading heading, Format format, std::FILE* out);

  void add(Row row);
  // Lines that belong to a section, for people alone: what programs want of them is in rows.
  void show(const std::string& section, const std::string& lines);
  // Prints the summary below the table.
  void finish();
  bool acceptable() const;

 private:
  void print(const std::string& text);

  Heading heading_;
  Format format_;
  std::FILE* out_;
  std::vector<Row> rows_;
  std::string section_;  // of the last line
};

}  // namespace nvs::bench
