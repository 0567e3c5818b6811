// SPDX-License-Identifier: Apache-2.0
// Which GPUs the kubelet may give away: none on which the driver has reported a critical error, or
// that do not answer. Such a GPU comes back when it answers and has been quiet for a while, each
// time later if it breaks again soon. It is the GPU that is healthy or not, so all its devices are;
// but of a GPU in MIG mode only those of an instance, where the driver says that it was there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/instant.h"
#include "device_plugin/config.h"
#include "device_plugin/inventory.h"

namespace nvs::plugin {

struct HealthRules {
  bool watches = true;
  // Errors of programs, not of the GPU; as in NVIDIA's plugin.
  std::set<std::uint64_t> ignored_xids = {13, 31, 43, 45, 68, 109};
};

// From DP_DISABLE_HEALTHCHECKS ("all", "xids", or a list of Xids to ignore) and
// DP_ENABLE_HEALTHCHECKS (a list of those not to ignore), as NVIDIA's plugin has them.
Parsed<HealthRules> parse_health_rules(const std::string& disabled, const std::string& enabled);

// Who of the inventory an error is about, by UUID: the whole GPU, or those of its instances that
// the driver names. An instance whose ids are not known is meant by all of them, and so is every
// GPU by an error of one that could not be asked who it is (""): one of them is broken.
std::set<std::string> patients_of(const std::vector<OfferedGpu>& gpus, const std::string& gpu,
                                  std::optional<unsigned> gpu_instance,
                                  std::optional<unsigned> compute_instance);

class Health {
 public:
  static constexpr Duration kQuietFirst = Duration::from_s(300);
  static constexpr Duration kQuietMost = Duration::from_s(3600);
  // After so long without an error the next one is the first again.
  static constexpr Duration kForgiven = Duration::from_s(24 * 3600);

  explicit Health(HealthRules rules) : rules_(std::move(rules)) {}

  // Each says whether a GPU changed. GPUs are whole ones or instances, by UUID.
  bool xid(Instant now, const std::string& gpu, std::uint64_t xid);
  bool answered(Instant now, const std::string& gpu);
  bool did_not_answer(Instant now, const std::string& gpu, const std::string& why);
  bool tick(Instant now);

  std::optional<Instant> next_deadline() const;
  bool is_healthy(const std::string& gpu) const;
  // Why it is not; empty if it is.
  std::string reason(const std::string& gpu) const;

 private:
  struct Patient {
    std::string error;                // of the driver; empty: none that counts now
    std::string silence;              // why it does not answer; empty: it does
    std::optional<Instant> quiet_at;  // the error is over then
    std::optional<Instant> last_error;
    Duration quiet = kQuietFirst;  // after the next error
  };

  HealthRules rules_;
  std::map<std::string, Patient> patients_;
};

}  // namespace nvs::plugin
