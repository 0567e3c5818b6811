// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/vmm/view_table.h"

namespace nvs::interposer::vmm {

bool Created::is_all_there() const {
  if (solid != 0) return true;
  for (std::uint32_t i = 0; i < split.chunks; ++i) {
    if (pages[i] == 0) return false;
  }
  return true;
}

Created* ViewTable::create(std::uint64_t home, const Split& split,
                           const CUmemAllocationProp& prop) {
  auto* created = pool_.make<Created>();
  auto* pages = created != nullptr ? pool_.make<std::uint64_t>(split.chunks) : nullptr;
  if (pages == nullptr) {
    if (created != nullptr) pool_.drop(created);
    return nullptr;
  }
  created->token = kTokenTag | ++tokens_;
  created->home = {home, created};
  created->split = split;
  created->prop = prop;
  created->pages = pages;
  created_.insert(created);
  homes_.insert(&created->home);
  ++size_;
  return created;
}

void ViewTable::take_out(Created* created) {
  created_.erase(created);
  leave_home(created, created->solid);
  --size_;
}

void ViewTable::leave_home(Created* created, std::uint64_t solid) {
  created->solid = solid;
  if (created->pages == nullptr) return;
  homes_.erase(&created->home);
  pool_.drop(created->pages, created->split.chunks);
  created->pages = nullptr;
}

Created* ViewTable::find(std::uint64_t token) const {
  Created* created = created_.floor(token);
  return created != nullptr && created->token == token ? created : nullptr;
}

Created* ViewTable::at_home(std::uint64_t address) const {
  const Home* home = homes_.floor(address);
  if (home == nullptr || address - home->base >= home->created->split.bytes) return nullptr;
  return home->created;
}

View* ViewTable::add_view(Created* created, const Range& range) {
  if (first_in(range) != nullptr) return nullptr;
  auto* view = pool_.make<View>();
  if (view == nullptr) return nullptr;
  view->range = range;
  view->created = created;
  view->number = ++numbers_;
  view->next = created->views;
  created->views = view;
  views_.insert(view);
  return view;
}

void ViewTable::remove_view(View* view) {
  View** link = &view->created->views;
  while (*link != view) link = &(*link)->next;
  *link = view->next;
  views_.erase(view);
  pool_.drop(view);
}

View* ViewTable::view_at(std::uint64_t address) const {
  View* view = views_.floor(address);
  return view != nullptr && view->range.has(address) ? view : nullptr;
}

View* ViewTable::first_in(const Range& range) const {
  View* before = view_at(range.begin);
  if (before != nullptr) return range.bytes != 0 ? before : nullptr;
  View* after = views_.after(range.begin);
  return after != nullptr && range.has(after->range.begin) ? after : nullptr;
}

View* ViewTable::next_in(const Range& range, const View* view) const {
  View* next = views_.after(view->range.begin);
  return next != nullptr && range.has(next->range.begin) ? next : nullptr;
}

bool ViewTable::is_whole(const Range& range) const {
  for (const View* view = first_in(range); view != nullptr; view = next_in(range, view)) {
    if (!range.has(view->range)) return false;
  }
  return true;
}

void ViewTable::forget() {
  pool_.forget();
  created_ = {};
  homes_ = {};
  views_ = {};
  size_ = 0;
}

}  // namespace nvs::interposer::vmm
