// SPDX-License-Identifier: Apache-2.0
// The tenant's limits on memory (wire/memory_account.h): how much all its processes together may
// have of each GPU. The daemon lends the file in which they add it up, and nobody is asked: bytes
// are written into it first and summed up after, so that two who come at once cannot both pass.
// Without such a file there are no limits.
#pragma once

#include <cstdint>

#include "interposer/memory/records.h"
#include "wire/memory_account.h"

namespace nvs::interposer::account {

// On the thread that listens to the daemon. `file` is closed. What the process has already is
// written into the new file before the last one is left.
void file_came(int file, std::uint32_t slot, std::uint64_t bytes);
// The number of a GPU in the file.
void gpu_numbered(int gpu, std::uint32_t number);
void gpu_unknown(int gpu);  // the daemon does not manage it
// A daemon that knows no accounts, after one that did: there are no limits until a file comes.
void daemon_has_none();

// Whether there ever was a file.
bool is_any();

enum class Verdict : std::uint8_t {
  unlimited,  // nothing was reserved, and need not be
  reserved,   // it counts from now on (Books::cancel)
  over,       // it would be more than the tenant may have
};
Verdict reserve(int gpu, std::uint64_t bytes);

// Memory that other processes can have too, which counts once for all of the tenant (ADR-0030).
// What it made becomes such a piece: the name that it has then, or 0 if it has none.
memory::PieceName share(memory::Space space, std::uint64_t id, memory::PieceName name);
// What it opens; 0 bytes: nobody knows, until it is mapped. Unless it is too much, it is held
// (Books::drop_piece).
Verdict hold(int gpu, memory::PieceName name, std::uint64_t bytes);
Verdict learn_size(int gpu, memory::PieceName name, std::uint64_t bytes);

struct Limit {
  std::uint64_t bytes = 0;
  std::uint64_t left = 0;  // until all processes of the tenant have that much
};
// False: there is none.
bool find_limit(int gpu, Limit& limit);
// As if that many bytes were the limit. False: nobody adds up what the tenant has.
bool as_if_limited(int gpu, std::uint64_t bytes, Limit& limit);

// A file without being a part of it, for one who only looks; null if it cannot be had. The
// descriptor stays the caller's.
wire::AccountFile* map(int file);
void unmap(wire::AccountFile* file);
bool find_limit(const wire::AccountFile& file, int number, Limit& limit);
// As if that many bytes were the limit.
Limit limit_of(const wire::AccountFile& file, int number, std::uint64_t bytes);

void start_over_in_child();

}  // namespace nvs::interposer::account
