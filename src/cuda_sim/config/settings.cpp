// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/config/settings.h"

#include <cmath>
#include <cstdlib>

#include "cuda_sim/config/model.h"

namespace nvs::sim {
namespace {

using Outcome = tl::expected<void, std::string>;

tl::unexpected<std::string> wrong(const char* variable, const std::string& value,
                                  const std::string& rule) {
  return tl::make_unexpected(std::string(variable) + "=" + value + ": " + rule);
}

Outcome parse(const char*, const std::string& value, std::string& out) {
  out = value;
  return {};
}

Outcome parse(const char* variable, const std::string& value, unsigned& out) {
  char* end = nullptr;
  const unsigned long number = std::strtoul(value.c_str(), &end, 10);
  if (value.empty() || *end != '\0' || value[0] == '-' || number < 1 || number > 1U << 20) {
    return wrong(variable, value, "must be a whole number of at least 1");
  }
  out = static_cast<unsigned>(number);
  return {};
}

Outcome parse(const char* variable, const std::string& value, double& out) {
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  if (value.empty() || *end != '\0' || !std::isfinite(number) || number <= 0 || number > 1e6) {
    return wrong(variable, value, "must be a positive number, such as 1 or 2.5");
  }
  out = number;
  return {};
}

Outcome check(const Settings& settings) {
  const std::string& machine = settings.NVSHARE_SIM_MACHINE;
  const bool plain =
      machine.find_first_not_of(
          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == std::string::npos;
  if (machine.empty() || machine.size() > 100 || !plain) {
    return wrong("NVSHARE_SIM_MACHINE", machine,
                 "must be 1 to 100 letters, digits, dots, dashes or underscores");
  }
  if (find_model(settings.NVSHARE_SIM_PRESET) == nullptr) {
    return wrong("NVSHARE_SIM_PRESET", settings.NVSHARE_SIM_PRESET, "must be h200 or t4");
  }
  if (settings.NVSHARE_SIM_GPUS > kGpusMax) {
    return wrong("NVSHARE_SIM_GPUS", std::to_string(settings.NVSHARE_SIM_GPUS),
                 "must be at most " + std::to_string(kGpusMax));
  }
  const unsigned scale = settings.NVSHARE_SIM_SCALE;
  if ((scale & (scale - 1)) != 0 || scale > 512) {
    return wrong("NVSHARE_SIM_SCALE", std::to_string(scale), "must be a power of two up to 512");
  }
  return {};
}

}  // namespace

tl::expected<Settings, std::string> read_settings() {
  Settings settings;
  Outcome outcome;
#define NVS_SIM_SETTING(variable, type, fallback, help)                   \
  if (const char* value = std::getenv(#variable); value != nullptr) {     \
    outcome = parse(#variable, value, settings.variable);                 \
    if (!outcome) return tl::make_unexpected(std::move(outcome).error()); \
  }
#include "spec/sim_settings.def"
#undef NVS_SIM_SETTING
  outcome = check(settings);
  if (!outcome) return tl::make_unexpected(std::move(outcome).error());
  return settings;
}

}  // namespace nvs::sim
