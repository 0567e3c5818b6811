// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace nvs::cli {
namespace {

struct Unit {
  std::string_view name;
  double seconds;
};
constexpr Unit kUnits[] = {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1},
                           {"m", 60},    {"min", 60},  {"h", 3600}};

// A year: whatever is longer is a slip.
constexpr double kSecondsMax = 365.0 * 86'400;

std::string number(double value, int decimals, const char* unit) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f%s", decimals, value, unit);
  return text.data();
}

// Three digits: more would be noise, fewer would hide what changes.
std::string three_digits(double value, const char* unit) {
  return number(value, value < 9.95 ? 1 : 0, unit);
}

std::string two_parts(long long big, const char* big_unit, long long small,
                      const char* small_unit) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%lld%s%02lld%s", big, big_unit, small, small_unit);
  return text.data();
}

}  // namespace

std::optional<double> parse_seconds(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (parsed.ec != std::errc{} || !std::isfinite(value) || value < 0) return std::nullopt;
  std::string_view name(parsed.ptr, static_cast<std::size_t>(end - parsed.ptr));
  if (name.starts_with(' ')) name.remove_prefix(1);
  for (const Unit& unit : kUnits) {
    if (unit.name == name && value * unit.seconds <= kSecondsMax) return value * unit.seconds;
  }
  return std::nullopt;
}

std::string seconds_text(double seconds) {
  if (!(seconds > 0)) return "0";
  if (seconds < 999.5e-6) return number(seconds * 1e6, 0, "us");
  if (seconds < 0.9995) return three_digits(seconds * 1e3, "ms");
  if (seconds < 99.95) return number(seconds, 1, "s");
  const long long whole = std::llround(seconds);
  if (whole < 3600) return two_parts(whole / 60, "m", whole % 60, "s");
  if (whole < 86'400) return two_parts(whole / 3600, "h", whole % 3600 / 60, "m");
  return two_parts(whole / 86'400, "d", whole % 86'400 / 3600, "h");
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes == 0) return "0";
  constexpr const char* kNames[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  std::size_t name = 0;
  while (value >= 1023.5 && name + 1 < std::size(kNames)) {
    value /= 1024;
    ++name;
  }
  return name == 0 ? number(value, 0, kNames[name]) : three_digits(value, kNames[name]);
}

std::string share_text(double share) {
  const double percent = share * 100;
  if (!(percent > 0)) return "0%";
  return number(percent, percent < 9.95 ? 1 : 0, "%");
}

}  // namespace nvs::cli
