// SPDX-License-Identifier: Apache-2.0
// Lays rows of texts out in columns, within the width of a terminal if one column may give way. The
// texts come from other people's programs: what a terminal would obey is made harmless here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace nvs::cli {

// As many columns as the text takes: letters, not bytes.
std::size_t columns_of(std::string_view text);

// Without control characters and broken UTF-8, which become '?'.
std::string harmless(std::string_view text);

// Cut to at most `columns`, with ".." at the end if something is missing.
std::string shortened(std::string_view text, std::size_t columns);

std::string padded_right(std::string text, std::size_t columns);
std::string padded_left(std::string text, std::size_t columns);

enum class Align { left, right };

struct Column {
  std::string title;
  Align align = Align::left;
  // May be cut down to this many columns if the table is too wide; 0: never.
  std::size_t least = 0;
};

class TextTable {
 public:
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // One text for each column.
  void add(std::vector<std::string> row);

  // Title and rows, one line each; width 0: as wide as need be.
  std::vector<std::string> lines(std::size_t width) const;
  // The same, or nothing at all if there is no row.
  std::vector<std::string> lines_if_any(std::size_t width) const;

 private:
  std::vector<std::size_t> widths(std::size_t width) const;
  std::string line(const std::vector<std::string>& row,
                   const std::vector<std::size_t>& widths) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace nvs::cli
