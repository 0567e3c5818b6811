// SPDX-License-Identifier: Apache-2.0
// Opaque handles that are never reused: a handle of something destroyed finds nothing, where a bare
// pointer would find whatever took its place.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

namespace nvs::sim {

/// Above the small integers that CUDA gives a meaning (the legacy and per-thread streams), aligned
/// like a pointer, and shared by all tables, so that a handle of one kind is never taken for one of
/// another.
inline std::uintptr_t next_handle() {
  static std::uintptr_t last = 0x5c000000;
  return last += 64;
}

template <class Handle, class T>
class HandleTable {
 public:
  Handle add(std::shared_ptr<T> object) {
    const std::uintptr_t value = next_handle();
    objects_.emplace(value, std::move(object));
    return reinterpret_cast<Handle>(value);
  }

  /// Null when the handle is not, or no longer, one of ours.
  std::shared_ptr<T> find(Handle handle) const {
    const auto it = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
    return it == objects_.end() ? nullptr : it->second;
  }

  void remove(Handle handle) { objects_.erase(reinterpret_cast<std::uintptr_t>(handle)); }

  const std::unordered_map<std::uintptr_t, std::shared_ptr<T>>& all() const { return objects_; }

 private:
  std::unordered_map<std::uintptr_t, std::shared_ptr<T>> objects_;
};

}  // namespace nvs::sim
