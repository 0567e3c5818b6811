// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/graph_memory.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "interposer/memory/graph_left.h"
#include "interposer/memory/graph_ranges.h"
#include "interposer/resolve/libc.h"
#include "interposer/session/captures.h"
#include "os/futex_lock.h"

namespace nvs::interposer::memory::graphs {
namespace {

// A graph with memory nodes. One that was moved into another keeps an entry of its own, under the
// other's handles.
struct Entry {
  Entry* next = nullptr;
  std::uint64_t graph = 0;           // 0: it is gone
  std::uint64_t exec = 0;            // there is at most one at a time
  std::uint64_t graph_in_doubt = 0;  // while the driver may still refuse to destroy it
  std::uint64_t exec_in_doubt = 0;
  // The capture that makes it, as long as that goes on: if that comes to nothing, so does the
  // graph. None if it is the program's own.
  captures::Number origin = captures::Number::none;
  GraphRanges ranges;
  PageList<Left> left;
  Promise promise = 0;  // for the executable graph
  bool has_free_node = false;
  bool is_spoiled = false;

  bool is_gone() const { return (graph | exec | graph_in_doubt | exec_in_doubt) == 0; }
};

constinit os::FutexLock lock;  // guards the list; the books' lock may be taken inside
constinit Entry* first = nullptr;
constinit std::atomic<int> entries{0};
constinit std::atomic<std::uint64_t> records{0};  // names of records in the books

// All of these: with the lock held.
Entry* find(std::uint64_t graph) {
  Entry* entry = first;
  while (entry != nullptr && entry->graph != graph) entry = entry->next;
  return entry;
}

Entry* find_or_make(std::uint64_t graph, captures::Number origin) {
  if (Entry* const known = find(graph)) return known;
  auto* const entry = static_cast<Entry*>(os::map_pages(sizeof(Entry)));
  if (entry == nullptr) return nullptr;
  *entry = Entry{};
  entry->graph = graph;
  entry->origin = origin;
  entry->next = first;
  first = entry;
  entries.fetch_add(1, std::memory_order_relaxed);
  return entry;
}

template <class Visit>
void for_each(Visit visit) {
  for (Entry* entry = first; entry != nullptr; entry = entry->next) visit(*entry);
}

Entry* take_gone() {
  Entry* taken = nullptr;
  for (Entry** place = &first; *place != nullptr;) {
    Entry* const entry = *place;
    if (!entry->is_gone()) {
      place = &entry->next;
      continue;
    }
    *place = entry->next;
    entry->next = taken;
    taken = entry;
    entries.fetch_sub(1, std::memory_order_relaxed);
  }
  return taken;
}

constexpr bool is_device(int device) { return device >= 0 && device < kDevicesMax; }

// One that nobody else can find any more.
void settle(Entry& entry) {
  std::uint64_t set_aside[kDevicesMax] = {};
  for (std::size_t i = 0; i < entry.ranges.size(); ++i) {
    const Reserved reserved = books().set_aside(Space::graph_node, entry.ranges.record(i));
    if (is_device(reserved.device)) set_aside[reserved.device] += reserved.bytes;
  }
  for (std::size_t i = 0; i < entry.left.size(); ++i) {
    const Left& left = entry.left[i];
    if (is_device(left.device) && is_there(left)) keep(left, set_aside[left.device]);
  }
  for (int device = 0; device < kDevicesMax; ++device) {
    if (set_aside[device] != 0) books().cancel({device, set_aside[device]});
  }
  end_promise(entry.promise);
  entry.ranges.give_back();
  entry.left.give_back();
  os::unmap_pages(&entry, sizeof(Entry));
}

void settle_all(Entry* taken) {
  while (taken != nullptr) {
    Entry* const next = taken->next;
    settle(*taken);
    taken = next;
  }
}

}  // namespace

bool is_any() { return entries.load(std::memory_order_relaxed) != 0; }

CUgraph captured_by(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUgraph graph = nullptr;
  CUresult result = CUDA_ERROR_NOT_SUPPORTED;
  if (auto* ask = real<Row::cuStreamGetCaptureInfo_v3>()) {
    result = ask(stream, &status, nullptr, &graph, nullptr, nullptr, nullptr);
  } else if (auto* ask_older = real<Row::cuStreamGetCaptureInfo_v2>()) {
    result = ask_older(stream, &status, nullptr, &graph, nullptr, nullptr);
  }
  const bool is_so = result == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return is_so ? graph : nullptr;
}

NewNode::NewNode(CUgraph graph, int device, std::uint64_t bytes, Made made)
    : graph_(number_of(graph)), device_(device), bytes_(bytes), made_(made) {}

bool NewNode::reserve() {
  if (device_ < 0) return true;
  if (reserved_.take(device_, bytes_)) return true;
  // Where something is freed before, the driver may have the same addresses for it: then it is
  // nothing more.
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(lock);
  const Entry* const entry = find(graph_);
  return entry != nullptr && entry->has_free_node;
}

CUresult NewNode::added(std::uint64_t address) {
  if (device_ < 0) return CUDA_SUCCESS;
  const libc::NoCancel no_cancel;
  std::uint64_t fresh = bytes_;
  {
    const os::FutexGuard guard(lock);
    if (const Entry* entry = find(graph_)) fresh = entry->ranges.count_new(address, bytes_);
  }
  if (!reserved_.take(device_, fresh)) return spoil();
  write_down(address, fresh);
  return CUDA_SUCCESS;
}

CUresult NewNode::spoil() {
  const os::FutexGuard guard(lock);
  if (Entry* entry = find_or_make(graph_, captures::Number::none)) entry->is_spoiled = true;
  return CUDA_ERROR_OUT_OF_MEMORY;
}

// In the books first: what the list names is there.
void NewNode::write_down(std::uint64_t address, std::uint64_t fresh) {
  const std::uint64_t record = records.fetch_add(1, std::memory_order_relaxed) + 1;
  if (fresh != 0) {
    // The driver takes the bytes when it is launched, and keeps them for others.
    books().allocated({.space = Space::graph_node,
                       .kind = MemoryKind::graph,
                       .id = record,
                       .bytes = 0,
                       .owner = device_owner(device_),
                       .asked = fresh,
                       .reserved = reserved_.hand_over()},
                      device_);
  }
  const Left left{address, bytes_, device_};
  const bool is_captured = made_ == Made::by_capture;
  const captures::Number origin =
      is_captured ? captures::maker_of(reinterpret_cast<CUgraph>(graph_)) : captures::Number::none;
  bool is_kept = false;
  {
    const os::FutexGuard guard(lock);
    Entry* const entry = find_or_make(graph_, origin);
    is_kept = entry != nullptr && entry->ranges.add(address, bytes_, record, device_);
    if (is_kept) entry->left.insert(entry->left.size(), left);
  }
  if (!is_kept) books().take(Space::graph_node, record);
}

void free_added(CUgraph graph, std::uint64_t address) {
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(lock);
  for_each([&](Entry& entry) {
    if (entry.graph != number_of(graph)) return;
    for (std::size_t i = 0; i < entry.left.size(); ++i) {
      if (entry.left[i].address != address) continue;
      entry.left.erase(i);
      entry.has_free_node = true;
      return;
    }
  });
}

void moved(CUgraph child, CUgraph parent) {
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(lock);
  for_each([&](Entry& entry) {
    if (entry.graph == number_of(child)) entry.graph = number_of(parent);
  });
}

bool may_be_instantiated(CUgraph graph) {
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(lock);
  bool may_be = true;
  for_each([&](const Entry& entry) {
    if (entry.graph == number_of(graph) && entry.is_spoiled) may_be = false;
  });
  return may_be;
}

void find_needs(CUgraph graph, Needs& needs) {
  const os::FutexGuard guard(lock);
  for_each([&](const Entry& entry) {
    if (entry.graph != number_of(graph) || (entry.exec | entry.exec_in_doubt) != 0) return;
    for (int gpu = 0; gpu < gate::kGpusMax; ++gpu) {
      needs[gpu].passing += entry.ranges.bytes_on(gpu);
    }
    for (std::size_t i = 0; i < entry.left.size(); ++i) {
      const Left& left = entry.left[i];
      if (left.device < 0 || left.device >= gate::kGpusMax) continue;
      Need& need = needs[left.device];
      const std::uint64_t bytes = std::min(left.bytes, need.passing);
      need.left += bytes;
      need.passing -= bytes;
    }
  });
}

void instantiated(CUgraph graph, CUgraphExec exec, Promise promise) {
  const libc::NoCancel no_cancel;
  {
    const os::FutexGuard guard(lock);
    for_each([&](Entry& entry) {
      if (entry.graph != number_of(graph)) return;
      entry.exec = number_of(exec);
      if (entry.promise == 0) entry.promise = std::exchange(promise, 0);
    });
  }
  end_promise(promise);  // nobody has it
}

Destroying::Destroying(CUgraph graph) : what_(What::graph), handle_(number_of(graph)) {
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(lock);
  for_each([&](Entry& entry) {
    if (handle_ == 0 || entry.graph != handle_) return;
    entry.graph_in_doubt = handle_;
    entry.graph = 0;
  });
}

Destroying::Destroying(CUgraphExec exec) : what_(What::exec), handle_(number_of(exec)) {
  const libc::NoCancel no_cancel;
  const os::FutexGuard guard(lock);
  for_each([&](Entry& entry) {
    if (handle_ == 0 || entry.exec != handle_) return;
    entry.exec_in_doubt = handle_;
    entry.exec = 0;
  });
}

void Destroying::ended(CUresult result) {
  const libc::NoCancel no_cancel;
  Entry* gone = nullptr;
  Promise ended = 0;
  {
    const os::FutexGuard guard(lock);
    for_each([&](Entry& entry) {
      std::uint64_t& in_doubt = what_ == What::graph ? entry.graph_in_doubt : entry.exec_in_doubt;
      if (handle_ == 0 || in_doubt != handle_) return;
      in_doubt = 0;
      if (result != CUDA_SUCCESS) {
        (what_ == What::graph ? entry.graph : entry.exec) = handle_;
      } else if (what_ == What::exec && entry.promise != 0) {
        ended = std::exchange(entry.promise, 0);
      }
    });
    gone = take_gone();
  }
  // What it took at a launch is the driver's to keep.
  if (ended != 0) look_at_all();
  end_promise(ended);
  settle_all(gone);
}

void capture_ended(captures::Number number, CUgraph graph) {
  const libc::NoCancel no_cancel;
  Entry* gone = nullptr;
  {
    const os::FutexGuard guard(lock);
    for_each([&](Entry& entry) {
      if (number == captures::Number::none || entry.origin != number) return;
      entry.origin = captures::Number::none;
      entry.graph = number_of(graph);
    });
    gone = take_gone();
  }
  settle_all(gone);
}

bool forget_freed(int gpu) {
  constexpr std::size_t kAtOnce = 16;
  Record some[kAtOnce];
  bool has_forgotten = false;
  std::size_t count = 0;
  std::size_t cursor = 0;
  do {
    count = books().list(MemoryKind::graph, gpu, cursor, some, kAtOnce);
    for (std::size_t i = 0; i < count; ++i) {
      const Record& record = some[i];
      const Left left{record.id, record.charged, record.device};
      if (record.space != Space::address || is_there(left)) continue;
      books().take(Space::address, record.id);
      has_forgotten = true;
    }
  } while (count == kAtOnce);
  return has_forgotten;
}

void start_over_in_child() {
  lock.reset();
  first = nullptr;
  entries.store(0, std::memory_order_relaxed);
  forget_promises_in_child();
}

}  // namespace nvs::interposer::memory::graphs
