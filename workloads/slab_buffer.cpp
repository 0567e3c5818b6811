// SPDX-License-Identifier: Apache-2.0
#include "workloads/slab_buffer.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "workloads/size.h"

namespace nvs::workloads {
namespace {

constexpr std::uint64_t kUsualSlabBytes = 64ull << 20;
// A multiple of the simulator's block of 16384 floats, and of the state of the infer workload.
constexpr std::uint64_t kSlabFloatsUnit = 65536;
constexpr std::size_t kSamples = 64;

}  // namespace

SlabBuffer::SlabBuffer(const Kernels& kernels, std::string name, std::uint64_t floats,
                       std::uint64_t slab_floats)
    : kernels_(kernels),
      name_(std::move(name)),
      floats_(floats),
      slab_floats_(slab_floats),
      memory_(kernels.gpu(), floats * sizeof(float)),
      values_((floats + slab_floats - 1) / slab_floats) {}

std::uint64_t SlabBuffer::usual_slab_floats(const Gpu& gpu) {
  const std::uint64_t floats = kUsualSlabBytes / sizeof(float) / gpu.scale();
  return std::max(floats / kSlabFloatsUnit, std::uint64_t{1}) * kSlabFloatsUnit;
}

CUdeviceptr SlabBuffer::slab_address(std::size_t slab) const {
  return address() + slab * slab_floats_ * sizeof(float);
}

std::uint64_t SlabBuffer::slab_floats(std::size_t slab) const {
  return std::min(slab_floats_, floats_ - slab * slab_floats_);
}

void SlabBuffer::fill(ValueOfSlab value_of_slab, std::uint64_t variant) {
  for (std::size_t slab = 0; slab < slabs(); ++slab) {
    const float value = value_of_slab(slab, variant);
    kernels_.fill(slab_address(slab), value, slab_floats(slab));
    values_[slab] = {.initial = value, .now = value};
  }
}

void SlabBuffer::step(float delta) {
  kernels_.step(address(), delta, floats_);
  note_step(delta);
}

void SlabBuffer::add3(const SlabBuffer& a, const SlabBuffer& b) {
  kernels_.add3(address(), a.address(), b.address(), floats_);
  note_add3(a, b);
}

void SlabBuffer::note_step(float delta) {
  for (SlabValue& value : values_) value.now += delta;
}

void SlabBuffer::note_add3(const SlabBuffer& a, const SlabBuffer& b) {
  for (std::size_t slab = 0; slab < slabs(); ++slab) {
    values_[slab].now = a.values_[slab].now + b.values_[slab].now;
  }
}

void SlabBuffer::note_copy(const SlabBuffer& from) { values_ = from.values_; }

std::string SlabBuffer::verify() const {
  const std::string message = verify_all();
  return message.empty() ? verify_samples() : message;
}

std::string SlabBuffer::verify_all() const {
  const Gpu& gpu = kernels_.gpu();
  std::vector<std::uint64_t> wrong(slabs());
  const std::uint64_t bytes = wrong.size() * sizeof(wrong[0]);
  const DeviceMemory counters(gpu, bytes);
  NVS_CU(gpu, cuMemsetD8Async, counters.address(), static_cast<unsigned char>(0), bytes,
         gpu.stream());
  for (std::size_t slab = 0; slab < slabs(); ++slab) {
    const SlabValue& value = values_[slab];
    kernels_.check(slab_address(slab), value.initial, value.now, slab_floats(slab),
                   counters.address() + slab * sizeof(wrong[0]));
  }
  gpu.synchronize();
  NVS_CU(gpu, cuMemcpyDtoH_v2, static_cast<void*>(wrong.data()), counters.address(), bytes);
  const auto first =
      std::find_if(wrong.begin(), wrong.end(), [](auto count) { return count != 0; });
  if (first == wrong.end()) return "";
  const auto slab = static_cast<std::size_t>(first - wrong.begin());
  return fmt::format(
      "{} of {} values of {} are wrong; the first in the {} at offset {}, which should hold {}",
      std::accumulate(wrong.begin(), wrong.end(), std::uint64_t{0}), floats_, name_,
      format_size(slab_floats(slab) * sizeof(float)),
      format_size(slab * slab_floats_ * sizeof(float)), values_[slab].now);
}

std::string SlabBuffer::verify_samples() const {
  const Gpu& gpu = kernels_.gpu();
  gpu.synchronize();
  const std::size_t samples = std::min(kSamples, slabs());
  for (std::size_t sample = 0; sample < samples; ++sample) {
    const std::size_t slab = sample * slabs() / samples;
    float seen = 0;
    NVS_CU(gpu, cuMemcpyDtoH_v2, static_cast<void*>(&seen), slab_address(slab), sizeof(seen));
    if (seen == values_[slab].now) continue;
    return fmt::format("{} holds {} at offset {}, where it should hold {}", name_, seen,
                       format_size(slab * slab_floats_ * sizeof(float)), values_[slab].now);
  }
  return "";
}

}  // namespace nvs::workloads
