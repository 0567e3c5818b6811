// SPDX-License-Identifier: Apache-2.0
// What stands in a CUipcMemHandle of ours. Programs pass them on as 64 bytes that mean nothing.
#pragma once

#include <cstdint>

#include "cuda_api/cuda.h"
#include "interposer/session/shared_files.h"

namespace nvs::interposer::memory {

struct IpcTicket {
  static constexpr std::uint64_t kMagic = 0x316370696873766e;  // "nvshipc1"
  std::uint64_t magic = kMagic;
  session::ShareToken token = {};   // of everything that is mapped together
  std::uint64_t mapping_bytes = 0;  // of that
  std::uint64_t offset = 0;         // where the allocation begins in it
  std::uint64_t bytes = 0;          // of the allocation
};
static_assert(sizeof(IpcTicket) <= sizeof(CUipcMemHandle));

inline CUipcMemHandle handle_of_ticket(const IpcTicket& ticket) {
  CUipcMemHandle handle{};
  __builtin_memcpy(&handle, &ticket, sizeof ticket);
  return handle;
}

// False: the handle is the driver's.
inline bool read_ticket(const CUipcMemHandle& handle, IpcTicket& ticket) {
  __builtin_memcpy(static_cast<void*>(&ticket), &handle, sizeof ticket);
  const bool is_sane = ticket.offset < ticket.mapping_bytes && ticket.bytes != 0 &&
                       ticket.bytes <= ticket.mapping_bytes - ticket.offset;
  return ticket.magic == IpcTicket::kMagic && is_sane;
}

}  // namespace nvs::interposer::memory
