// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/text_table.h"

#include <algorithm>

#include "base/assert.h"

namespace nvs::cli {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::string_view kCut = "..";

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

// How many bytes the UTF-8 letter at the front has; 0 if there is none there.
std::size_t letter_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  if (first < 0x80) return 1;
  const std::size_t bytes = first >= 0xF5   ? 0
                            : first >= 0xF0 ? 4
                            : first >= 0xE0 ? 3
                            : first >= 0xC2 ? 2
                                            : 0;
  if (bytes == 0 || bytes > text.size()) return 0;
  const bool whole =
      std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(bytes), continues);
  return whole ? bytes : 0;
}

// Escape and its kin, in one byte or, from U+0080 to U+009F, in two.
bool is_control(std::string_view letter) {
  const auto first = static_cast<unsigned char>(letter.front());
  if (letter.size() == 1) return first < 0x20 || first == 0x7F;
  return letter.size() == 2 && first == 0xC2 && static_cast<unsigned char>(letter[1]) < 0xA0;
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::count_if(text.begin(), text.end(), continues));
}

std::string harmless(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t bytes = letter_bytes(text);
    const std::string_view letter = text.substr(0, std::max<std::size_t>(bytes, 1));
    if (bytes == 0 || is_control(letter)) {
      result += '?';
    } else {
      result += letter;
    }
    text.remove_prefix(letter.size());
  }
  return result;
}

std::string shortened(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) return std::string(text);
  const std::size_t kept = columns > kCut.size() ? columns - kCut.size() : 0;
  std::size_t bytes = 0;
  for (std::size_t letters = 0; bytes < text.size(); ++bytes) {
    if (!continues(text[bytes]) && letters++ == kept) break;
  }
  return std::string(text.substr(0, bytes)) + std::string(kCut.substr(0, columns - kept));
}

std::string padded_right(std::string text, std::size_t columns) {
  const std::size_t have = columns_of(text);
  if (have < columns) text.append(columns - have, ' ');
  return text;
}

std::string padded_left(std::string text, std::size_t columns) {
  const std::size_t have = columns_of(text);
  if (have < columns) text.insert(0, columns - have, ' ');
  return text;
}

void TextTable::add(std::vector<std::string> row) {
  NVS_ASSERT(row.size() == columns_.size());
  for (std::string& text : row) text = harmless(text);
  rows_.push_back(std::move(row));
}

std::vector<std::size_t> TextTable::widths(std::size_t width) const {
  std::vector<std::size_t> widths;
  std::size_t sum = 0;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t widest = columns_of(columns_[i].title);
    for (const auto& row : rows_) widest = std::max(widest, columns_of(row[i]));
    widths.push_back(widest);
    sum += widest + (i == 0 ? 0 : kGap);
  }
  if (width == 0) return widths;
  for (std::size_t i = 0; i < columns_.size() && sum > width; ++i) {
    if (columns_[i].least == 0 || widths[i] <= columns_[i].least) continue;
    const std::size_t cut = std::min(sum - width, widths[i] - columns_[i].least);
    widths[i] -= cut;
    sum -= cut;
  }
  return widths;
}

std::string TextTable::line(const std::vector<std::string>& row,
                            const std::vector<std::size_t>& widths) const {
  std::string text;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (i > 0) text.append(kGap, ' ');
    const std::string cell = shortened(row[i], widths[i]);
    text += columns_[i].align == Align::left ? padded_right(cell, widths[i])
                                             : padded_left(cell, widths[i]);
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::vector<std::string> TextTable::lines(std::size_t width) const {
  const std::vector<std::size_t> fitted = widths(width);
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::vector<std::string> result = {line(titles, fitted)};
  for (const auto& row : rows_) result.push_back(line(row, fitted));
  return result;
}

std::vector<std::string> TextTable::lines_if_any(std::size_t width) const {
  return rows_.empty() ? std::vector<std::string>{} : lines(width);
}

}  // namespace nvs::cli
