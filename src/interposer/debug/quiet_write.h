// SPDX-License-Identifier: Apache-2.0
// Writing to descriptors of a process that is not ours: the program may have closed the other end
// of its stderr, or our file and opened one of its own under the same number. Neither may harm it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nvs::interposer::debug {

// Which file a descriptor stands for, whatever its number.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool open = false;
};

FileIdentity identity_of(int fd);

// One write(2), if the descriptor still stands for that file. A broken pipe raises no signal.
void quiet_write(int fd, const FileIdentity& expected, const char* data, std::size_t size);

}  // namespace nvs::interposer::debug
