// SPDX-License-Identifier: Apache-2.0
// A large array on the GPU whose every value is known to the host. It consists of slabs that each
// hold one value, other than their neighbours', so that lost, stale and exchanged pieces are all
// found; the host repeats each operation on one number a slab, in the same float arithmetic, and so
// knows the exact result without a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "workloads/gpu.h"
#include "workloads/kernels.h"

namespace nvs::workloads {

struct SlabValue {
  float initial =
      0;  // what the last fill wrote; the simulator's kernels leave it in what they skip
  float now = 0;
};

class SlabBuffer {
 public:
  // Slabs of `slab_floats`, the last one shorter if need be.
  SlabBuffer(const Kernels& kernels, std::string name, std::uint64_t floats,
             std::uint64_t slab_floats);

  // The slab size for an array of this GPU: 64 MiB, less where its memory is scaled down. A
  // multiple of what the simulator's kernels take as one block, so that an operation on a slab and
  // one on the whole array agree about which elements they skip.
  static std::uint64_t usual_slab_floats(const Gpu& gpu);

  const std::string& name() const { return name_; }
  CUdeviceptr address() const { return memory_.address(); }
  std::uint64_t floats() const { return floats_; }
  std::size_t slabs() const { return values_.size(); }
  const SlabValue& value(std::size_t slab) const { return values_[slab]; }
  CUdeviceptr slab_address(std::size_t slab) const;
  std::uint64_t slab_floats(std::size_t slab) const;

  // These queue work; the host's knowledge is up to date at once.
  using ValueOfSlab = float (*)(std::size_t slab, std::uint64_t variant);
  void fill(ValueOfSlab value_of_slab, std::uint64_t variant = 0);
  void step(float delta);
  void add3(const SlabBuffer& a, const SlabBuffer& b);

  // These update the host's knowledge alone, for operations that were queued by other means.
  void note_step(float delta);
  void note_add3(const SlabBuffer& a, const SlabBuffer& b);
  void note_copy(const SlabBuffer& from);
  void note_value(std::size_t slab, float now) { values_[slab].now = now; }

  // Waits, compares every element on the GPU and the first one of many slabs on the host. Empty, or
  // a sentence about the first difference.
  std::string verify() const;
  // The host's part of it alone.
  std::string verify_samples() const;

 private:
  std::string verify_all() const;

  const Kernels& kernels_;
  std::string name_;
  std::uint64_t floats_;
  std::uint64_t slab_floats_;
  DeviceMemory memory_;
  std::vector<SlabValue> values_;
};

}  // namespace nvs::workloads
