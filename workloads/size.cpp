// SPDX-License-Identifier: Apache-2.0
#include "workloads/size.h"

#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

namespace nvs::workloads {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr double kKibi = 1024.0;
constexpr double kKilo = 1000.0;
constexpr std::array kUnits = {
    Unit{"", 1},
    Unit{"b", 1},
    Unit{"k", kKibi},
    Unit{"kib", kKibi},
    Unit{"kb", kKilo},
    Unit{"m", kKibi* kKibi},
    Unit{"mib", kKibi* kKibi},
    Unit{"mb", kKilo* kKilo},
    Unit{"g", kKibi* kKibi* kKibi},
    Unit{"gib", kKibi* kKibi* kKibi},
    Unit{"gb", kKilo* kKilo* kKilo},
    Unit{"t", kKibi* kKibi* kKibi* kKibi},
    Unit{"tib", kKibi* kKibi* kKibi* kKibi},
    Unit{"tb", kKilo* kKilo* kKilo* kKilo},
};

std::optional<double> factor_of(std::string_view unit) {
  std::string lower;
  for (char c : unit) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const Unit& known : kUnits) {
    if (known.name == lower) return known.factor;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> parse_size(std::string_view text) {
  const std::size_t digits = text.find_first_not_of("0123456789.");
  const std::string number{text.substr(0, digits)};
  std::string_view unit = digits == std::string_view::npos ? "" : text.substr(digits);
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  const std::optional<double> factor = factor_of(unit);
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  if (number.empty() || *end != '\0' || !factor) return std::nullopt;
  const double bytes = std::floor(value * *factor);
  if (!(bytes >= 1.0) || bytes >= 0x1p64) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

std::string format_size(std::uint64_t bytes) {
  constexpr std::array<const char*, 7> kNames = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  std::size_t step = 0;
  // 1023.5 and more would print as 1024 of the smaller unit.
  while (value >= 1023.5) {
    value /= kKibi;
    ++step;
  }
  if (step == 0 || value >= 99.95) return fmt::format("{:.0f} {}", value, kNames[step]);
  return fmt::format("{:.1f} {}", value, kNames[step]);
}

}  // namespace nvs::workloads
