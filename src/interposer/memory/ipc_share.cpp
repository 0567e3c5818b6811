// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/ipc_share.h"

#include <atomic>
#include <span>

#include "interposer/exports/real.h"
#include "interposer/flow/relaxed_capture.h"
#include "interposer/gate/inside.h"
#include "interposer/resolve/libc.h"
#include "interposer/session/thread.h"
#include "os/futex_lock.h"

namespace nvs::interposer::memory {
namespace {

using session::ShareToken;

struct Share {
  std::uint64_t base;  // of what is mapped; 0: free
  std::uint64_t bytes;
  std::uint64_t handle;  // of its first chunk: another one if the addresses were given out anew
  ShareToken token;
  std::uint32_t daemon;  // the number of the one that has it
};
// As many pieces as the daemon keeps for one tenant, and of those each share has one at least.
constexpr int kSharesMax = wire::kSharedChunksMax;

constinit os::FutexLock making;  // one thread shares at a time; it waits for the daemon
constinit os::FutexLock lock;    // guards the table
constinit Share shares[kSharesMax] = {};
constinit std::atomic<int> shares_used{0};
constinit std::atomic<int> shares_end{0};  // there is none from here on

std::span<Share> known_shares() {
  return {shares, static_cast<std::size_t>(shares_end.load(std::memory_order_acquire))};
}

bool make_token(ShareToken& token) {
  const long got = os::system_call(SYS_getrandom, os::argument(token.bytes), sizeof token.bytes, 0);
  return got == sizeof token.bytes;
}

bool find(Share& wanted) {
  const os::FutexGuard guard(lock);
  for (const Share& share : known_shares()) {
    if (share.base != wanted.base || share.handle != wanted.handle) continue;
    wanted = share;
    return true;
  }
  return false;
}

bool keep(const Share& made) {
  const os::FutexGuard guard(lock);
  for (Share& share : shares) {
    if (share.base != 0) continue;
    share = made;
    shares_used.fetch_add(1);
    const auto end = static_cast<int>(&share - shares) + 1;
    if (end > shares_end.load()) shares_end.store(end, std::memory_order_release);
    return true;
  }
  return false;
}

bool is_at(std::uint64_t address, std::uint64_t handle) {
  swap::PinnedChunk now;
  return swap::pinned_chunk(address, now) && now.handle == handle;
}

CUresult send_chunk(const Share& share, const swap::PinnedChunk& chunk, std::uint32_t index,
                    std::uint32_t count) {
  int file = -1;
  const CUresult exported = real<Row::cuMemExportToShareableHandle>()(
      &file, chunk.handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  if (exported != CUDA_SUCCESS) return exported;
  CUresult result = CUDA_ERROR_INVALID_VALUE;
  // Else it was freed, and what we exported may be somebody else's by now.
  if (is_at(share.base, share.handle) && is_at(chunk.address, chunk.handle)) {
    const bool sent = session::share_chunk(share.token, index, count, chunk.bytes, file);
    result = sent ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
  }
  os::close_file(file);
  return result;
}

std::uint32_t chunks_of(const Share& share) {
  return static_cast<std::uint32_t>((share.bytes + vmm::kChunkBytes - 1) / vmm::kChunkBytes);
}

// All chunks; and then the daemon is asked whether it has them, so that whoever gets the handle
// can open it.
CUresult send_all(const Share& share) {
  const std::uint32_t count = chunks_of(share);
  if (count > wire::kSharedChunksMax) return CUDA_ERROR_NOT_SUPPORTED;
  for (std::uint32_t i = 0; i < count; ++i) {
    swap::PinnedChunk chunk;
    if (!swap::pinned_chunk(share.base + i * vmm::kChunkBytes, chunk)) {
      return CUDA_ERROR_INVALID_VALUE;  // it is being freed
    }
    const CUresult sent = send_chunk(share, chunk, i, count);
    if (sent != CUDA_SUCCESS) return sent;
  }
  session::SharedChunk kept;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!session::open_shared(share.token, i, kept)) return CUDA_ERROR_NOT_SUPPORTED;
    os::close_file(kept.file);
  }
  return CUDA_SUCCESS;
}

// All of it to one and the same daemon, or nothing.
CUresult send_to_daemon(Share& share) {
  share.daemon = session::daemon_number();
  CUresult result = send_all(share);
  if (result == CUDA_SUCCESS && share.daemon != session::daemon_number()) {
    result = CUDA_ERROR_NOT_SUPPORTED;
  }
  if (result != CUDA_SUCCESS) session::unshare(share.token);
  return result;
}

CUresult make_share(Share& share) {
  if (!make_token(share.token)) return CUDA_ERROR_OPERATING_SYSTEM;
  const CUresult result = send_to_daemon(share);
  if (result != CUDA_SUCCESS || keep(share)) return result;
  session::unshare(share.token);
  return CUDA_ERROR_OUT_OF_MEMORY;
}

// False: it was freed meanwhile, and the daemon told so before it had all of it.
bool note_daemon(const Share& sent) {
  const os::FutexGuard guard(lock);
  for (Share& share : known_shares()) {
    if (share.base == 0 || share.token != sent.token) continue;
    share.daemon = sent.daemon;
    return true;
  }
  return false;
}

// A daemon knows nothing of what another one had. Under the old token: then those handles open
// that were given out before.
CUresult renew(Share& share) {
  if (share.daemon == session::daemon_number()) return CUDA_SUCCESS;
  const CUresult result = send_to_daemon(share);
  if (result == CUDA_SUCCESS && !note_daemon(share)) session::unshare(share.token);
  return result;
}

void renew_all(void*) {
  const RelaxedCapture relaxed;
  for (const Share& place : known_shares()) {
    const os::FutexGuard one(making);
    Share share{};
    {
      const os::FutexGuard guard(lock);
      share = place;
    }
    if (share.base != 0) renew(share);
  }
}

}  // namespace

CUresult share_memory(const swap::Named& named, CUipcMemHandle& handle) {
  const bool is_pinned =
      gate::inside([&] {
        return swap::pin(named.allocated.base) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
      }) == CUDA_SUCCESS;
  swap::PinnedChunk first;
  if (!is_pinned || !swap::pinned_chunk(named.mapping_base, first)) return CUDA_ERROR_INVALID_VALUE;
  const libc::NoCancel no_cancel;
  const os::FutexGuard one(making);
  Share share{named.mapping_base, named.mapping_bytes, first.handle, {}, 0};
  const CUresult shared = find(share) ? renew(share) : make_share(share);
  if (shared != CUDA_SUCCESS) return shared;
  IpcTicket ticket;
  ticket.token = share.token;
  ticket.mapping_bytes = named.mapping_bytes;
  ticket.offset = named.allocated.base - named.mapping_base;
  ticket.bytes = named.allocated.bytes;
  handle = handle_of_ticket(ticket);
  return CUDA_SUCCESS;
}

bool is_own_share(const ShareToken& token) {
  const os::FutexGuard guard(lock);
  for (const Share& share : known_shares()) {
    if (share.base != 0 && share.token == token) return true;
  }
  return false;
}

void renew_shares() {
  if (shares_used.load(std::memory_order_acquire) != 0) start_thread(&renew_all, nullptr);
}

void end_shares() {
  if (shares_used.load(std::memory_order_acquire) == 0) return;
  const libc::NoCancel no_cancel;
  for (Share& place : known_shares()) {
    Share share{};
    {
      const os::FutexGuard guard(lock);
      if (place.base == 0 || is_at(place.base, place.handle)) continue;
      share = place;
      place = {};
      shares_used.fetch_sub(1);
    }
    session::unshare(share.token);
  }
}

void forget_shares_in_child() {
  making.reset();
  lock.reset();
  for (Share& share : shares) share = {};
  shares_used.store(0, std::memory_order_relaxed);
  shares_end.store(0, std::memory_order_relaxed);
}

}  // namespace nvs::interposer::memory
