// SPDX-License-Identifier: Apache-2.0
// What the file of a kubelet's socket tells of the kubelet: which one it is, and whether it has
// been there for long. One that has just come lists few of its pods, or none.
#pragma once

#include <cstdint>
#include <string>

namespace nvs::plugin {

// Which file a socket is: another kubelet has another one at the same path. Nothing: none.
struct SocketIdentity {
  std::uint64_t inode = 0;
  std::int64_t changed_s = 0;
  std::int64_t changed_ns = 0;
  bool operator==(const SocketIdentity&) const = default;
};
SocketIdentity identity_of(const std::string& socket);

// Whether the kubelet that made it has had the time to get to know its pods. No if there is none.
bool has_been_there(const std::string& socket);

}  // namespace nvs::plugin
