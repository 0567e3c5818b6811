// SPDX-License-Identifier: Apache-2.0
// Where rows go: a table with aligned columns for people, printed when the case is over, or one
// JSON object a line for programs, printed as each row is known. Rendering is apart from printing
// so that tests can read it.
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
std::string render_table(const Heading& heading, const std::vector<Row>& rows);
std::string render_json(const Heading& heading, const Row& row);

class Report {
 public:
  Report(Heading heading, Format format, std::FILE* out);

  void add(Row row);
  // Prints what `add` has not printed yet.
  void finish();
  bool acceptable() const;

 private:
  Heading heading_;
  Format format_;
  std::FILE* out_;
  std::vector<Row> rows_;
};

}  // namespace nvs::bench
