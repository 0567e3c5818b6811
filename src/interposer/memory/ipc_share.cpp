// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/ipc_share.h"

#include <atomic>
#include <span>

#include "interposer/exports/real.h"
#include "interposer/gate/inside.h"
#include "interposer/resolve/libc.h"
#include "os/futex_lock.h"

namespace nvs::interposer::memory {
namespace {

using session::ShareToken;

struct Share {
  std::uint64_t base;    // of what is mapped; 0: free
  std::uint64_t handle;  // of its first chunk: another one if the addresses were given out anew
  ShareToken token;
};
// As many as the daemon keeps pieces for one process, of which each share has one at least.
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

bool find(std::uint64_t base, std::uint64_t handle, ShareToken& token) {
  const os::FutexGuard guard(lock);
  for (const Share& share : known_shares()) {
    if (share.base != base || share.handle != handle) continue;
    token = share.token;
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

CUresult send_chunk(const ShareToken& token, const swap::PinnedChunk& chunk, std::uint32_t index,
                    std::uint32_t count) {
  int file = -1;
  const CUresult exported = real<Row::cuMemExportToShareableHandle>()(
      &file, chunk.handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  if (exported != CUDA_SUCCESS) return exported;
  const bool sent = session::share_chunk(token, index, count, chunk.bytes, file);
  os::close_file(file);
  return sent ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

std::uint32_t chunks_of(const swap::Named& named) {
  return static_cast<std::uint32_t>((named.mapping_bytes + vmm::kChunkBytes - 1) /
                                    vmm::kChunkBytes);
}

// All chunks; and then the daemon is asked whether it has them, so that whoever gets the handle
// can open it.
CUresult send_all(const swap::Named& named, const ShareToken& token) {
  const std::uint32_t count = chunks_of(named);
  if (count > wire::kSharedChunksMax) return CUDA_ERROR_NOT_SUPPORTED;
  for (std::uint32_t i = 0; i < count; ++i) {
    swap::PinnedChunk chunk;
    if (!swap::pinned_chunk(named.mapping_base + i * vmm::kChunkBytes, chunk)) {
      return CUDA_ERROR_INVALID_VALUE;  // it is being freed
    }
    const CUresult sent = send_chunk(token, chunk, i, count);
    if (sent != CUDA_SUCCESS) return sent;
  }
  session::SharedChunk kept;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!session::open_shared(token, i, kept)) return CUDA_ERROR_NOT_SUPPORTED;
    os::close_file(kept.file);
  }
  return CUDA_SUCCESS;
}

CUresult make_share(const swap::Named& named, std::uint64_t handle, ShareToken& token) {
  if (!make_token(token)) return CUDA_ERROR_OPERATING_SYSTEM;
  CUresult result = send_all(named, token);
  if (result == CUDA_SUCCESS && !keep({named.mapping_base, handle, token})) {
    result = CUDA_ERROR_OUT_OF_MEMORY;
  }
  if (result != CUDA_SUCCESS) session::unshare(token);
  return result;
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
  IpcTicket ticket;
  if (!find(named.mapping_base, first.handle, ticket.token)) {
    const CUresult made = make_share(named, first.handle, ticket.token);
    if (made != CUDA_SUCCESS) return made;
  }
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

void end_shares() {
  if (shares_used.load(std::memory_order_acquire) == 0) return;
  const libc::NoCancel no_cancel;
  for (Share& place : known_shares()) {
    Share share{};
    {
      const os::FutexGuard guard(lock);
      swap::PinnedChunk first;
      const bool is_there =
          place.base != 0 && swap::pinned_chunk(place.base, first) && first.handle == place.handle;
      if (place.base == 0 || is_there) continue;
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
