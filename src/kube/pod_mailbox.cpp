// SPDX-License-Identifier: Apache-2.0
#include "kube/pod_mailbox.h"

#include <algorithm>
#include <vector>

#include "kube/limits.h"

namespace nvs::kube {

Result<PodMailbox> PodMailbox::create() { return PodMailbox{NVS_TRY(os::WakeEvent::create())}; }

void PodMailbox::add(PodChange change) {
  using Kind = PodChange::Kind;
  const auto found = changes_.find(change.pod.uid);
  if (found == changes_.end()) {
    std::string uid = change.pod.uid;
    changes_.emplace(std::move(uid), Pending{next_order_++, std::move(change)});
    return;
  }
  PodChange& pending = found->second.change;
  if (pending.kind == Kind::added && change.kind == Kind::removed) {
    changes_.erase(found);  // the owner has never heard of it
    return;
  }
  // What the owner does not know stays added; what it knows was changed, even by its return.
  const bool is_news = pending.kind == Kind::added;
  if (change.kind != Kind::removed) change.kind = is_news ? Kind::added : Kind::changed;
  pending = std::move(change);
}

void PodMailbox::post(Update update) {
  if (update.is_empty()) return;
  const std::lock_guard lock(mutex_);
  for (PodChange& change : update.changes) add(std::move(change));
  if (update.health) rest_.health = std::move(update.health);
  std::vector<Message>& messages = rest_.messages;
  std::move(update.messages.begin(), update.messages.end(), std::back_inserter(messages));
  if (messages.size() > kMessagesMax) {
    messages.erase(messages.begin(), messages.end() - std::ptrdiff_t{kMessagesMax});
  }
  wake_.set();
}

Update PodMailbox::take() {
  std::map<std::string, Pending> changes;
  Update update;
  {
    const std::lock_guard lock(mutex_);
    wake_.clear();
    changes.swap(changes_);
    std::swap(update, rest_);
  }
  std::vector<Pending> ordered;
  for (auto& [uid, pending] : changes) ordered.push_back(std::move(pending));
  std::sort(ordered.begin(), ordered.end(),
            [](const Pending& a, const Pending& b) { return a.order < b.order; });
  for (Pending& pending : ordered) update.changes.push_back(std::move(pending.change));
  return update;
}

}  // namespace nvs::kube
