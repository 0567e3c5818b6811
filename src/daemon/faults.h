// SPDX-License-Identifier: Apache-2.0
// Why connections are closed, besides what is wrong with a packet: for the client and for the log.
#pragma once

#include <algorithm>
#include <cstring>

#include "daemon/messages.h"
#include "wire/messages.h"

namespace nvs::daemon {

inline constexpr Fault kTooMany{wire::GoodbyeReason::too_many, "the daemon has too many clients"};
inline constexpr Fault kTenantTooMany{wire::GoodbyeReason::too_many,
                                      "its tenant has too many clients"};
inline constexpr Fault kOriginTooMany{wire::GoodbyeReason::too_many,
                                      "its container or user has too many clients"};
inline constexpr Fault kOriginTooOften{wire::GoodbyeReason::too_many,
                                       "its container or user connects too often"};
inline constexpr Fault kNoHello{wire::GoodbyeReason::garbage, "it did not say Hello in time"};
inline constexpr Fault kNotHello{wire::GoodbyeReason::garbage, "its first message is not Hello"};
inline constexpr Fault kUngreetedTooMany{wire::GoodbyeReason::too_many,
                                         "too many connections that do not say Hello"};
inline constexpr Fault kUnidentified{wire::GoodbyeReason::garbage,
                                     "its process cannot be identified"};
inline constexpr Fault kFlood{wire::GoodbyeReason::garbage, "it sends too many messages a second"};
inline constexpr Fault kTooManyFiles{wire::GoodbyeReason::garbage,
                                     "it passes descriptors that nobody asked for"};
inline constexpr Fault kOriginFilesTooMany{
    wire::GoodbyeReason::too_many,
    "its container or user has passed too many descriptors that take long to close"};
inline constexpr Fault kNoNumberForFile{wire::GoodbyeReason::too_many,
                                        "the daemon cannot have the descriptor that it passes"};
inline constexpr Fault kStopping{wire::GoodbyeReason::stopping, "the daemon stops"};

inline wire::Goodbye goodbye_of(const Fault& fault) {
  wire::Goodbye goodbye;
  goodbye.reason = static_cast<wire::u32>(fault.reason);
  const std::size_t size = std::min(std::strlen(fault.text), sizeof goodbye.text - 1);
  std::memcpy(goodbye.text, fault.text, size);
  return goodbye;
}

}  // namespace nvs::daemon
