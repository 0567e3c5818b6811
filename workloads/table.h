// SPDX-License-Identifier: Apache-2.0
// Columns that line up, for the tables that programs print at their end.
#pragma once

#include <string>
#include <vector>

namespace nvs::workloads {

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
};

class Table {
 public:
  explicit Table(std::vector<Column> columns);

  // Missing cells are empty; a row has no more cells than there are columns.
  void add_row(std::vector<std::string> cells);
  // A line of dashes over all columns.
  void add_rule();
  // The table with its header, each line ended, no blanks at line ends.
  std::string render() const;

 private:
  std::vector<Column> columns_;
  // A row without cells is a rule.
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace nvs::workloads
