// SPDX-License-Identifier: Apache-2.0
// By what name processes know a piece of memory that they share (pieces.h). Handles of 64 bytes are
// the same for everybody, so their content is the name. A descriptor has nothing of that kind, and
// CUDA tells nobody what is behind one; but a lock on an open file goes wherever its descriptors
// go, can be read there, and ends with it. Who exports, or else who imports first, puts one on it
// whose place is the name, and whose length is the size. It keeps nobody from anything.
#pragma once

#include <cstddef>
#include <cstdint>

#include "interposer/memory/pieces.h"

namespace nvs::interposer::memory {

// 0: there is no randomness.
PieceName new_piece_name();
PieceName piece_name_of(const void* data, std::size_t size);

struct FileTag {
  PieceName name = 0;
  std::uint64_t bytes = 0;  // 0: whoever tagged it did not know
};
bool read_tag(int file, FileTag& tag);
bool write_tag(int file, const FileTag& tag);

// The first tag in what /proc says of a descriptor.
bool find_tag(const char* text, std::size_t size, FileTag& tag);

}  // namespace nvs::interposer::memory
