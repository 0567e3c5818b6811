// SPDX-License-Identifier: Apache-2.0
// Which blocks no stream uses any more, and when they go back. The driver's pools give back what is
// above their threshold when a program synchronises; ours do that too, and give back what
// nobody uses where memory is short.
#pragma once

#include <cstdint>

namespace nvs::interposer::swap {

// While one lives, nobody else looks at events of streams or ends a stream, a pool or a context: so
// pointers to them hold without the lock.
class Looking {
 public:
  Looking();
  ~Looking();
  Looking(const Looking&) = delete;
  Looking& operator=(const Looking&) = delete;
};

// Both only while looking. Which streams have got past which frees.
void look_at_streams();
// Streams that nobody names any more and nothing waits for.
void sweep_streams();

// With the lock held, after any change of the heap.
void note_surplus();
// A relaxed load: whether a synchronisation should be followed by give_back_surplus().
bool has_surplus();
void give_back_surplus();

// A pool is to keep no more than this, as far as it is not in use.
void trim_pool(std::uint64_t handle, std::uint64_t keep);

enum class Made : std::uint8_t {
  nothing,
  room,   // some was given back
  later,  // streams have yet to get past what was freed
};
// Gives back so much of a GPU's memory that nobody uses, what was freed first before the rest: a
// program that is short of room for one block would otherwise lose all that it is about to use
// again.
Made make_room(int gpu, std::uint64_t bytes);
// The same if there is more on it than is allowed, or than will be.
void make_room_above(int gpu, std::uint64_t allowed);
void make_room_if_above(int gpu);

void forget_ordered_in_child();

}  // namespace nvs::interposer::swap
