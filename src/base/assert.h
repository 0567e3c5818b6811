// SPDX-License-Identifier: Apache-2.0
// Checks of what must be true if the code is right. They stay on in release builds: a daemon that
// goes on with broken books does more harm than one that stops and says where.
#pragma once

namespace nvs::detail {

[[noreturn]] void assert_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace nvs::detail

#define NVS_ASSERT(condition)             \
  (static_cast<bool>(condition) ? void(0) \
                                : ::nvs::detail::assert_failed(#condition, __FILE__, __LINE__))
