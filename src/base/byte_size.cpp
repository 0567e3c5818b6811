// SPDX-License-Identifier: Apache-2.0
#include "base/byte_size.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace nvs {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::string_view kLetters = "KMGT";
// Of a fraction: as many as 64 bits hold.
constexpr std::size_t kDigitsMax = 18;

// At least one digit and nothing else.
std::optional<std::uint64_t> parse_digits(std::string_view text) {
  const bool is_number = !text.empty() && text.size() <= kDigitsMax &&
                         text.find_first_not_of("0123456789") == std::string_view::npos;
  if (!is_number) return std::nullopt;
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::uint64_t power(std::uint64_t base, std::size_t exponent) {
  std::uint64_t result = 1;
  for (std::size_t i = 0; i < exponent; ++i) result *= base;
  return result;
}

// "", "B", "Ki", "KiB", "K", "KB" and the like, and k in place of K where it is 1000.
std::optional<std::uint64_t> parse_unit(std::string_view word) {
  if (word.empty() || word == "B") return 1;
  const bool is_small_k = word[0] == 'k';
  const std::size_t place = kLetters.find(is_small_k ? 'K' : word[0]);
  if (place == std::string_view::npos) return std::nullopt;
  const std::string_view tail = word.substr(1);
  if (tail.empty() || tail == "B") return power(1000, place + 1);
  if ((tail == "i" || tail == "iB") && !is_small_k) return power(1024, place + 1);
  return std::nullopt;
}

constexpr std::string_view kBoth = " and ";

// How often the unit fits, if it does so exactly, and its name.
std::string counted(std::uint64_t bytes, std::uint64_t base, std::string_view tail) {
  std::string text = std::to_string(bytes);
  for (std::size_t i = 0; i < kLetters.size() && bytes % base == 0; ++i) {
    bytes /= base;
    text = std::to_string(bytes);
    text += base == 1000 && i == 0 ? 'k' : kLetters[i];  // as Kubernetes writes it
    text += tail;
  }
  return text;
}

}  // namespace

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  if (text.size() > kLimitTextMax) return std::nullopt;
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = text.substr(0, end);
  const auto unit = parse_unit(text.substr(end));
  const std::size_t point = std::min(number.find('.'), number.size());
  const auto whole = parse_digits(number.substr(0, point));
  if (!unit || !whole) return std::nullopt;
  Wide bytes = Wide{*whole} * *unit;
  if (point < number.size()) {
    const std::string_view digits = number.substr(point + 1);
    const auto fraction = parse_digits(digits);
    if (!fraction || *unit == 1) return std::nullopt;
    bytes += Wide{*fraction} * *unit / power(10, digits.size());
  }
  if (bytes < 1 || bytes > kMemoryMost) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

std::optional<MemoryAmount> parse_memory(std::string_view text) {
  if (const std::size_t both = text.find(kBoth); both != std::string_view::npos) {
    const auto bytes = parse_bytes(text.substr(0, both));
    const auto percent = parse_cores(text.substr(both + kBoth.size()));
    if (!bytes || !percent || !text.ends_with('%')) return std::nullopt;
    return MemoryAmount{*bytes, *percent};
  }
  if (text.ends_with('%')) {
    const auto percent = parse_cores(text);
    if (!percent) return std::nullopt;
    return MemoryAmount{0, *percent};
  }
  const auto bytes = parse_bytes(text);
  if (!bytes) return std::nullopt;
  return MemoryAmount{*bytes, 0};
}

std::optional<std::uint32_t> parse_cores(std::string_view text) {
  if (text.ends_with('%')) text.remove_suffix(1);
  const auto number = parse_digits(text);
  if (!number || *number < 1 || *number > kPercentMost) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

MemoryAmount tightest(const MemoryAmount& a, const MemoryAmount& b) {
  const auto lesser = [](auto one, auto other) {
    return one == 0 || other == 0 ? std::max(one, other) : std::min(one, other);
  };
  return {lesser(a.bytes, b.bytes), lesser(a.percent, b.percent)};
}

std::optional<std::uint64_t> bytes_of(const MemoryAmount& amount, std::uint64_t gpu_bytes) {
  std::optional<std::uint64_t> most;
  if (amount.bytes > 0) most = amount.bytes;
  if (amount.percent > 0 && gpu_bytes > 0) {
    const auto part = static_cast<std::uint64_t>(Wide{gpu_bytes} * amount.percent / kPercentMost);
    most = std::min(most.value_or(part), part);
  }
  return most;
}

std::string text_of(const MemoryAmount& amount) {
  std::string text;
  if (amount.bytes > 0) {
    const std::string binary = counted(amount.bytes, 1024, "i");
    const std::string decimal = counted(amount.bytes, 1000, "");
    text = decimal.size() < binary.size() ? decimal : binary;
  }
  if (amount.percent == 0) return text;
  return (text.empty() ? "" : text + std::string(kBoth)) + std::to_string(amount.percent) + "%";
}

}  // namespace nvs
