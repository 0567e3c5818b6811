// SPDX-License-Identifier: Apache-2.0
// Memory of ours that other processes may open (cuIpcGetMemHandle). It is pinned, and the daemon
// keeps a descriptor of each chunk; what is mapped together is shared together, as by the driver.
#pragma once

#include "interposer/memory/ipc_handle.h"
#include "interposer/memory/swap/query.h"

namespace nvs::interposer::memory {

CUresult share_memory(const swap::Named& named, CUipcMemHandle& handle);

// Whether this process shares it itself: then it cannot open it.
bool is_own_share(const session::ShareToken& token);

// There is a daemon again. It gets what the last one had, on a thread that waits for it.
void renew_shares();

// Memory was freed: the daemon forgets what is gone. Cheap if nothing is shared.
void end_shares();

void forget_shares_in_child();

}  // namespace nvs::interposer::memory
