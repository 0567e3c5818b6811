// SPDX-License-Identifier: Apache-2.0
// How far what a tenant has had may be from what its cap gave it, at any moment, where all that
// need a GPU have caps and always have work: what it saves before it runs, one window too much, and
// what it is owed when all others come before it.
#pragma once

#include <algorithm>

#include "tests/sim/ledger.h"

namespace nvs::sim {

inline double cap_slack_ns(const Ledger& ledger, core::TenantId tenant, core::GpuId id) {
  const Duration stay = stay_of(ledger.gpu(id).policy);
  const auto piece = static_cast<double>((stay + ledger.slowest_drain(id)).ns());
  const auto others = static_cast<double>(ledger.quota().accounts(id));
  const double cap = static_cast<double>(ledger.quota().cap(tenant)) / core::kWholeGpu;
  return ledger.quota().quantum(tenant, id).most + piece * (1 + cap * others);
}

}  // namespace nvs::sim
