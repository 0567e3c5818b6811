// SPDX-License-Identifier: Apache-2.0
// Host memory for chunks that leave: asks the daemon for segments, maps them and makes them known
// to the driver, on a thread of its own and ahead of time: nobody should wait for it on a switch.
#pragma once

#include <cstdint>

namespace nvs::interposer::swap {

// Memory is scarce: what we have may have to leave one day. Starts the thread, once.
bool start_host_thread();

// A chunk had no place to go. With the lock held.
void host_is_missing(std::uint64_t bytes);

// A segment has come, with a descriptor that is ours now; or less will come than was asked for.
void host_lent(std::uint64_t number, std::uint64_t bytes, int file);
void host_denied(std::uint64_t bytes);

// Whether somebody lacks host memory: what we can do without goes back, and nothing is asked for
// ahead of time.
void set_host_short(bool is_short);
// A chunk has come in or was freed: its place may be one of those.
void host_may_be_spare();

// The daemon is gone, and what was asked of it; what it has lent stays with us. Then: how much.
void host_daemon_gone();
std::uint64_t host_kept();

void forget_host_in_child();

}  // namespace nvs::interposer::swap
