// SPDX-License-Identifier: Apache-2.0
// What is kept of tenants that have left, in case they come back: a container in which programs
// follow one another must neither lose its limits nor its debts each time that none of them runs.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/instant.h"
#include "core/ids.h"
#include "core/policy.h"
#include "daemon/tenant_limits.h"

namespace nvs::daemon {

class DepartedQuota {
 public:
  struct Kept {
    TenantLimits limits;                     // of which what its processes brought counts
    core::Share cap = core::kNoCap;          // at which debts are paid
    std::map<core::GpuId, Duration> credit;  // of GPU time; negative: owed
  };

  // Whether a tenant with this key (Peer::tenant_key) can ever come back.
  static bool can_return(std::string_view key) { return !key.starts_with("process:"); }

  // The tenant has left. Of GPUs that it has not used since it came back, what was kept before is
  // kept again: a program that does nothing pays no debts. Nothing is kept where there is nothing
  // to keep.
  void keep(Instant now, const std::string& key, Kept kept);
  // It is back: what was kept, with credits as they have grown meanwhile.
  std::optional<Kept> recall(Instant now, const std::string& key) const;

  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::string key;
    Instant since;
    Kept kept;
  };
  using Entries = std::list<Entry>;  // the oldest first

  static bool is_over(const Entry& entry, Instant now);
  void make_room(Instant now);
  void forget(const std::string& key);

  Entries entries_;
  std::map<std::string, Entries::iterator, std::less<>> of_key_;
};

}  // namespace nvs::daemon
