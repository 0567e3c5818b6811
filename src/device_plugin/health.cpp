// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/health.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace nvs::plugin {
namespace {

Parsed<std::set<std::uint64_t>> parse_xids(std::string_view text, const char* variable) {
  std::set<std::uint64_t> xids;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    if (word.empty()) continue;
    std::uint64_t xid = 0;
    const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), xid);
    if (error != std::errc{} || rest != word.data() + word.size()) {
      return tl::unexpected(std::string(variable) + ": '" + std::string(word) +
                            "' is no number of an Xid");
    }
    xids.insert(xid);
  }
  return xids;
}

}  // namespace

Parsed<HealthRules> parse_health_rules(const std::string& disabled, const std::string& enabled) {
  HealthRules rules;
  if (disabled == "all" || disabled == "xids") {
    rules.watches = false;
    return rules;
  }
  const auto more = parse_xids(disabled, "DP_DISABLE_HEALTHCHECKS");
  if (!more) return tl::unexpected(more.error());
  const auto fewer = parse_xids(enabled, "DP_ENABLE_HEALTHCHECKS");
  if (!fewer) return tl::unexpected(fewer.error());
  rules.ignored_xids.insert(more->begin(), more->end());
  for (const std::uint64_t xid : *fewer) rules.ignored_xids.erase(xid);
  return rules;
}

std::set<std::string> patients_of(const std::vector<OfferedGpu>& gpus, const std::string& gpu,
                                  std::optional<unsigned> gpu_instance,
                                  std::optional<unsigned> compute_instance) {
  std::set<std::string> patients;
  if (gpu.empty()) {
    for (const OfferedGpu& offered : gpus) patients.insert(offered.parent_uuid);
    return patients;
  }
  if (!gpu_instance) return {gpu};
  for (const OfferedGpu& offered : gpus) {
    if (offered.parent_uuid != gpu) continue;
    const auto& ids = offered.instance;
    const bool is_other = ids && (ids->gpu_instance != *gpu_instance ||
                                  (compute_instance && ids->compute_instance != *compute_instance));
    if (!is_other) patients.insert(offered.uuid);
  }
  return patients;
}

bool Health::xid(Instant now, const std::string& gpu, std::uint64_t xid) {
  if (!rules_.watches || rules_.ignored_xids.contains(xid)) return false;
  const bool was_healthy = is_healthy(gpu);
  Patient& patient = patients_[gpu];
  if (patient.last_error && now - *patient.last_error > kForgiven) patient.quiet = kQuietFirst;
  // A burst is one breakdown: it makes the wait begin anew, not longer.
  if (patient.error.empty()) {
    patient.quiet_at = now + patient.quiet;
    patient.quiet = std::min(patient.quiet * 2, kQuietMost);
  } else {
    patient.quiet_at = std::max(*patient.quiet_at, now + kQuietFirst);
  }
  patient.error = "Xid " + std::to_string(xid);
  patient.last_error = now;
  return was_healthy;
}

bool Health::answered(Instant now, const std::string& gpu) {
  const auto found = patients_.find(gpu);
  if (found == patients_.end() || found->second.silence.empty()) return false;
  found->second.silence.clear();
  return tick(now) || is_healthy(gpu);
}

bool Health::did_not_answer(Instant /*now*/, const std::string& gpu, const std::string& why) {
  if (!rules_.watches) return false;
  const bool was_healthy = is_healthy(gpu);
  patients_[gpu].silence = why;
  return was_healthy;
}

bool Health::tick(Instant now) {
  bool is_changed = false;
  for (auto& [gpu, patient] : patients_) {
    if (!patient.quiet_at || now < *patient.quiet_at) continue;
    patient.quiet_at.reset();
    patient.error.clear();
    is_changed = is_changed || patient.silence.empty();
  }
  return is_changed;
}

std::optional<Instant> Health::next_deadline() const {
  std::optional<Instant> next;
  for (const auto& [gpu, patient] : patients_) {
    if (patient.quiet_at && (!next || *patient.quiet_at < *next)) next = patient.quiet_at;
  }
  return next;
}

bool Health::is_healthy(const std::string& gpu) const { return reason(gpu).empty(); }

std::string Health::reason(const std::string& gpu) const {
  const auto found = patients_.find(gpu);
  if (found == patients_.end()) return "";
  return found->second.silence.empty() ? found->second.error : found->second.silence;
}

}  // namespace nvs::plugin
