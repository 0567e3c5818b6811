// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/kernels/hash.h"

#include <algorithm>

namespace nvs::sim {
namespace {

constexpr std::uint64_t kOutBytes = 24;
constexpr std::uint64_t kWordBytes = 16;

std::uint64_t bytes_of(const HashArguments& a) { return a.words * kWordBytes; }

// Any function of the content will do, and a fast one lets the machine keep modelled time: four
// lanes of 64 bits over blocks of 32 bytes, whatever pieces the memory is in.
class Lanes {
 public:
  void add(const std::byte* bytes, std::uint64_t count) {
    while (count > 0) {
      if (held_ == 0 && count >= sizeof block_) {
        const std::uint64_t whole = count / sizeof block_ * sizeof block_;
        for (std::uint64_t at = 0; at < whole; at += sizeof block_) {
          std::memcpy(block_, bytes + at, sizeof block_);
          add_block();
        }
        bytes += whole;
        count -= whole;
        continue;
      }
      const std::uint64_t run = std::min<std::uint64_t>(count, sizeof block_ - held_);
      std::memcpy(reinterpret_cast<std::byte*>(block_) + held_, bytes, run);
      bytes += run;
      count -= run;
      held_ = (held_ + run) % sizeof block_;
      if (held_ == 0) add_block();
    }
  }

  // As they stand in memory behind `out`. Each half knows all lanes.
  void finish(std::uint64_t out[3]) {
    if (held_ != 0) {
      std::memset(reinterpret_cast<std::byte*>(block_) + held_, 0, sizeof block_ - held_);
      add_block();
    }
    for (const std::uint64_t lane : lanes_) {
      out[0] = mixed(out[0] ^ lane, kFirst);
      out[1] = mixed(out[1] + lane, kSecond);
    }
    if (any_ != 0) out[2] = 1;
  }

 private:
  static constexpr std::uint64_t kFirst = 0x9e3779b97f4a7c15;
  static constexpr std::uint64_t kSecond = 0xbf58476d1ce4e5b9;

  static std::uint64_t mixed(std::uint64_t value, std::uint64_t by) {
    value *= by;
    return value ^ (value >> 32U);
  }
  void add_block() {
    for (int i = 0; i < 4; ++i) {
      any_ |= block_[i];
      lanes_[i] = mixed(lanes_[i] ^ block_[i], kFirst);
    }
  }

  std::uint64_t lanes_[4] = {1, 2, 3, 4};
  std::uint64_t block_[4] = {};
  std::uint64_t held_ = 0;  // bytes of it
  std::uint64_t any_ = 0;
};

}  // namespace

double Hash::cost(const HashArguments& a, const KernelWorld& world) const {
  return reading_ns(bytes_of(a), world);
}

std::vector<KernelTouch> Hash::memory(const HashArguments& a) const {
  return {{a.data, bytes_of(a), Access::read}, {a.out, kOutBytes, Access::read_write}};
}

std::uint64_t Hash::compute(const HashArguments& a, std::span<const View> views) const {
  Lanes lanes;
  views[0].for_each(0, bytes_of(a),
                    [&](const std::byte* host, std::uint64_t bytes) { lanes.add(host, bytes); });
  std::uint64_t out[3] = {};
  std::uint64_t at = 0;
  const auto each = [&](auto use) {
    at = 0;
    views[1].for_each(0, kOutBytes, [&](std::byte* host, std::uint64_t bytes) {
      use(host, reinterpret_cast<std::byte*>(out) + at, bytes);
      at += bytes;
    });
  };
  each([](std::byte* host, std::byte* mine, std::uint64_t n) { std::memcpy(mine, host, n); });
  lanes.finish(out);
  each([](std::byte* host, std::byte* mine, std::uint64_t n) { std::memcpy(host, mine, n); });
  return 0;
}

}  // namespace nvs::sim
