// SPDX-License-Identifier: Apache-2.0
// Built-in kernels that go through arrays element by element, and the one that only takes time.
#pragma once

#include "cuda_sim/kernels/typed.h"

namespace nvs::sim {

struct FillArguments {
  std::uint64_t dst;
  float value;
  std::uint64_t n;
};

/// dst[i] = value, for all i: nothing may stay poisoned behind it.
class Fill final : public Typed<FillArguments, 8, 4, 8> {
 public:
  const char* name() const override { return "nvs_fill"; }

 protected:
  double cost(const FillArguments& a, const KernelWorld& world) const override;
  std::vector<KernelTouch> memory(const FillArguments& a) const override;
  std::uint64_t compute(const FillArguments& a, std::span<const View> views) const override;
};

/// dst[i] += value
class Step final : public Typed<FillArguments, 8, 4, 8> {
 public:
  const char* name() const override { return "nvs_step"; }

 protected:
  double cost(const FillArguments& a, const KernelWorld& world) const override;
  std::vector<KernelTouch> memory(const FillArguments& a) const override;
  std::uint64_t compute(const FillArguments& a, std::span<const View> views) const override;
};

struct AddArguments {
  std::uint64_t dst;
  std::uint64_t src;
  std::uint64_t n;
};

/// dst[i] += src[i]
class Add final : public Typed<AddArguments, 8, 8, 8> {
 public:
  const char* name() const override { return "nvs_add"; }

 protected:
  double cost(const AddArguments& a, const KernelWorld& world) const override;
  std::vector<KernelTouch> memory(const AddArguments& a) const override;
  std::uint64_t compute(const AddArguments& a, std::span<const View> views) const override;
};

struct Add3Arguments {
  std::uint64_t dst;
  std::uint64_t a;
  std::uint64_t b;
  std::uint64_t n;
};

/// dst[i] = a[i] + b[i]
class Add3 final : public Typed<Add3Arguments, 8, 8, 8, 8> {
 public:
  const char* name() const override { return "nvs_add3"; }

 protected:
  double cost(const Add3Arguments& a, const KernelWorld& world) const override;
  std::vector<KernelTouch> memory(const Add3Arguments& a) const override;
  std::uint64_t compute(const Add3Arguments& a, std::span<const View> views) const override;
};

struct CheckArguments {
  std::uint64_t src;
  float initial;
  float expected;
  std::uint64_t n;
  std::uint64_t mismatches;
};

/// Adds to *mismatches how many elements are wrong: in the stripes, which kernels compute, other
/// than expected; elsewhere, where they never write, other than initial.
class Check final : public Typed<CheckArguments, 8, 4, 4, 8, 8> {
 public:
  const char* name() const override { return "nvs_check"; }

 protected:
  double cost(const CheckArguments& a, const KernelWorld& world) const override;
  std::vector<KernelTouch> memory(const CheckArguments& a) const override;
  std::uint64_t compute(const CheckArguments& a, std::span<const View> views) const override;
};

struct SpinArguments {
  std::uint64_t ns;
};

/// Takes time and nothing else.
class Spin final : public Typed<SpinArguments, 8> {
 public:
  const char* name() const override { return "nvs_spin"; }

 protected:
  double cost(const SpinArguments& a, const KernelWorld& world) const override;
  std::vector<KernelTouch> memory(const SpinArguments& a) const override;
  std::uint64_t compute(const SpinArguments& a, std::span<const View> views) const override;
};

}  // namespace nvs::sim
