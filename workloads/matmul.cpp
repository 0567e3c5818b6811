// SPDX-License-Identifier: Apache-2.0
// C = A * B for square matrices. Each row of A holds one small number and all of B another, so
// every element of C is known and exact; B changes in each iteration, so that a lost one shows.
#include <cmath>

#include "workloads/slab_buffer.h"
#include "workloads/workload.h"

namespace nvs::workloads {
namespace {

constexpr std::uint64_t kMatrices = 3;
// A slab is a group of rows. The simulator computes the first element of each of 64 groups.
constexpr std::uint32_t kRowGroups = 64;

float row_value(std::size_t group, std::uint64_t iteration) {
  return static_cast<float>(1 + (group + iteration) % 4);
}
float column_value(std::size_t, std::uint64_t iteration) {
  return static_cast<float>(1 + iteration % 7);
}
float no_product(std::size_t, std::uint64_t) { return 0; }

std::uint32_t matrix_order(std::uint64_t bytes) {
  const std::uint64_t elements = bytes / (kMatrices * sizeof(float));
  const double order = std::sqrt(static_cast<double>(elements));
  const auto groups = static_cast<std::uint32_t>(order) / kRowGroups;
  return (groups == 0 ? 1 : groups) * kRowGroups;
}

class Matmul final : public Workload {
 public:
  Matmul(const Kernels& kernels, const Shape& shape)
      : kernels_(kernels),
        rewrite_(shape.rewrite),
        n_(matrix_order(shape.bytes)),
        a_(kernels, "A", elements(), elements() / kRowGroups),
        b_(kernels, "B", elements(), elements()),
        c_(kernels, "C", elements(), elements() / kRowGroups) {
    a_.fill(row_value);
    b_.fill(column_value);
    c_.fill(no_product);
  }

  void iterate() override {
    ++iteration_;
    if (rewrite_ == Rewrite::kAll) a_.fill(row_value, iteration_);
    b_.fill(column_value, iteration_);
    kernels_.matmul(c_.address(), a_.address(), b_.address(), n_);
    for (std::size_t group = 0; group < kRowGroups; ++group) {
      c_.note_value(group, static_cast<float>(n_) * a_.value(group).now * b_.value(0).now);
    }
  }

  std::string verify() override {
    for (const SlabBuffer* buffer : {&a_, &b_}) {
      if (std::string message = buffer->verify(); !message.empty()) return message;
    }
    return kernels_.gpu().simulated() ? c_.verify_samples() : c_.verify();
  }

 private:
  std::uint64_t elements() const { return std::uint64_t{n_} * n_; }

  const Kernels& kernels_;
  Rewrite rewrite_;
  std::uint32_t n_;
  std::uint64_t iteration_ = 0;
  SlabBuffer a_;
  SlabBuffer b_;
  SlabBuffer c_;
};

}  // namespace

std::unique_ptr<Workload> make_matmul(const Kernels& kernels, const Shape& shape) {
  return std::make_unique<Matmul>(kernels, shape);
}

}  // namespace nvs::workloads
