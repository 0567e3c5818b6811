// SPDX-License-Identifier: Apache-2.0
// The node's part in limits of tenants: who says what, and whom it reaches. Memory limits reach
// clients through the account that they share, caps reach the core.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "daemon/limits.h"
#include "daemon/node.h"

namespace nvs::daemon {
namespace {

std::string value_text(const std::optional<MemoryAmount>& memory) {
  return memory ? text_of(*memory) : "none";
}
std::string value_text(const std::optional<std::uint32_t>& cores) {
  return cores ? std::to_string(*cores) : "none";
}

// Once for each text, and not for ever new ones: whoever connects again and again could fill the
// log.
void not_understood(Tenant& tenant, const char* kind, LimitSource source, const std::string& text,
                    const char* forms) {
  const std::string error = "the " + std::string(kind) + " limit '" + text + "' of the " +
                            std::string(source_word(source)) + " is not understood: write " + forms;
  auto& errors = tenant.limit_errors;
  if (errors.size() >= kLimitErrorsMax) return;
  if (std::find(errors.begin(), errors.end(), error) != errors.end()) return;
  errors.push_back(error);
  log(Level::warning, "limit not understood",
      fields_of(tenant, {{"kind", kind}, {"source", source_word(source)}, {"value", text}}));
}

}  // namespace

void Node::log_limits(const char* message, const Tenant& tenant) {
  const auto memory = tenant.limits.memory();
  const auto cores = tenant.limits.cores();
  log(Level::info, message,
      fields_of(tenant, {{"memory", value_text(memory.value)},
                         {"memory_source", source_word(memory.source)},
                         {"cores", value_text(cores.value)},
                         {"cores_source", source_word(cores.source)}}));
}

TenantLimits Node::initial_limits(const TenantSettings& settings) const {
  TenantLimits limits = options_.limits;
  limits.say(LimitSource::admin, settings.memory);
  limits.say(LimitSource::admin, settings.cores);
  return limits;
}

// What is not understood changes nothing, and nobody's program fails for it.
void Node::bring_limits(Tenant& tenant, const Wishes& wishes) {
  const TenantLimits before = tenant.limits;
  const auto bring = [&](const char* what, LimitSource source, const std::string& text, auto parse,
                         const char* forms) {
    if (text.empty()) return;
    if (const auto limit = parse(text)) {
      tenant.limits.bring(source, *limit);
    } else {
      not_understood(tenant, what, source, text, forms);
    }
  };
  bring("memory", wishes.memory_source, wishes.memory_limit, parse_memory, kMemoryForms);
  bring("core", wishes.core_source, wishes.core_limit, parse_cores, kCoresForms);
  const bool is_first = tenant.clients.size() == 1;
  const bool is_limited = tenant.limits.memory().value || tenant.limits.cores().value;
  const bool is_other = tenant.limits.memory() != before.memory() ||  //
                        tenant.limits.cores() != before.cores();
  if (is_other) write_limits(tenant);
  if (is_limited && (is_first || is_other)) log_limits("limits of a tenant", tenant);
}

std::optional<TenantAccounts::Place> Node::open_account(core::ClientId client) {
  const Tenant& tenant = clients_.at(clients_.client(client).tenant);
  const Result<TenantAccounts::Place> place = accounts_.join(client, tenant.id);
  if (!place) {
    if (!has_account_failed_) {
      log(Level::error, "no account of a tenant's memory: its limit does not hold for the process",
          fields_of(tenant, {{"error", place.error().message()}}));
    }
    has_account_failed_ = true;
    return std::nullopt;
  }
  has_account_failed_ = false;
  write_limits(tenant);
  return *place;
}

std::optional<std::uint64_t> Node::memory_limit(const Tenant& tenant, core::GpuId gpu) const {
  const auto limit = tenant.limits.memory().value;
  return limit ? bytes_of(*limit, memory_.capacity(gpu).size()) : std::nullopt;
}

void Node::write_limits(const Tenant& tenant) {
  for (std::uint32_t index = 0; index < gpus_.entries().size(); ++index) {
    const auto gpu = static_cast<core::GpuId>(index);
    accounts_.set_limit(tenant.id, gpu, memory_limit(tenant, gpu));
  }
}

void Node::set_limits(Instant now, core::TenantId tenant, const LimitChange& change,
                      Effects& effects) {
  Tenant& named = clients_.at(tenant);
  TenantSettings& saved = saved_.tenants[named.key];
  const core::Share cap_before = named.limits.cap();
  if (change.memory) named.limits.say(LimitSource::admin, saved.memory = *change.memory);
  if (change.cores) named.limits.say(LimitSource::admin, saved.cores = *change.cores);
  log_limits("limits set", named);
  write_limits(named);
  const core::Share cap = named.limits.cap();
  if (cap != cap_before) step(now, core::CapSet{tenant, cap}, effects);
  save();
}

void Node::return_credit(Instant now, core::TenantId tenant, const DepartedQuota::Kept& kept,
                         Effects& effects) {
  for (const auto& [gpu, credit] : kept.credit) {
    step(now, core::CreditSet{tenant, gpu, credit}, effects);
  }
}

// To be called while the core still knows it.
void Node::keep_quota(Instant now, const Tenant& tenant) {
  if (!DepartedQuota::can_return(tenant.key)) return;
  DepartedQuota::Kept kept{tenant.limits, tenant.limits.cap(), {}};
  for (std::uint32_t index = 0; index < gpus_.entries().size(); ++index) {
    const auto gpu = static_cast<core::GpuId>(index);
    const auto credit = core_.credit(tenant.id, gpu, now);
    if (credit) kept.credit[gpu] = *credit;
  }
  departed_.keep(now, tenant.key, std::move(kept));
}

}  // namespace nvs::daemon
