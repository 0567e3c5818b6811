// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/kernels/ptx.h"

#include <algorithm>
#include <bit>
#include <charconv>

namespace nvs::sim {
namespace {

// What all parameters of a kernel may take together; PTX allows no more.
constexpr std::uint32_t kParameterBytesMax = 32764;

/// 0 unless the text begins with a number of that range.
std::uint32_t number_up_to(std::uint32_t most, std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && number <= most ? number : 0;
}

std::uint32_t type_size(std::string_view type) {
  const std::size_t digits = type.find_first_of("0123456789");
  if (digits == std::string_view::npos) return 0;
  return number_up_to(128, type.substr(digits)) / 8;
}

// One parameter, such as ".param .u64 name" or ".param .align 8 .b8 name[16]". An alignment behind
// ".ptr" is that of the memory pointed to.
std::optional<PtxParameter> parse_parameter(std::string_view text, std::uint32_t& cursor) {
  std::uint32_t element = 0;
  std::uint32_t count = 1;
  std::uint32_t alignment = 0;
  bool pointer = false;
  bool wants_alignment = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n", at);
    if (begin == std::string_view::npos) break;
    at = std::min(text.find_first_of(" \t\r\n", begin), text.size());
    const std::string_view word = text.substr(begin, at - begin);
    if (wants_alignment) {
      const std::uint32_t wanted = number_up_to(128, word);
      if (!std::has_single_bit(wanted)) return std::nullopt;
      if (!pointer) alignment = wanted;
      wants_alignment = false;
    } else if (word == ".align") {
      wants_alignment = true;
    } else if (word == ".ptr") {
      pointer = true;
    } else if (word[0] == '.') {
      element = std::max(element, type_size(word));
    } else if (const std::size_t bracket = word.find('['); bracket != std::string_view::npos) {
      count = number_up_to(kParameterBytesMax, word.substr(bracket + 1));
    }
  }
  const std::uint32_t size = element * count;
  if (size == 0) return std::nullopt;
  if (alignment == 0) alignment = element;
  cursor = (cursor + alignment - 1) / alignment * alignment;
  const PtxParameter parameter{cursor, size};
  cursor += size;
  if (cursor > kParameterBytesMax) return std::nullopt;
  return parameter;
}

std::optional<PtxEntry> parse_entry(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t end = text.find_first_of(" \t\r\n({", begin);
  if (end == std::string_view::npos) return std::nullopt;
  PtxEntry entry{.name = std::string(text.substr(begin, end - begin)), .parameters = {}};
  const std::size_t open = text.find_first_not_of(" \t\r\n", end);
  if (open == std::string_view::npos || text[open] != '(') return entry;
  const std::size_t close = text.find(')', open);
  if (close == std::string_view::npos) return std::nullopt;
  std::string_view list = text.substr(open + 1, close - open - 1);
  while (list.find_first_not_of(" \t\r\n") != std::string_view::npos) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const auto parameter = parse_parameter(list.substr(0, comma), entry.parameter_bytes);
    if (!parameter) return std::nullopt;
    entry.parameters.push_back(*parameter);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return entry;
}

}  // namespace

std::string without_comments(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    if (text.substr(i, 2) == "//") {
      i = std::min(text.find('\n', i), text.size());
    } else if (text.substr(i, 2) == "/*") {
      const std::size_t end = text.find("*/", i + 2);
      i = end == std::string_view::npos ? text.size() : end + 2;
    } else {
      out.push_back(text[i++]);
    }
  }
  return out;
}

std::optional<PtxModule> parse_ptx(std::string_view raw) {
  const std::string text = without_comments(raw);
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string::npos || text.compare(start, 8, ".version") != 0) return std::nullopt;
  if (text.find(".target") == std::string::npos) return std::nullopt;
  PtxModule module;
  constexpr std::string_view kEntry = ".entry";
  for (std::size_t at = text.find(kEntry); at != std::string::npos;
       at = text.find(kEntry, at + 1)) {
    auto entry = parse_entry(std::string_view(text).substr(at + kEntry.size()));
    if (!entry) return std::nullopt;
    module.entries.push_back(std::move(*entry));
  }
  return module;
}

}  // namespace nvs::sim
