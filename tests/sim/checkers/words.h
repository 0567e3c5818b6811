// SPDX-License-Identifier: Apache-2.0
// How complaints name things, without the cost of a formatting library in every checker.
#pragma once

#include <string>

#include "base/instant.h"
#include "core/ids.h"

namespace nvs::sim {

inline std::string text(core::GpuId id) { return "gpu " + std::to_string(core::index_of(id)); }
inline std::string text(core::TenantId id) {
  return "tenant " + std::to_string(static_cast<unsigned long long>(id));
}
inline std::string text(core::ClientId id) {
  return "client " + std::to_string(static_cast<unsigned long long>(id));
}
inline std::string text(core::GrantId id) {
  return "grant " + std::to_string(static_cast<unsigned long long>(id));
}
inline std::string text(Duration span) { return std::to_string(span.ns() / 1'000) + " us"; }

}  // namespace nvs::sim
