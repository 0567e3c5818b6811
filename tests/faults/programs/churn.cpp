// SPDX-License-Identifier: Apache-2.0
// A tenant with one thread that launches and one that allocates and frees meanwhile, however little
// of its memory is there.
#include <atomic>
#include <cstdlib>
#include <deque>
#include <thread>
#include <vector>

#include "tests/faults/programs/kit.h"

namespace nvs::faults {
namespace {

constexpr std::uint64_t kFloats = (std::uint64_t{2} << 20U) / sizeof(float);
constexpr std::size_t kLarge = std::size_t{2} << 20U;
constexpr std::size_t kSmall = 5000;
constexpr std::size_t kKept = 3;

struct Piece {
  CUdeviceptr address;
  std::size_t bytes;
  unsigned char value;
};

Piece make_piece(const Gpu& gpu, CUstream stream, std::uint64_t round) {
  const std::size_t bytes = round % 2 == 0 ? kLarge + round : kSmall + round;
  const Piece piece{gpu.alloc(bytes), bytes, static_cast<unsigned char>(round % 251 + 1)};
  NVS_MUST(gpu->cuMemsetD8Async(piece.address, piece.value, bytes, stream));
  NVS_MUST(gpu->cuStreamSynchronize(stream));
  return piece;
}

void check_and_free(const Gpu& gpu, const Piece& piece, CUstream stream) {
  std::vector<unsigned char> host(piece.bytes);
  NVS_MUST(gpu->cuMemcpyDtoHAsync_v2(host.data(), piece.address, piece.bytes, stream));
  NVS_MUST(gpu->cuStreamSynchronize(stream));
  for (const unsigned char byte : host) {
    if (byte != piece.value) throw std::runtime_error("a piece holds something else");
  }
  NVS_MUST(gpu->cuMemFree_v2(piece.address));
}

void allocate_until(const std::atomic<bool>& stop, const Gpu& gpu) {
  gpu.make_current();
  CUstream const stream = gpu.stream();
  std::deque<Piece> pieces;
  for (std::uint64_t round = 1; !stop.load(); ++round) {
    pieces.push_back(make_piece(gpu, stream, round));
    if (pieces.size() > kKept) {
      check_and_free(gpu, pieces.front(), stream);
      pieces.pop_front();
    }
    say("piece " + std::to_string(round));
  }
  for (const Piece& piece : pieces) check_and_free(gpu, piece, stream);
}

}  // namespace

int churn(int, char**) {
  const Gpu gpu;
  std::vector<Counted> data;
  for (int i = 0; i < 3; ++i) data.emplace_back(gpu, kFloats);
  std::atomic<bool> stop{false};
  std::thread allocates([&] {
    try {
      allocate_until(stop, gpu);
    } catch (const std::exception& error) {
      say(std::string("failed: ") + error.what());
      std::_Exit(1);
    }
  });
  while (!told_to_stop()) {
    for (Counted& one : data) one.step(nullptr, 1'000'000);
    NVS_MUST(gpu->cuCtxSynchronize());
    say_at(data.front().steps());
  }
  stop.store(true);
  allocates.join();
  for (const Counted& one : data) one.check(nullptr);
  return 0;
}

}  // namespace nvs::faults
