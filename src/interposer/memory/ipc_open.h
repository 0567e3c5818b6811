// SPDX-License-Identifier: Apache-2.0
// Memory that other processes share, opened in this one (cuIpcOpenMemHandle): its pages are mapped
// at addresses of our own. It never moves, and is not ours to count on.
#pragma once

#include "interposer/memory/ipc_handle.h"
#include "interposer/memory/swap/query.h"

namespace nvs::interposer::memory {

// Opened again, it has the same address, and has to be closed as often.
CUresult open_memory(const IpcTicket& ticket, CUdeviceptr& address);
CUresult close_memory(CUdeviceptr address);

// Whether the address lies in such memory; then what programs may know of it.
bool is_opened(std::uint64_t address);
bool find_opened(std::uint64_t address, swap::Named& named);

// The context is gone, and what was opened in it.
void close_all_of(std::uint64_t context);

void forget_opened_in_child();

}  // namespace nvs::interposer::memory
