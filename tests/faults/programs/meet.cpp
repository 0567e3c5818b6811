// SPDX-License-Identifier: Apache-2.0
// Tenants whose kernels wait for each other, as those of collectives do: on two GPUs in one
// process, or in two processes on one GPU.
#include <chrono>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/faults/programs/kit.h"

namespace nvs::faults {
namespace {

constexpr std::uint64_t kFloats = 16'384;
constexpr std::uint32_t kRoundsInFlight = 4;
constexpr std::uint64_t kBetweenNs = 200'000;
constexpr std::chrono::milliseconds kLateness{3};

constexpr const char* kMeetPtx = R"(.version 6.3
.target sm_75
.address_size 64
.visible .entry nvs_meet(.param .u64 own, .param .u64 other, .param .u32 round)
{
  .reg .pred %p<2>;
  .reg .b32 %r<4>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [own];
  ld.param.u64 %rd2, [other];
  ld.param.u32 %r1, [round];
  st.volatile.u32 [%rd1], %r1;
again:
  ld.volatile.u32 %r2, [%rd2];
  sub.s32 %r3, %r2, %r1;
  setp.lt.s32 %p1, %r3, 0;
  @%p1 bra again;
  ret;
}
)";

// One side of the meetings: a GPU with work of its own between them.
class Side {
 public:
  Side(int device, std::uint32_t* own, std::uint32_t* other)
      : gpu_(device), data_(gpu_, kFloats), own_(address(own)), other_(address(other)) {
    CUmodule module = nullptr;
    NVS_MUST(gpu_->cuModuleLoadData(&module, kMeetPtx));
    NVS_MUST(gpu_->cuModuleGetFunction(&meet_, module, "nvs_meet"));
  }

  const Gpu& gpu() const { return gpu_; }

  void launch(std::uint32_t round) {
    gpu_.make_current();
    data_.step(nullptr, kBetweenNs);
    void* parameters[] = {&own_, &other_, &round};
    NVS_MUST(gpu_->cuLaunchKernel(meet_, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
  }
  void synchronise() const {
    gpu_.make_current();
    NVS_MUST(gpu_->cuCtxSynchronize());
  }
  void check() const {
    gpu_.make_current();
    data_.check(nullptr);
  }

 private:
  static CUdeviceptr address(const std::uint32_t* word) {
    return reinterpret_cast<CUdeviceptr>(word);
  }

  Gpu gpu_;
  Counted data_;
  CUfunction meet_ = nullptr;
  CUdeviceptr own_;
  CUdeviceptr other_;
};

std::uint32_t* shared_words(const char* path) {
  const int file = ::open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) throw std::runtime_error("no file of shared words");
  void* const page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  if (page == MAP_FAILED) throw std::runtime_error("no shared words");
  return static_cast<std::uint32_t*>(page);
}

// The two sides take turns in being late, so that most windows end with one of them ahead.
void go_through(Side& side, unsigned number_of_it, std::uint32_t rounds) {
  for (std::uint32_t round = 1; round <= rounds; ++round) {
    if (round % (2 * kRoundsInFlight) == number_of_it * kRoundsInFlight + 1) {
      std::this_thread::sleep_for(kLateness);
    }
    side.launch(round);
    if (round % kRoundsInFlight != 0) continue;
    side.synchronise();
    if (number_of_it == 0) say_at(round);
  }
  side.synchronise();
}

}  // namespace

// meet_gpus THREADS ROUNDS: one thread launches on both GPUs, or each has its own.
int meet_gpus(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::uint32_t rounds = number(argv[1]);
  const Gpu first(0);
  void* words = nullptr;
  NVS_MUST(first->cuMemHostAlloc(&words, 4096, CU_MEMHOSTALLOC_PORTABLE));
  auto* flags = static_cast<std::uint32_t*>(words);
  flags[0] = flags[1] = 0;
  Side left(0, &flags[0], &flags[1]);
  Side right(1, &flags[1], &flags[0]);
  if (number(argv[0]) == 1) {
    for (std::uint32_t round = 1; round <= rounds; ++round) {
      left.launch(round);
      // Long enough for windows to end just here now and then.
      if (round % kRoundsInFlight == 1) std::this_thread::sleep_for(kLateness);
      right.launch(round);
      if (round % kRoundsInFlight != 0) continue;
      left.synchronise();
      right.synchronise();
      say_at(round);
    }
  } else {
    std::thread other([&] { go_through(right, 1, rounds); });
    go_through(left, 0, rounds);
    other.join();
  }
  left.check();
  right.check();
  return 0;
}

// meet_pair SIDE ROUNDS FILE: one of two processes, which share the file's words.
int meet_pair(int argc, char** argv) {
  if (argc < 3) return 2;
  const unsigned side = number(argv[0]);
  std::uint32_t* const flags = shared_words(argv[2]);
  const Gpu first(0);
  NVS_MUST(first->cuMemHostRegister_v2(flags, 4096, CU_MEMHOSTREGISTER_PORTABLE));
  Side mine(0, &flags[side], &flags[1 - side]);
  go_through(mine, side, number(argv[1]));
  mine.check();
  return 0;
}

}  // namespace nvs::faults
