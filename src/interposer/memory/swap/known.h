// SPDX-License-Identifier: Apache-2.0
// Which host memory the driver knows (cuMemHostRegister). Copies from and to it go at the speed of
// the bus; those of other memory are slower and no less right. While the driver gets to know
// memory, nothing else can be submitted by the process, so it is told in small pieces: a queue of a
// millisecond outlasts each one.
#pragma once

#include <cstdint>

namespace nvs::interposer::swap {

// 0.4 ms on an H200, and copies of such pieces are 1.5 % slower than those of whole chunks. No copy
// may cross from one piece into the next: the driver refuses it.
inline constexpr std::uint64_t kKnownPiece = std::uint64_t{8} << 20U;

// A mapping whose pages are there. Without room to write it down it stays unknown.
void add_unknown(std::uint64_t address, std::uint64_t bytes);
// Makes the next piece known, whichever it is, unless somebody needs one now.
enum class Known : std::uint8_t { one_more, all, not_now };
Known make_next_known();
// And all of a mapping up to the end of this stretch of it, at once: the stretch is needed now, and
// stretches are handed out from the front.
void make_known(std::uint64_t address, std::uint64_t bytes);

// The other way round: one piece of the mapping that begins there. Nothing of it may be in use.
enum class Forgot : std::uint8_t {
  some,    // there is more
  all,     // and the mapping may go
  nothing  // somebody needs a piece now, or the driver has no context for it or refuses
};
Forgot forget_piece(std::uint64_t address);

void forget_known_in_child();

}  // namespace nvs::interposer::swap
