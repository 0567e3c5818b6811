// SPDX-License-Identifier: Apache-2.0
// Two tenants that share memory by its handle: one makes it and waits, the other one opens it.
#include <vector>

#include "tests/faults/programs/kit.h"
#include "tests/faults/programs/passing.h"

namespace nvs::faults {
namespace {

constexpr std::size_t kBytes = (std::size_t{100} << 20U) + 5;  // of several chunks
constexpr std::size_t kSmall = 1000;
constexpr std::size_t kPiece = std::size_t{2} << 20U;  // too large to lie together with others
constexpr std::size_t kOwn = std::size_t{8} << 20U;    // nobody else's
constexpr std::uint64_t kLongNs = 1'000'000'000;
constexpr unsigned kLazy = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;

void say_handle(const Gpu& gpu, CUdeviceptr address) {
  CUipcMemHandle handle{};
  NVS_MUST(gpu->cuIpcGetMemHandle(&handle, address));
  say("handle " + text_of(handle));
}

void must_hold(const Gpu& gpu, CUdeviceptr address, std::size_t bytes, char value) {
  std::vector<char> host(bytes);
  NVS_MUST(gpu->cuMemcpyDtoH_v2(host.data(), address, bytes));
  for (const char byte : host) {
    if (byte != value) throw std::runtime_error("other bytes than were written");
  }
}

}  // namespace

// ipc_share
int ipc_share(int, char**) {
  const Gpu gpu;
  const CUdeviceptr own = gpu.alloc(kOwn);  // older than the others, which would leave first
  const CUdeviceptr large = gpu.alloc(kBytes);
  gpu.alloc(kSmall);  // small ones lie together, and this one is before the other
  const CUdeviceptr small = gpu.alloc(kSmall);
  NVS_MUST(gpu->cuMemsetD8_v2(large, 0x31, kBytes));
  NVS_MUST(gpu->cuMemsetD8_v2(small, 0x32, kSmall));
  NVS_MUST(gpu->cuMemsetD8_v2(own, 0x33, kOwn));
  NVS_MUST(gpu->cuCtxSynchronize());
  say_handle(gpu, large);
  say_handle(gpu, small);
  wait_for_word();
  must_hold(gpu, large, kBytes, 0x41);
  must_hold(gpu, small, kSmall, 0x42);
  must_hold(gpu, own, kOwn, 0x33);
  NVS_MUST(gpu->cuMemFree_v2(large));
  say("freed");
  wait_for_word();
  return 0;
}

// ipc_share_many COUNT: each in a piece of its own.
int ipc_share_many(int argc, char** argv) {
  if (argc < 1) return 2;
  const Gpu gpu;
  for (unsigned i = 0; i < number(argv[0]); ++i) {
    const CUdeviceptr address = gpu.alloc(kPiece);
    NVS_MUST(gpu->cuMemsetD8_v2(address, static_cast<unsigned char>(i), kSmall));
    say_handle(gpu, address);
  }
  wait_for_word();
  return 0;
}

// ipc_open_many: each handle that it is told, and all stay open until it is told nothing.
int ipc_open_many(int, char**) {
  const Gpu gpu;
  std::vector<CUdeviceptr> opened;
  for (std::string word = wait_for_word(); !word.empty(); word = wait_for_word()) {
    NVS_MUST(gpu->cuIpcOpenMemHandle_v2(&opened.emplace_back(), handle_of(word.c_str()), kLazy));
  }
  for (std::size_t i = 0; i < opened.size(); ++i) {
    must_hold(gpu, opened[i], kSmall, static_cast<char>(i));
  }
  say("opened " + std::to_string(opened.size()));
  // With work under way in it, while another context is current.
  const CUstream stream = gpu.stream();
  NVS_MUST(gpu.spin(kLongNs, stream));
  NVS_MUST(gpu.step(opened.front(), 1, kSmall / sizeof(float), stream));
  const Gpu other;
  for (const CUdeviceptr address : opened) NVS_MUST(other->cuIpcCloseMemHandle(address));
  gpu.make_current();
  NVS_MUST(gpu->cuStreamSynchronize(stream));
  return 0;
}

// ipc_open LARGE SMALL
int ipc_open(int argc, char** argv) {
  if (argc < 2) return 2;
  const Gpu gpu;
  CUdeviceptr large = 0;
  CUdeviceptr small = 0;
  CUdeviceptr again = 0;
  NVS_MUST(gpu->cuIpcOpenMemHandle_v2(&large, handle_of(argv[0]), kLazy));
  NVS_MUST(gpu->cuIpcOpenMemHandle_v2(&small, handle_of(argv[1]), kLazy));
  NVS_MUST(gpu->cuIpcOpenMemHandle_v2(&again, handle_of(argv[0]), kLazy));
  if (again != large) throw std::runtime_error("another address");
  CUdeviceptr base = 0;
  std::size_t size = 0;
  NVS_MUST(gpu->cuMemGetAddressRange_v2(&base, &size, small + kSmall - 1));
  if (base != small || size != kSmall) throw std::runtime_error("another range");
  must_hold(gpu, large, kBytes, 0x31);
  must_hold(gpu, small, kSmall, 0x32);
  NVS_MUST(gpu->cuMemsetD8_v2(large, 0x41, kBytes));
  NVS_MUST(gpu->cuMemsetD8_v2(small, 0x42, kSmall));
  NVS_MUST(gpu->cuCtxSynchronize());
  NVS_MUST(gpu->cuIpcCloseMemHandle(large));
  say("written");
  wait_for_word();
  // It is freed where it came from, and stays until it is closed here.
  must_hold(gpu, large, kBytes, 0x41);
  NVS_MUST(gpu->cuIpcCloseMemHandle(large));
  NVS_MUST(gpu->cuIpcCloseMemHandle(small));
  const CUresult stale = gpu->cuIpcOpenMemHandle_v2(&again, handle_of(argv[0]), kLazy);
  say(stale == CUDA_SUCCESS ? "opened what is gone" : "gone");
  return 0;
}

}  // namespace nvs::faults
