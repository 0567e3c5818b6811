// SPDX-License-Identifier: Apache-2.0
#include "daemon/host_books.h"

#include <algorithm>

#include "base/assert.h"

namespace nvs::daemon {
namespace {

std::uint64_t divided_up(std::uint64_t number, std::uint64_t by) { return (number + by - 1) / by; }

}  // namespace

void HostBooks::join(core::ClientId client, core::TenantId tenant, Actions& actions) {
  const bool is_new = clients_.emplace(client, Client{tenant}).second;
  NVS_ASSERT(is_new);
  ++tenants_[tenant].clients;
  if (is_short_) actions.push_back(TellShort{client, true});
  pump(actions);
}

void HostBooks::leave(core::ClientId id, Actions& actions) {
  const auto found = clients_.find(id);
  NVS_ASSERT(found != clients_.end());
  set_kept(found->second, 0);
  set_lacks(found->second, 0);
  const Client client = std::move(found->second);
  clients_.erase(found);
  if (client.has_asked) --askers_;
  Tenant& tenant = tenants_.at(client.tenant);
  for (const SegmentId segment : client.held) free(segment, actions);
  held_ -= client.held.size();
  tenant.held -= client.held.size();
  for (const Wish& wish : wishes_) {
    if (wish.client != id) continue;
    promised_ -= wish.segments;
    tenant.promised -= wish.segments;
  }
  std::erase_if(wishes_, [id](const Wish& wish) { return wish.client == id; });
  if (--tenant.clients == 0) {
    NVS_ASSERT(tenant.owned() == 0);
    tenants_.erase(client.tenant);
  }
  pump(actions);
}

// A quarter of the pool is for the others, in equal parts: what one of them has not taken of its
// part is kept free for it. Whoever is alone leaves the quarter to the next one who comes.
std::uint64_t HostBooks::kept_for_others(const Tenant& tenant, std::uint64_t others) const {
  const std::uint64_t quarter = plan_.segments / 4;
  if (tenants_.size() == 1) return quarter;
  std::uint64_t kept = 0;  // in parts of which `others` make a segment
  for (const auto& [id, other] : tenants_) {
    if (&other != &tenant) kept += quarter - std::min(quarter, other.owned() * others);
  }
  return divided_up(kept, others);
}

// How many more segments that tenant may have. What is on its way back to the system counts as
// free: it will be, and requests can wait.
std::uint64_t HostBooks::allowance(const Tenant& tenant) const {
  const std::uint64_t free_now = plan_.segments - owned();
  if (free_now == 0) return 0;
  const std::uint64_t others = std::max<std::uint64_t>(tenants_.size() - 1, 1);
  const std::uint64_t kept = kept_for_others(tenant, others);
  const std::uint64_t part = divided_up(plan_.segments / 4, others);
  const std::uint64_t own_part = part - std::min(part, tenant.owned());
  return std::max(free_now - std::min(free_now, kept), std::min(free_now, own_part));
}

void HostBooks::need(core::ClientId id, std::uint64_t request, std::uint64_t bytes,
                     Actions& actions) {
  NVS_ASSERT(bytes > 0);
  if (plan_.segments == 0) return deny(id, request, wire::HostDenial::no_pool, bytes, actions);
  Client& client = clients_.at(id);
  if (!client.has_asked) ++askers_;
  client.has_asked = true;
  Tenant& tenant = tenants_.at(client.tenant);
  const bool is_full = owned() == plan_.segments;
  const std::uint64_t segments =
      std::min(divided_up(bytes, plan_.segment_bytes), allowance(tenant));
  const std::uint64_t promised = std::min(bytes, segments * plan_.segment_bytes);
  if (segments > 0) {
    wishes_.push_back({id, client.tenant, request, segments, promised, false});
    promised_ += segments;
    tenant.promised += segments;
  }
  if (promised < bytes) {
    deny(id, request, is_full ? wire::HostDenial::full : wire::HostDenial::share, bytes - promised,
         actions);
  }
  pump(actions);
}

void HostBooks::set_kept(Client& client, std::uint64_t segments) {
  Tenant& tenant = tenants_.at(client.tenant);
  tenant.kept += segments - client.kept;
  kept_ += segments - client.kept;
  client.kept = segments;
}

void HostBooks::keep(core::ClientId id, std::uint64_t bytes, Actions& actions) {
  if (plan_.segments == 0) return;
  Client& client = clients_.at(id);
  set_kept(client, 0);
  const std::uint64_t segments = divided_up(bytes, plan_.segment_bytes);
  set_kept(client, std::min(segments, allowance(tenants_.at(client.tenant))));
  pump(actions);
}

std::uint64_t HostBooks::promised_to(core::ClientId id) const {
  std::uint64_t promised = 0;
  for (const Wish& wish : wishes_) promised += wish.client == id ? wish.segments : 0;
  return promised;
}

void HostBooks::set_lacks(Client& client, std::uint64_t segments) {
  lacks_ += segments - client.lacks;
  client.lacks = segments;
}

// No more than it could ever have: whoever has all of the pool and says that it lacks some makes
// nobody give anything back.
void HostBooks::lack(core::ClientId id, std::uint64_t bytes, Actions& actions) {
  Client& client = clients_.at(id);
  const std::uint64_t promised = promised_to(id);
  const std::uint64_t lacks = divided_up(bytes, std::max<std::uint64_t>(plan_.segment_bytes, 1));
  const std::uint64_t more = plan_.segments - client.held.size() - client.kept - promised;
  set_lacks(client, std::min(lacks - std::min(lacks, promised), more));
  is_starved_ = false;  // it is time to try again
  pump(actions);
}

// A segment each in turn, to the tenant that has least.
void HostBooks::promise_to_lacking() {
  const auto has_less = [this](const auto& a, const auto& b) {
    const std::uint64_t a_owns = tenants_.at(a.second.tenant).owned();
    const std::uint64_t b_owns = tenants_.at(b.second.tenant).owned();
    return a_owns != b_owns ? a_owns < b_owns : a.first < b.first;
  };
  while (lacks_ > 0 && !is_starved_ && owned() < plan_.segments) {
    auto next = clients_.end();
    for (auto one = clients_.begin(); one != clients_.end(); ++one) {
      if (one->second.lacks == 0) continue;
      if (next == clients_.end() || has_less(*one, *next)) next = one;
    }
    const core::TenantId tenant = next->second.tenant;
    set_lacks(next->second, next->second.lacks - 1);
    wishes_.push_back({next->first, tenant, 0, 1, plan_.segment_bytes, true});
    ++promised_;
    ++tenants_.at(tenant).promised;
  }
}

void HostBooks::tell_short(Actions& actions) {
  if (is_short_ == (lacks_ > 0)) return;
  is_short_ = lacks_ > 0;
  for (const auto& [id, client] : clients_) actions.push_back(TellShort{id, is_short_});
}

bool HostBooks::give_back(core::ClientId id, SegmentId segment, Actions& actions) {
  Client& client = clients_.at(id);
  if (client.held.erase(segment) == 0) return false;
  --held_;
  --tenants_.at(client.tenant).held;
  free(segment, actions);
  pump(actions);
  return true;
}

void HostBooks::touched(SegmentId segment, Actions& actions) {
  const bool was_touching = touching_.erase(segment) == 1;
  NVS_ASSERT(was_touching);
  is_starved_ = false;
  ready_.push_back(segment);
  pump(actions);
}

void HostBooks::failed(SegmentId segment, Actions& actions) {
  const bool was_touching = touching_.erase(segment) == 1;
  NVS_ASSERT(was_touching);
  is_starved_ = true;
  for (const Wish& wish : wishes_) {
    promised_ -= wish.segments;
    tenants_.at(wish.tenant).promised -= wish.segments;
    if (wish.is_lack) {
      Client& client = clients_.at(wish.client);
      set_lacks(client, client.lacks + wish.segments);
      continue;
    }
    deny(wish.client, wish.request, wire::HostDenial::no_memory, wish.bytes, actions);
  }
  wishes_.clear();
  // Some of its pages may have been made.
  free(segment, actions);
  pump(actions);
}

void HostBooks::freed(SegmentId segment, Actions& actions) {
  const bool was_freeing = freeing_.erase(segment) == 1;
  NVS_ASSERT(was_freeing);
  pump(actions);
}

std::uint64_t HostBooks::existing() const {
  return touching_.size() + ready_.size() + held_ + kept_ + freeing_.size();
}

// A reserve costs memory that others could use, so there is one only once two tenants share the
// node, and one of them moves memory out.
std::uint64_t HostBooks::aim() const {
  const bool has_reserve = tenants_.size() >= 2 && askers_ > 0 && !is_starved_;
  return promised_ + (has_reserve ? plan_.reserve : 0);
}

void HostBooks::pump(Actions& actions) {
  promise_to_lacking();
  tell_short(actions);
  while (!ready_.empty() && !wishes_.empty()) {
    const SegmentId segment = ready_.back();
    ready_.pop_back();
    hand_over(segment, actions);
  }
  // Tenants that come and go find it again, but an idle node has its memory to itself.
  const std::uint64_t most = tenants_.empty() ? 0 : plan_.reserve;
  // What clients bring from an earlier daemon may take the place of what was made ahead.
  while (!ready_.empty() &&
         (ready_.size() > most || existing() - freeing_.size() > plan_.segments)) {
    free(ready_.back(), actions);
    ready_.pop_back();
  }
  // A few at a time: all threads work on them together, and who comes next waits less.
  while (touching_.size() < kHostTouchingMax && existing() < plan_.segments &&
         touching_.size() + ready_.size() < aim()) {
    const auto segment = static_cast<SegmentId>(++segments_ever_);
    touching_.insert(segment);
    actions.push_back(Touch{segment});
  }
}

// To the tenant that holds least, so that one who asks for much does not keep the others waiting.
void HostBooks::hand_over(SegmentId segment, Actions& actions) {
  const auto held = [this](const Wish& wish) { return tenants_.at(wish.tenant).held; };
  const auto next =
      std::min_element(wishes_.begin(), wishes_.end(),
                       [&](const Wish& a, const Wish& b) { return held(a) < held(b); });
  Tenant& tenant = tenants_.at(next->tenant);
  --promised_;
  --tenant.promised;
  ++held_;
  ++tenant.held;
  clients_.at(next->client).held.insert(segment);
  actions.push_back(HandOver{segment, next->client, next->request});
  next->bytes -= std::min(next->bytes, plan_.segment_bytes);
  if (--next->segments == 0) wishes_.erase(next);
}

void HostBooks::free(SegmentId segment, Actions& actions) {
  freeing_.insert(segment);
  actions.push_back(Free{segment});
}

void HostBooks::deny(core::ClientId client, std::uint64_t request, wire::HostDenial reason,
                     std::uint64_t bytes, Actions& actions) {
  ++refused_;
  actions.push_back(Deny{client, request, reason, bytes});
}

HostView HostBooks::view() const {
  HostView view;
  view.cap_bytes = plan_.cap_bytes;
  view.segment_bytes = plan_.segment_bytes;
  view.held_bytes = held_ * plan_.segment_bytes;
  view.kept_bytes = kept_ * plan_.segment_bytes;
  view.promised_bytes = promised_ * plan_.segment_bytes;
  view.ready_bytes = ready_.size() * plan_.segment_bytes;
  view.touching_bytes = touching_.size() * plan_.segment_bytes;
  view.freeing_bytes = freeing_.size() * plan_.segment_bytes;
  view.refused = refused_;
  for (const auto& [id, tenant] : tenants_) {
    const std::uint64_t held = tenant.held + tenant.kept;
    if (held > 0) view.tenants[id] = held * plan_.segment_bytes;
  }
  return view;
}

}  // namespace nvs::daemon
