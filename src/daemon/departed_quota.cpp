// SPDX-License-Identifier: Apache-2.0
#include "daemon/departed_quota.h"

#include <algorithm>
#include <utility>

#include "daemon/limits.h"

namespace nvs::daemon {
namespace {

// With what its cap has brought in since.
Duration grown(Duration credit, core::Share cap, Duration elapsed) {
  // The product fits: nobody is away for more than the days that the machine has run.
  const double earned = elapsed.seconds() * cap / core::kWholeGpu;
  return credit + Duration::from_ns(static_cast<std::int64_t>(earned * 1e9));
}

}  // namespace

bool DepartedQuota::is_over(const Entry& entry, Instant now) {
  const Duration elapsed = now - entry.since;
  if (elapsed < kDepartedQuotaTime) return false;
  const auto& credit = entry.kept.credit;
  return std::none_of(credit.begin(), credit.end(), [&](const auto& of_gpu) {
    return grown(of_gpu.second, entry.kept.cap, elapsed) < Duration{};
  });
}

// Who is outside of containers can make up any number of keys: theirs go first, so that nobody gets
// rid of a container's.
void DepartedQuota::make_room(Instant now) {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (is_over(*entry, now)) {
      of_key_.erase(entry->key);
      entries_.erase(entry);
    }
    entry = next;
  }
  if (entries_.size() < kDepartedQuotaMax) return;
  auto oldest = std::find_if(entries_.begin(), entries_.end(), [](const Entry& entry) {
    return !entry.key.starts_with("container:");
  });
  if (oldest == entries_.end()) oldest = entries_.begin();
  of_key_.erase(oldest->key);
  entries_.erase(oldest);
}

void DepartedQuota::forget(const std::string& key) {
  const auto found = of_key_.find(key);
  if (found == of_key_.end()) return;
  entries_.erase(found->second);
  of_key_.erase(found);
}

void DepartedQuota::keep(Instant now, const std::string& key, Kept kept) {
  if (!can_return(key)) return;
  if (const auto before = recall(now, key))
    kept.credit.insert(before->credit.begin(), before->credit.end());
  forget(key);
  if (kept.cap == core::kNoCap) kept.credit.clear();
  if (!kept.limits.has_brought() && kept.credit.empty()) return;
  make_room(now);
  entries_.push_back({key, now, std::move(kept)});
  of_key_.emplace(key, std::prev(entries_.end()));
}

std::optional<DepartedQuota::Kept> DepartedQuota::recall(Instant now,
                                                         const std::string& key) const {
  const auto found = of_key_.find(key);
  if (found == of_key_.end() || is_over(*found->second, now)) return std::nullopt;
  const Entry& entry = *found->second;
  Kept kept = entry.kept;
  for (auto& [gpu, credit] : kept.credit) credit = grown(credit, kept.cap, now - entry.since);
  return kept;
}

}  // namespace nvs::daemon
