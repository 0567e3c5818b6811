// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/contexts.h"

#include "interposer/gate/gate.h"
#include "interposer/resolve/libc.h"
#include "os/futex_lock.h"

namespace nvs::interposer::contexts {
namespace {

struct Entry {
  CUcontext context;  // null: free
  int gpu;
  int users;     // of both kinds
  int working;   // those of them that have work of ours there
  int ending;    // calls under way that may end it
  bool renewed;  // it was created again since they began
  bool primary;
};

constinit os::FutexLock lock;  // guards the entries
constinit Entry entries[kContextsMax] = {};
constinit bool missed[gate::kGpusMax] = {};  // one of this GPU's had no room

// How long a call that ends a context waits for a drain that uses it. The drain waits for the very
// work that the call would wait for, so this is not where the time goes. Work of ours has all the
// time it needs: nothing may be moved in a context that is gone.
constexpr std::int64_t kPatience_ns = 1'000'000'000;
constexpr std::int64_t kPause_ns = 50'000;

Entry* find(CUcontext context) {
  for (Entry& entry : entries) {
    if (entry.context == context) return &entry;
  }
  return nullptr;
}

void add(CUcontext context, int gpu, bool primary) {
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(lock);
  Entry* entry = find(context);
  if (entry == nullptr) entry = find(nullptr);
  if (entry == nullptr) {
    if (gpu >= 0 && gpu < gate::kGpusMax) missed[gpu] = true;
    return;
  }
  const bool known = entry->context == context;
  if (!known) *entry = {};
  entry->context = context;
  entry->gpu = gpu;
  entry->renewed = entry->ending > 0;
  entry->primary = primary;
}

void call_is_over(Entry& entry) {
  if (entry.ending > 0) --entry.ending;
  entry.renewed = entry.renewed && entry.ending > 0;
}

// With the lock held.
Taken take_entry(Entry& entry, int gpu, Use use) {
  if (entry.context == nullptr || entry.gpu != gpu) return Taken::none;
  if (entry.ending > 0) return Taken::ending;
  ++entry.users;
  if (use == Use::working) ++entry.working;
  return Taken::yes;
}

}  // namespace

void created(CUcontext context, int gpu) {
  if (context != nullptr) add(context, gpu, false);
}

void primary_created(CUcontext context, int gpu) {
  if (context != nullptr) add(context, gpu, true);
}

void may_end(CUcontext context) {
  if (context == nullptr) return;
  bool counted = false;
  for (std::int64_t waited_ns = 0;; waited_ns += kPause_ns) {
    {
      const os::FutexGuard guard(lock);
      Entry* entry = find(context);
      if (entry == nullptr) return;
      if (!counted) ++entry->ending;
      counted = true;
      // A drain that outlived another context here may have given back for one of these.
      const bool is_used = entry->users > 0 && waited_ns < kPatience_ns;
      if (entry->working == 0 && !is_used) return;
    }
    os::sleep_ns(kPause_ns);
  }
}

bool ended(CUcontext context) {
  const os::FutexGuard guard(lock);
  Entry* entry = context != nullptr ? find(context) : nullptr;
  if (entry == nullptr) return true;
  // One with the same handle was made before we could say so.
  if (entry->renewed) {
    call_is_over(*entry);
    return false;
  }
  *entry = {};
  return true;
}

void goes_on(CUcontext context) {
  const os::FutexGuard guard(lock);
  Entry* entry = context != nullptr ? find(context) : nullptr;
  if (entry != nullptr) call_is_over(*entry);
}

bool is_known(CUcontext context) {
  const os::FutexGuard guard(lock);
  return context != nullptr && find(context) != nullptr;
}

int gpu_of(CUcontext context) {
  const os::FutexGuard guard(lock);
  const Entry* const entry = context != nullptr ? find(context) : nullptr;
  return entry != nullptr ? entry->gpu : -1;
}

CUcontext primary_of(int gpu) {
  const os::FutexGuard guard(lock);
  for (const Entry& entry : entries) {
    if (entry.context != nullptr && entry.primary && entry.gpu == gpu) return entry.context;
  }
  return nullptr;
}

bool may_be_green(CUcontext context) {
  const os::FutexGuard guard(lock);
  if (context == nullptr || find(context) != nullptr) return false;
  for (const Entry& entry : entries) {
    if (entry.context != nullptr && entry.primary) return true;
  }
  return false;
}

// One that had no room in the list is not taken for a green one.
CUcontext owner_for(CUcontext context, int gpu) {
  if (gpu < 0 || gpu >= gate::kGpusMax || !may_be_green(context) || !knows_all(gpu)) return context;
  const CUcontext primary = primary_of(gpu);
  return primary != nullptr ? primary : context;
}

Taken try_to_take(int index, int gpu, CUcontext& context, Use use) {
  const os::FutexGuard guard(lock);
  const Taken taken = take_entry(entries[index], gpu, use);
  if (taken == Taken::yes) context = entries[index].context;
  return taken;
}

bool take(int index, int gpu, CUcontext& context, Use use) {
  return try_to_take(index, gpu, context, use) == Taken::yes;
}

int take_this(CUcontext context, int gpu, Use use) {
  const os::FutexGuard guard(lock);
  Entry* entry = context != nullptr ? find(context) : nullptr;
  const bool is_taken = entry != nullptr && take_entry(*entry, gpu, use) == Taken::yes;
  return is_taken ? static_cast<int>(entry - entries) : -1;
}

void give_back(int index, Use use) {
  const os::FutexGuard guard(lock);
  Entry& entry = entries[index];
  if (entry.users > 0) --entry.users;
  if (use == Use::working && entry.working > 0) --entry.working;
}

bool knows_all(int gpu) {
  const os::FutexGuard guard(lock);
  return !missed[gpu];
}

// One that is not known may be there as well.
bool is_any(int gpu) {
  const os::FutexGuard guard(lock);
  for (const Entry& entry : entries) {
    if (entry.context != nullptr && entry.gpu == gpu) return true;
  }
  return missed[gpu];
}

bool is_any_ending(int gpu) {
  const os::FutexGuard guard(lock);
  for (const Entry& entry : entries) {
    if (entry.context != nullptr && entry.gpu == gpu && entry.ending > 0) return true;
  }
  return false;
}

void start_over_in_child() {
  lock.reset();
  for (Entry& entry : entries) entry = {};
  for (bool& gpu : missed) gpu = false;
}

}  // namespace nvs::interposer::contexts
