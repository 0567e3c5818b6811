// SPDX-License-Identifier: Apache-2.0
// What serving a model looks like to the GPU: each iteration (a token) reads all weights, which
// never change, adds to a small state, and hands a part of it back to the host; after a while a new
// request starts from zero.
#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "workloads/slab_buffer.h"
#include "workloads/workload.h"

namespace nvs::workloads {
namespace {

constexpr std::uint64_t kStateFloats = 65536;
// What the host reads after each token: the first floats of the state, which the simulator computes
// too.
constexpr std::size_t kOutputFloats = 256;
constexpr std::uint64_t kTokensMax = 64;
// Above this, a float can no longer count in ones.
constexpr double kExactMax = 1 << 24;

float weight(std::size_t slab, std::uint64_t) { return static_cast<float>(1 + slab % 3); }
float nothing(std::size_t, std::uint64_t) { return 0; }

class Infer final : public Workload {
 public:
  Infer(const Kernels& kernels, const Shape& shape)
      : kernels_(kernels),
        rewrite_(shape.rewrite),
        weights_(kernels, "weights", floats_in(shape.bytes, kStateFloats),
                 SlabBuffer::usual_slab_floats(kernels.gpu())),
        state_(kernels, "state", kStateFloats, kStateFloats),
        output_(kernels.gpu(), kOutputFloats * sizeof(float)) {
    weights_.fill(weight);
    state_.fill(nothing);
    // One more than the weights' sum, for the iterations in which they are all one larger.
    const std::uint64_t weights_of_element = weights_.floats() / kStateFloats;
    const double most = token_sum() + static_cast<double>(weights_of_element);
    tokens_of_request_ = static_cast<std::uint64_t>(
        std::clamp(kExactMax / most, 1.0, static_cast<double>(kTokensMax)));
  }

  void iterate() override {
    check_output();
    if (tokens_ == tokens_of_request_) {
      state_.fill(nothing);
      tokens_ = 0;
    }
    if (rewrite_ == Rewrite::kAll) {
      delta_ = -delta_;
      weights_.step(delta_);
    }
    kernels_.infer(weights_.address(), state_.address(), weights_.floats(), kStateFloats);
    state_.note_step(static_cast<float>(token_sum()));
    ++tokens_;
    NVS_CU(kernels_.gpu(), cuMemcpyDtoHAsync_v2, output_.address(), state_.address(),
           kOutputFloats * sizeof(float), kernels_.gpu().stream());
  }

  std::string verify() override {
    kernels_.gpu().synchronize();
    check_output();
    if (!wrong_output_.empty()) return wrong_output_;
    const std::string message = state_.verify();
    return message.empty() ? weights_.verify() : message;
  }

 private:
  // What one token adds to each element of the state. The sum is over whole numbers, and slabs are
  // multiples of the state, so each element gets the same.
  double token_sum() const {
    double sum = 0;
    for (std::size_t slab = 0; slab < weights_.slabs(); ++slab) {
      const std::uint64_t weights_of_element = weights_.slab_floats(slab) / kStateFloats;
      sum +=
          static_cast<double>(weights_of_element) * static_cast<double>(weights_.value(slab).now);
    }
    return sum;
  }

  // Looks at the output of the last token, for which the program has waited by now.
  void check_output() {
    if (tokens_ == 0 || !wrong_output_.empty()) return;
    const std::span output(static_cast<const float*>(output_.address()), kOutputFloats);
    const float expected = state_.value(0).now;
    const auto wrong =
        std::find_if(output.begin(), output.end(), [&](float value) { return value != expected; });
    if (wrong == output.end()) return;
    wrong_output_ = fmt::format("token {} of a request put out {} where it should be {}", tokens_,
                                *wrong, expected);
  }

  const Kernels& kernels_;
  Rewrite rewrite_;
  float delta_ = -1;
  SlabBuffer weights_;
  SlabBuffer state_;
  PinnedMemory output_;
  std::uint64_t tokens_of_request_ = 1;
  std::uint64_t tokens_ = 0;
  std::string wrong_output_;
};

}  // namespace

std::unique_ptr<Workload> make_infer(const Kernels& kernels, const Shape& shape) {
  return std::make_unique<Infer>(kernels, shape);
}

}  // namespace nvs::workloads
