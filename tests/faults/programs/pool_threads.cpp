// SPDX-License-Identifier: Apache-2.0
// A tenant whose threads allocate and free in the order of their streams without waiting, as fast
// as they can; what they free is another's at once, where the order of streams allows it.
#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "tests/faults/programs/kit.h"

namespace nvs::faults {
namespace {

constexpr int kThreads = 4;
constexpr unsigned kBlocks = 16;
constexpr std::size_t kSizes[] = {1000, 4096, 100'000, 3 << 20U, 5 << 20U};

// One thread: every block is filled, read and freed in its turn.
class Lane {
 public:
  Lane(const Gpu& gpu, CUstream own, CUstream shared, unsigned seed)
      : gpu_(gpu), own_(own), shared_(shared), random_(seed), event_(gpu.event()) {
    seen_ = gpu.alloc(kBlocks * sizeof(unsigned));
  }

  void round() {
    std::vector<unsigned> wanted;
    for (unsigned i = 0; i < kBlocks; ++i) {
      wanted.push_back(static_cast<unsigned>(random_()));
      use(i, wanted.back());
    }
    std::vector<unsigned> seen(kBlocks);
    NVS_MUST(gpu_->cuStreamSynchronize(own_));
    NVS_MUST(gpu_->cuMemcpyDtoH_v2(seen.data(), seen_, kBlocks * sizeof(unsigned)));
    if (seen != wanted) throw std::runtime_error("somebody else wrote into a block");
  }

 private:
  void use(unsigned number, unsigned value) {
    const std::size_t words = kSizes[random_() % std::size(kSizes)] / sizeof(unsigned);
    CUdeviceptr block = 0;
    NVS_MUST(gpu_->cuMemAllocAsync(&block, words * sizeof(unsigned), own_));
    NVS_MUST(gpu_->cuMemsetD32Async(block, value, words, own_));
    NVS_MUST(gpu_.spin(20'000, own_));
    NVS_MUST(gpu_->cuMemcpyDtoDAsync_v2(seen_ + number * sizeof(unsigned),
                                        block + (words - 1) * sizeof(unsigned), sizeof(unsigned),
                                        own_));
    CUstream stream = own_;
    if (random_() % 3 == 0) {  // freed in another stream, which waits for this one
      stream = shared_;
      NVS_MUST(gpu_->cuEventRecord(event_, own_));
      NVS_MUST(gpu_->cuStreamWaitEvent(shared_, event_, 0));
    }
    NVS_MUST(gpu_->cuMemFreeAsync(block, stream));
  }

  const Gpu& gpu_;
  CUstream own_;
  CUstream shared_;
  std::mt19937 random_;
  CUevent event_;
  CUdeviceptr seen_ = 0;
};

}  // namespace

// pool_threads: until the test says a word.
int pool_threads(int, char**) {
  const Gpu gpu;
  CUstream const shared = gpu.stream();
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> rounds{0};
  const auto run = [&](unsigned number) {
    try {
      gpu.make_current();
      Lane lane(gpu, number == 0 ? CU_STREAM_PER_THREAD : gpu.stream(), shared, number);
      while (!stop.load()) {
        lane.round();
        say_at(rounds.fetch_add(1) + 1);
      }
    } catch (const std::exception& error) {
      say(std::string("failed: ") + error.what());
      std::_Exit(1);
    }
  };
  std::vector<std::thread> all;
  for (unsigned i = 0; i < kThreads; ++i) all.emplace_back(run, i);
  wait_for_word();
  stop.store(true);
  for (std::thread& thread : all) thread.join();
  CUmemoryPool pool = nullptr;
  cuuint64_t left = 77;
  NVS_MUST(gpu->cuCtxSynchronize());
  NVS_MUST(gpu->cuDeviceGetMemPool(&pool, 0));
  NVS_MUST(gpu->cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &left));
  if (left != 0) throw std::runtime_error("the pool has something left");
  return 0;
}

}  // namespace nvs::faults
