// SPDX-License-Identifier: Apache-2.0
// What the program knows of a workload. Each is one small file that allocates its data when it is
// made, queues one iteration at a time, and can say whether its data is still what it should be;
// all else is common.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "workloads/kernels.h"

namespace nvs::workloads {

enum class Rewrite {
  kAsNeeded,  // inputs stay as they are
  kAll,       // every iteration changes all data, so that nothing is ever clean
};

struct Shape {
  std::uint64_t bytes = 0;  // on this GPU: already scaled down on the simulator
  Rewrite rewrite = Rewrite::kAsNeeded;
};

class Workload {
 public:
  virtual ~Workload() = default;
  // Queues one iteration and does not wait for it.
  virtual void iterate() = 0;
  // Waits and checks all data. Empty, or a sentence about what is wrong.
  virtual std::string verify() = 0;
};

// What differs between GPUs as unlike as a T4 and an H200.
struct Pace {
  std::uint64_t iterations;  // some 15 s of work with the GPU to itself
  double sleep_seconds;      // after each wait for the GPU, at the workload's own size
};

struct WorkloadKind {
  const char* name;
  const char* summary;
  std::uint64_t bytes;  // nominal, unless --size says otherwise
  unsigned sync_every;  // the program waits for the GPU after so many iterations
  Pace small_gpu;
  Pace large_gpu;
  std::unique_ptr<Workload> (*create)(const Kernels& kernels, const Shape& shape);
};

std::span<const WorkloadKind> all_workloads();
// Null for a name that is not there.
const WorkloadKind* find_workload(std::string_view name);

std::unique_ptr<Workload> make_add(const Kernels& kernels, const Shape& shape);
std::unique_ptr<Workload> make_matmul(const Kernels& kernels, const Shape& shape);
std::unique_ptr<Workload> make_infer(const Kernels& kernels, const Shape& shape);
std::unique_ptr<Workload> make_graph(const Kernels& kernels, const Shape& shape);

// The largest array of floats that takes `bytes` at most, a multiple of `unit` floats and at least
// one unit.
std::uint64_t floats_in(std::uint64_t bytes, std::uint64_t unit);

}  // namespace nvs::workloads
