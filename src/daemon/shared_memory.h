// SPDX-License-Identifier: Apache-2.0
// GPU memory that clients let other processes open: the daemon passes descriptors from one to the
// other and does not look at them. Whoever has the token may have the memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>

#include "base/unique_fd.h"
#include "core/ids.h"
#include "daemon/messages.h"
#include "daemon/session.h"

namespace nvs::daemon {

class SharedMemory {
 public:
  static bool is_for_it(wire::Type type);
  // One packet of such a type, with the descriptor that came along. Answers are sent.
  Verdict take(Session& session, wire::Type type, const void* packet, std::size_t size,
               UniqueFd file);
  void leave(core::ClientId client);
  std::size_t files() const { return files_; }

 private:
  using Token = std::array<std::uint8_t, 16>;
  struct Chunk {
    UniqueFd file;
    std::uint64_t bytes;
  };
  struct Shared {
    core::ClientId client;
    std::uint32_t count;
    std::map<std::uint32_t, Chunk> chunks;
  };

  Verdict share(core::ClientId client, const wire::ShareMemory& message, UniqueFd file);
  void unshare(core::ClientId client, const Token& token);
  void open(Session& session, const wire::OpenShared& message) const;
  void forget(std::map<Token, Shared>::iterator shared);

  std::map<Token, Shared> shared_;
  std::unordered_map<core::ClientId, std::size_t> files_of_;
  std::size_t files_ = 0;
};

}  // namespace nvs::daemon
