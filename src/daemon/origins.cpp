// SPDX-License-Identifier: Apache-2.0
#include "daemon/origins.h"

#include <algorithm>

#include "base/assert.h"
#include "daemon/limits.h"

namespace nvs::daemon {
namespace {

constexpr Duration kPrice = Duration::from_s(1) / kVisitsPerSecond;
constexpr Duration kBurst = kPrice * static_cast<std::int64_t>(kOriginClientsMax);
constexpr Duration kFilePrice = Duration::from_s(1) / kFilesPerSecond;
constexpr Duration kFileBurst = kFilePrice * kFilesAtOnce;

// False: it cannot be paid yet.
bool pay(Instant& paid_until, Instant now, Duration price, Duration burst) {
  const Instant paid = std::max(paid_until, now - burst) + price;
  if (paid > now) return false;
  paid_until = paid;
  return true;
}

}  // namespace

std::string origin_of(const Peer& peer, uid_t self) {
  if (peer.in_container) return peer.tenant_key;
  return peer.uid == 0 || peer.uid == self ? "" : "user:" + std::to_string(peer.uid);
}

Origins::Answer Origins::enter(const std::string& origin, Instant now) {
  if (origin.empty()) return Answer::welcome;
  forget_the_settled(now);
  Entry& entry = entries_[origin];
  if (entry.clients >= kOriginClientsMax) return Answer::too_many;
  if (!pay(entry.paid_until, now, kPrice, kBurst)) return Answer::too_often;
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

bool Origins::pass_file(const std::string& origin, Instant now) {
  if (origin.empty()) return true;
  return pay(entries_[origin].files_paid_until, now, kFilePrice, kFileBurst);
}

// Nothing is left to remember of one that has gone and had not come often.
void Origins::forget_the_settled(Instant now) {
  if (entries_.size() <= kOriginsKept) return;
  for (auto next = entries_.begin(); next != entries_.end();) {
    const auto entry = next++;
    const bool settled = entry->second.paid_until <= now - kBurst &&
                         entry->second.files_paid_until <= now - kFileBurst;
    if (entry->second.clients == 0 && settled) entries_.erase(entry);
  }
}

}  // namespace nvs::daemon
