// SPDX-License-Identifier: Apache-2.0
// Descriptors of GPU memory, passed between processes by way of the daemon. For threads that may
// wait for it, a moment at most; they must not be inside the gate.
#pragma once

#include <cstdint>

#include "wire/messages.h"

namespace nvs::interposer::session {

struct ShareToken {
  std::uint8_t bytes[16];
  bool operator==(const ShareToken&) const = default;
};

// The descriptor stays the caller's. False: the daemon could not be told.
bool share_chunk(const ShareToken& token, std::uint32_t index, std::uint32_t count,
                 std::uint64_t bytes, int file);
void unshare(const ShareToken& token);

// Which of those that we have met is our daemon, or was last: it knows what it was told itself.
std::uint32_t daemon_number();

struct SharedChunk {
  int file = -1;  // the caller's to close
  std::uint32_t count = 0;
  std::uint64_t bytes = 0;
};
// False: nobody shares it, or there is no daemon.
bool open_shared(const ShareToken& token, std::uint32_t index, SharedChunk& chunk);

// On the thread that listens. The descriptor is ours now, if it is not -1.
void shared_chunk_came(const wire::SharedChunk& message, int file);
void shared_chunk_gone(const wire::SharedGone& message);

void forget_shared_in_child();

}  // namespace nvs::interposer::session
