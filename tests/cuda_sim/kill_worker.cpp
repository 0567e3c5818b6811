// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_sim/kill_worker.h"

#include <algorithm>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>

#include "tests/cuda_sim/gpu.h"

namespace nvs::sim_test {
namespace {

constexpr auto kFile = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

class Worker {
 public:
  Worker(Board& board, unsigned self, std::uint64_t seed, Exports exports)
      : board_(board),
        self_(self),
        exports_(exports),
        random_(seed),
        gpu_(static_cast<int>(random_() % 2)),
        count_(gpu_.alloc(sizeof(std::uint64_t))) {}

  void step() {
    switch (random_() % 9) {
      case 0:
        return plain();
      case 1:
        return chunk();
      case 2:
        return export_chunk();
      case 3:
        return import_chunk();
      case 4:
        return publish();
      case 5:
        return open_published();
      case 6:
        return ordered();
      case 7:
        return managed();
      default:
        return another_context();
    }
  }

 private:
  // Mostly little, now and then so much that the GPU may be full.
  std::size_t some_bytes() {
    const std::uint64_t most = random_() % 10 == 0 ? 4096 : 64;
    return (1 + random_() % most) * gpu_.granularity();
  }

  // The GPU is shared with others and may be full; every other error is one.
  static bool got(CUresult result, const char* call) {
    if (result == CUDA_ERROR_OUT_OF_MEMORY) return false;
    must(result, call);
    return true;
  }

  // Fills memory, works on it and finds what it expects.
  void use(CUdeviceptr data, std::size_t bytes) {
    const std::uint64_t n = bytes / sizeof(float);
    NVS_MUST(gpu_->cuMemsetD32_v2(count_, 0, 2));
    NVS_MUST(gpu_.fill(data, 1, n));
    for (int i = 0; i < 3; ++i) NVS_MUST(gpu_.step(data, 1, n));
    NVS_MUST(gpu_.launch("nvs_check", nullptr, data, 1.0F, 4.0F, n, count_));
    std::uint64_t wrong = 1;
    NVS_MUST(gpu_->cuMemcpyDtoH_v2(&wrong, count_, sizeof wrong));
    if (wrong != 0) throw std::runtime_error(std::to_string(wrong) + " values are wrong");
  }

  void plain() {
    const std::size_t bytes = some_bytes();
    CUdeviceptr data = 0;
    if (!got(gpu_->cuMemAlloc_v2(&data, bytes), "cuMemAlloc_v2")) return;
    use(data, bytes);
    NVS_MUST(gpu_->cuMemFree_v2(data));
  }

  void ordered() {
    const std::size_t bytes = some_bytes();
    CUdeviceptr data = 0;
    if (!got(gpu_->cuMemAllocAsync(&data, bytes, nullptr), "cuMemAllocAsync")) return;
    use(data, bytes);
    NVS_MUST(gpu_->cuMemFreeAsync(data, nullptr));
    NVS_MUST(gpu_->cuStreamSynchronize(nullptr));
  }

  // What others hold does not matter: it is carried away if need be.
  void managed() {
    const std::size_t bytes = std::min(some_bytes(), 32 * gpu_.granularity());
    CUdeviceptr data = 0;
    NVS_MUST(gpu_->cuMemAllocManaged(&data, bytes, CU_MEM_ATTACH_GLOBAL));
    use(data, bytes);
    NVS_MUST(gpu_->cuMemPrefetchAsync(data, bytes / 2, CU_DEVICE_CPU, nullptr));
    NVS_MUST(gpu_->cuMemFree_v2(data));
  }

  bool create(std::size_t bytes, CUmemAllocationHandleType type, Gpu::Chunk& chunk) {
    const CUmemAllocationProp prop = vmm_prop(gpu_.device(), type);
    if (!got(gpu_->cuMemCreate(&chunk.handle, bytes, &prop, 0), "cuMemCreate")) return false;
    chunk.bytes = bytes;
    chunk.address = gpu_.map_handle(chunk.handle, bytes);
    return true;
  }

  void chunk() {
    Gpu::Chunk made;
    if (!create(some_bytes(), CU_MEM_HANDLE_TYPE_NONE, made)) return;
    use(made.address, made.bytes);
    gpu_.unmap_chunk(made);
  }

  void export_chunk() {
    Gpu::Chunk made;
    if (!create(some_bytes(), kFile, made)) return;
    use(made.address, made.bytes);
    int fd = -1;
    NVS_MUST(gpu_->cuMemExportToShareableHandle(&fd, made.handle, kFile, 0));
    const UniqueFd owner(fd);
    exports_.in.try_tell("memory", fd);
    gpu_.unmap_chunk(made);
  }

  // Whoever exported it may be gone, and the memory with it: then there is nothing to import.
  void import_chunk() {
    const UniqueFd fd = exports_.out.try_hear().fd;
    if (!fd) return;
    CUmemGenericAllocationHandle handle = 0;
    void* os_handle = reinterpret_cast<void*>(static_cast<std::intptr_t>(fd.get()));
    if (gpu_->cuMemImportFromShareableHandle(&handle, os_handle, kFile) != CUDA_SUCCESS) return;
    NVS_MUST(gpu_->cuMemRelease(handle));
  }

  void publish() {
    if (published_ != 0) NVS_MUST(gpu_->cuMemFree_v2(published_));
    published_ = 0;
    const std::size_t bytes = some_bytes();
    CUdeviceptr data = 0;
    if (!got(gpu_->cuMemAlloc_v2(&data, bytes), "cuMemAlloc_v2")) return;
    published_ = data;
    use(data, bytes);
    CUipcMemHandle handle{};
    NVS_MUST(gpu_->cuIpcGetMemHandle(&handle, data));
    board_.handles[self_] = handle;
  }

  void open_published() {
    const CUipcMemHandle handle = board_.handles[random_() % kWorkers];
    CUdeviceptr data = 0;
    if (gpu_->cuIpcOpenMemHandle_v2(&data, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) !=
        CUDA_SUCCESS) {
      return;
    }
    gpu_.read(data, 64);
    NVS_MUST(gpu_->cuIpcCloseMemHandle(data));
  }

  void another_context() {
    CUcontext context = nullptr;
    if (!got(gpu_->cuCtxCreate_v2(&context, 0, static_cast<int>(random_() % 2)), "cuCtxCreate_v2"))
      return;
    CUdeviceptr data = 0;
    if (got(gpu_->cuMemAlloc_v2(&data, some_bytes()), "cuMemAlloc_v2")) {
      NVS_MUST(gpu_->cuMemsetD32_v2(data, 0, 64));
    }
    NVS_MUST(gpu_->cuCtxDestroy_v2(context));
    gpu_.make_current();
  }

  Board& board_;
  const unsigned self_;
  const Exports exports_;
  std::mt19937_64 random_;
  const Gpu gpu_;
  const CUdeviceptr count_;
  CUdeviceptr published_ = 0;
};

}  // namespace

void work_until_killed(Board& board, unsigned self, std::uint64_t seed, Exports exports) {
  // The context itself may find the GPU full.
  std::optional<Worker> worker;
  while (!worker) {
    try {
      worker.emplace(board, self, seed, exports);
    } catch (const CallFailed& failure) {
      if (failure.result() != CUDA_ERROR_OUT_OF_MEMORY) throw;
    }
  }
  for (;;) {
    worker->step();
    board.progress[self].fetch_add(1);
  }
}

}  // namespace nvs::sim_test
