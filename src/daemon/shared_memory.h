// SPDX-License-Identifier: Apache-2.0
// GPU memory that clients let other processes open: the daemon passes descriptors from one to the
// other and does not look at them. Whoever has the token may have the memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>

#include "core/ids.h"
#include "daemon/messages.h"
#include "daemon/session.h"
#include "os/foreign_file.h"

namespace nvs::daemon {

class SharedMemory {
 public:
  // So many descriptors of all clients together. One origin has a quarter of them at most.
  explicit SharedMemory(std::size_t files_max) : files_max_(files_max) {}

  static bool is_for_it(wire::Type type);
  struct Sender {
    Session& session;
    core::TenantId tenant;
    const std::string& origin;  // empty: it is trusted, and bounded for each tenant only
  };
  // One packet of such a type, with the descriptor that came along. Answers are sent.
  Verdict take(const Sender& sender, wire::Type type, const void* packet, std::size_t size,
               os::ForeignFile file);
  void leave(core::ClientId client);
  std::size_t files() const { return files_; }

 private:
  using Token = std::array<std::uint8_t, 16>;
  struct Chunk {
    os::ForeignFile file;
    std::uint64_t bytes;
  };
  struct Shared {
    core::ClientId client;
    std::string owner;
    std::uint32_t count;
    std::map<std::uint32_t, Chunk> chunks;
  };

  bool has_room_for(const Sender& sender) const;
  Verdict share(const Sender& sender, const wire::ShareMemory& message, os::ForeignFile file);
  void unshare(core::ClientId client, const Token& token);
  Verdict open(Session& session, const wire::OpenShared& message) const;
  void forget(std::map<Token, Shared>::iterator shared);

  std::map<Token, Shared> shared_;
  // By who they count for: an origin, or the tenant of one that is trusted.
  std::unordered_map<std::string, std::size_t> files_of_;
  std::size_t files_ = 0;
  std::size_t files_max_;
};

}  // namespace nvs::daemon
