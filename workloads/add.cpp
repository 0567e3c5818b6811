// SPDX-License-Identifier: Apache-2.0
// z = x + y over three large arrays, then x and z change places: what a training loop's optimiser
// step looks like to the memory system. An iteration that is lost or runs twice shows in the
// result.
#include <utility>

#include "workloads/slab_buffer.h"
#include "workloads/workload.h"

namespace nvs::workloads {
namespace {

constexpr std::uint64_t kUnitFloats = 16384;

float start_value(std::size_t slab, std::uint64_t) { return static_cast<float>(slab % 5); }
float addend(std::size_t slab, std::uint64_t) { return static_cast<float>(1 + slab % 7); }

class Add final : public Workload {
 public:
  Add(const Kernels& kernels, const Shape& shape)
      : rewrite_(shape.rewrite),
        x_(kernels, "x", floats_in(shape.bytes / 3, kUnitFloats),
           SlabBuffer::usual_slab_floats(kernels.gpu())),
        y_(kernels, "y", x_.floats(), SlabBuffer::usual_slab_floats(kernels.gpu())),
        z_(kernels, "z", x_.floats(), SlabBuffer::usual_slab_floats(kernels.gpu())) {
    x_.fill(start_value);
    y_.fill(addend);
    z_.fill(start_value);
  }

  void iterate() override {
    output_->add3(*input_, y_);
    if (rewrite_ == Rewrite::kAll) {
      // Up and down in turns, so that values stay small and sums exact.
      delta_ = -delta_;
      input_->step(delta_);
      y_.step(delta_);
    }
    std::swap(input_, output_);
  }

  std::string verify() override {
    for (const SlabBuffer* buffer : {&x_, &y_, &z_}) {
      if (std::string message = buffer->verify(); !message.empty()) return message;
    }
    return "";
  }

 private:
  Rewrite rewrite_;
  float delta_ = -1;
  SlabBuffer x_;
  SlabBuffer y_;
  SlabBuffer z_;
  SlabBuffer* input_ = &x_;
  SlabBuffer* output_ = &z_;
};

}  // namespace

std::unique_ptr<Workload> make_add(const Kernels& kernels, const Shape& shape) {
  return std::make_unique<Add>(kernels, shape);
}

}  // namespace nvs::workloads
