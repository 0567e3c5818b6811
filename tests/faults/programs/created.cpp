// SPDX-License-Identifier: Apache-2.0
// Tenants that work in memory that they created and mapped themselves.
#include <atomic>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "tests/faults/programs/kit.h"

namespace nvs::faults {
namespace {

constexpr std::uint64_t kStepNs = 200'000;
constexpr std::uint64_t kRoundsEach = 4;

struct Piece {
  Piece(const Gpu& gpu, std::size_t bytes)
      : chunk(gpu.map_chunk(bytes)), data(gpu, bytes / sizeof(float), chunk.address) {}
  Gpu::Chunk chunk;
  Counted data;
};

// Makes and ends memory in the same moments as others move it, until the test says stop.
void churn(const Gpu& gpu, std::size_t bytes, const std::atomic<bool>& is_over) {
  gpu.make_current();
  CUstream const stream = gpu.stream();
  while (!is_over) {
    Piece piece(gpu, bytes);
    piece.data.step(stream);
    piece.data.check(stream);
    piece.data.free();
    gpu.unmap_chunk(piece.chunk);
  }
}

// One that has no CUDA, and ends like any other process.
void fork_and_wait() {
  const pid_t child = ::fork();
  if (child == 0) std::exit(0);
  int status = 1;
  if (::waitpid(child, &status, 0) != child || status != 0) throw std::runtime_error("child");
}

CUcontext new_context(const Gpu& gpu) {
  CUcontext context = nullptr;
  NVS_MUST(gpu->cuCtxCreate_v2(&context, 0, gpu.device()));
  return context;
}

void must_be_filled(const Gpu& gpu, const Gpu::Chunk& chunk, char value) {
  std::vector<char> host(chunk.bytes);
  NVS_MUST(gpu->cuMemcpyDtoH_v2(host.data(), chunk.address, chunk.bytes));
  for (const char byte : host) {
    if (byte != value) throw std::runtime_error("other bytes than were written");
  }
}

}  // namespace

// created MIB COUNT: so many pieces of that size, in all of which something changes in turn; each
// ends after a while, and another one begins. A thread does the same with one more.
int created(int argc, char** argv) {
  if (argc < 2) return 2;
  const Gpu gpu;
  const std::size_t bytes = std::size_t{number(argv[0])} << 20U;
  std::vector<std::unique_ptr<Piece>> all;
  for (unsigned i = 0; i < number(argv[1]); ++i) {
    all.push_back(std::make_unique<Piece>(gpu, bytes));
  }
  fork_and_wait();
  std::atomic<bool> is_over{false};
  std::thread other([&] { churn(gpu, bytes / 4, is_over); });
  say("ready");
  for (std::uint64_t round = 0; !told_to_stop(); ++round) {
    std::unique_ptr<Piece>& piece = all[round % all.size()];
    piece->data.step(nullptr, kStepNs);
    NVS_MUST(gpu->cuCtxSynchronize());
    if (piece->data.steps() == kRoundsEach) {
      piece->data.check(nullptr);
      piece->data.free();
      gpu.unmap_chunk(piece->chunk);
      piece = std::make_unique<Piece>(gpu, bytes);
    }
    say_at(round);
  }
  is_over = true;
  other.join();
  for (const auto& piece : all) piece->data.check(nullptr);
  return 0;
}

// Memory of the device outlives the context that it was created in, and every other one.
int orphan(int, char**) {
  constexpr std::size_t kBytes = std::size_t{66} << 20U;  // of several chunks
  const Gpu gpu;
  const Gpu::Chunk chunk = gpu.map_chunk(kBytes);
  NVS_MUST(gpu->cuMemsetD8_v2(chunk.address, 0x31, kBytes));
  NVS_MUST(gpu->cuCtxSynchronize());
  CUcontext second = new_context(gpu);
  NVS_MUST(gpu->cuCtxDestroy_v2(gpu.context()));
  say("ready");
  wait_for_word();
  must_be_filled(gpu, chunk, 0x31);
  NVS_MUST(gpu->cuMemsetD8_v2(chunk.address, 0x32, kBytes));
  NVS_MUST(gpu->cuCtxSynchronize());
  NVS_MUST(gpu->cuCtxDestroy_v2(second));
  say("alone");
  wait_for_word();
  new_context(gpu);
  say("back");
  must_be_filled(gpu, chunk, 0x32);
  gpu.unmap_chunk(chunk);
  return 0;
}

}  // namespace nvs::faults
