// SPDX-License-Identifier: Apache-2.0
#include "workloads/table.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace nvs::workloads {
namespace {

constexpr const char* kGap = "  ";

void append_line(std::string& out, std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  out += line;
  out += '\n';
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add_row(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

void Table::add_rule() { rows_.emplace_back(); }

std::string Table::render() const {
  std::vector<std::string> header;
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    header.push_back(columns_[c].title);
    std::size_t width = columns_[c].title.size();
    for (const auto& row : rows_) width = std::max(width, row.empty() ? 0 : row[c].size());
    widths.push_back(width);
  }
  std::string out;
  const auto append_row = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const std::string cell = row.empty() ? std::string(widths[c], '-') : row[c];
      const std::string padding(widths[c] - cell.size(), ' ');
      if (c != 0) line += kGap;
      line += columns_[c].align == Align::kLeft ? cell + padding : padding + cell;
    }
    append_line(out, std::move(line));
  };
  append_row(header);
  append_row({});
  for (const auto& row : rows_) append_row(row);
  return out;
}

}  // namespace nvs::workloads
