// SPDX-License-Identifier: Apache-2.0
#include "daemon/origins.h"

#include <algorithm>

#include "base/assert.h"
#include "daemon/limits.h"

namespace nvs::daemon {
namespace {

constexpr Duration kPrice = Duration::from_s(1) / kVisitsPerSecond;
constexpr Duration kBurst = kPrice * static_cast<std::int64_t>(kOriginClientsMax);

}  // namespace

std::string origin_of(const Peer& peer, uid_t self) {
  const bool may_end_us = peer.uid == 0 || peer.uid == self;
  if (!peer.in_container && may_end_us) return "";
  if (peer.in_container && !peer.slice_user) return peer.tenant_key;
  return "user:" + std::to_string(peer.slice_user.value_or(peer.uid));
}

Origins::Answer Origins::enter(const std::string& origin, Instant now) {
  if (origin.empty()) return Answer::welcome;
  forget_the_settled(now);
  Entry& entry = entries_[origin];
  if (entry.clients >= kOriginClientsMax) return Answer::too_many;
  const Instant paid_until = std::max(entry.paid_until, now - kBurst) + kPrice;
  if (paid_until > now) return Answer::too_often;
  entry.paid_until = paid_until;
  ++entry.clients;
  return Answer::welcome;
}

void Origins::leave(const std::string& origin, Instant now) {
  if (origin.empty()) return;
  const auto found = entries_.find(origin);
  NVS_ASSERT(found != entries_.end() && found->second.clients > 0);
  --found->second.clients;
  forget_the_settled(now);
}

std::optional<os::ForeignFile::Ticket> Origins::take_ticket(const std::string& origin) {
  if (origin.empty()) return os::ForeignFile::Ticket{};
  const Entry& entry = entries_[origin];
  if (static_cast<std::size_t>(entry.ticket.use_count()) > kOriginFilesMax) return std::nullopt;
  return entry.ticket;
}

bool Origins::may_be_read(const std::string& origin, Instant now) const {
  const auto found = entries_.find(origin);
  return found == entries_.end() || found->second.budgets.messages.is_open(now);
}

void Origins::count_message(const std::string& origin, Instant now, std::int64_t gpus) {
  if (OriginBudgets* its = budgets(origin)) its->messages.charge_for(now, gpus);
}

OriginBudgets* Origins::budgets(const std::string& origin) {
  const auto found = entries_.find(origin);
  return found == entries_.end() ? nullptr : &found->second.budgets;
}

// Nothing is left to remember of one that has gone and had not come often.
void Origins::forget_the_settled(Instant now) {
  if (entries_.size() <= kOriginsKept) return;
  for (auto next = entries_.begin(); next != entries_.end();) {
    const auto entry = next++;
    const OriginBudgets& its = entry->second.budgets;
    const bool settled = entry->second.paid_until <= now - kBurst && its.messages.is_full(now) &&
                         its.let_ins.is_full(now);
    const bool has_files = entry->second.ticket.use_count() > 1;
    if (entry->second.clients == 0 && settled && !has_files) entries_.erase(entry);
  }
}

}  // namespace nvs::daemon
