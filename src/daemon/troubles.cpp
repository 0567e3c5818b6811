// SPDX-License-Identifier: Apache-2.0
#include "daemon/troubles.h"

#include <algorithm>

#include "base/log.h"

namespace nvs::daemon {
namespace {

struct Lines {
  const char* begins;
  const char* ends;
};
// In the order of Troubles::Kind.
constexpr Lines kLines[] = {
    {"a tenant does not answer: it loses its window, and others go on without it",
     "a tenant answers again"},
    {"a tenant cannot end its work: it runs beside the others", "a tenant ends its work again"},
    {"a tenant does not move its memory: others that do not fit wait for it",
     "a tenant moves its memory again"},
};

}  // namespace

void Troubles::look(Instant now, const core::NodeView& view, const ClientTable& clients,
                    const GpuTable& gpus) {
  looked_ = now;
  for (const core::TenantView& seen : view.tenants) {
    const auto tenant = clients.tenants().find(seen.tenant);
    if (tenant == clients.tenants().end()) continue;
    for (const core::TenantOnGpu& on : seen.gpus) {
      if (core::index_of(on.gpu) >= gpus.entries().size()) continue;
      const auto& loose_there = view.gpus[core::index_of(on.gpu)].loose;
      const bool is_loose =
          std::find(loose_there.begin(), loose_there.end(), seen.tenant) != loose_there.end();
      const bool is_silent = on.state == core::TenantState::unresponsive;
      auto place = places_.find({seen.tenant, on.gpu});
      if (place == places_.end()) {
        if (!is_loose && !is_silent && !on.stuck) continue;
        place = places_.emplace(Place{seen.tenant, on.gpu}, OnGpu{}).first;
      }
      place->second.seen = now;
      const Gpu& gpu = gpus.at(on.gpu).gpu;
      auto& kinds = place->second.kinds;
      update(now, silent, is_silent, kinds[silent], tenant->second, gpu);
      update(now, loose, is_loose, kinds[loose], tenant->second, gpu);
      update(now, stuck, on.stuck, kinds[stuck], tenant->second, gpu);
    }
  }
  std::erase_if(places_, [now](const auto& entry) { return entry.second.seen != now; });
}

// Who is in trouble again and again, under a tight CPU limit perhaps, does not fill the log.
void Troubles::update(Instant now, Kind kind, bool is_on, Trouble& trouble, const Tenant& tenant,
                      const Gpu& gpu) {
  if (is_on && !trouble.is_on) {
    trouble.since = now;
    ++trouble.times;
  }
  const bool has_ended = trouble.is_on && !is_on;
  trouble.is_on = is_on;
  const bool may_say = !trouble.said || now - *trouble.said >= kTroubleLinesApart;
  if (is_on && !trouble.is_said && may_say) {
    trouble.is_said = true;
    trouble.said = now;
    log(Level::warning, kLines[kind].begins,
        fields_of(tenant, {{"gpu", gpu.uuid}, {"times", trouble.times}}));
    trouble.times = 0;
  } else if (has_ended && trouble.is_said) {
    trouble.is_said = false;
    log(Level::info, kLines[kind].ends,
        fields_of(tenant,
                  {{"gpu", gpu.uuid}, {"after_ms", (now - trouble.since).ns() / 1'000'000}}));
  }
}

}  // namespace nvs::daemon
