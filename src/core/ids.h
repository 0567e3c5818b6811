// SPDX-License-Identifier: Apache-2.0
// Names of things in the schedule, as types, so that a client is never taken for a tenant. Numbers
// of clients and tenants are never used twice.
#pragma once

#include <cstdint>

namespace nvs::core {

enum class GpuId : std::uint32_t {};  // 0, 1, 2…: the order of GPUs in which gangs are served
enum class TenantId : std::uint64_t {};
enum class ClientId : std::uint64_t {};
// One opening of a client's window. What a client says of an earlier one is out of date.
enum class GrantId : std::uint64_t {};

constexpr std::uint32_t index_of(GpuId gpu) { return static_cast<std::uint32_t>(gpu); }

}  // namespace nvs::core
