// SPDX-License-Identifier: Apache-2.0
// Memory that processes share by passing a descriptor. Its size is fixed for good: whoever has the
// descriptor may write into it, but can neither cut it, which would kill others who touch it, nor
// make it larger than its maker has accounted for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace nvs::os {

// Zeroes that take no memory until they are touched. `name` is for /proc; the size is a multiple of
// the page size. Errors: EMFILE, ENFILE, ENOMEM.
Result<UniqueFd> make_memfd(const char* name, std::uint64_t bytes);

// The pages of that range, which then can be touched without fear that there is no memory for them.
// Error ENOSPC or ENOMEM: there is none.
Result<void> make_pages(int memfd, std::uint64_t offset, std::uint64_t bytes);

// The pages of that range go back to the system, whoever has mapped them, and read as zeroes from
// then on. Whoever touches them anew pays for them. Pages that a device has pinned go when it lets
// them go.
Result<void> discard(int memfd, std::uint64_t offset, std::uint64_t bytes);

// Whether the system gives huge pages to memfds, which takes far less time to touch and to register
// with a driver. It is a setting of the host's; nothing depends on it.
struct MemfdHugePages {
  bool possible = false;
  bool on_advice = false;  // only to those who ask (SharedMapping::advise_huge_pages)
};
MemfdHugePages memfd_huge_pages();
// Of the text of /sys/kernel/mm/transparent_hugepage/shmem_enabled.
MemfdHugePages parse_shmem_enabled(std::string_view text);

}  // namespace nvs::os
