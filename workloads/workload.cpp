// SPDX-License-Identifier: Apache-2.0
#include "workloads/workload.h"

#include <algorithm>
#include <array>

namespace nvs::workloads {
namespace {

constexpr std::uint64_t kMiB = 1ull << 20;
constexpr std::uint64_t kGiB = 1ull << 30;

constexpr std::array kWorkloads = {
    WorkloadKind{.name = "add",
                 .summary = "adds large arrays; keeps the GPU's memory busy all the time",
                 .bytes = 12 * kGiB,
                 .sync_every = 4,
                 .small_gpu = {.iterations = 350, .sleep_seconds = 0},
                 .large_gpu = {.iterations = 4000, .sleep_seconds = 0},
                 .create = make_add},
    WorkloadKind{.name = "add-small",
                 .summary = "the same with less memory",
                 .bytes = 4 * kGiB,
                 .sync_every = 8,
                 .small_gpu = {.iterations = 1000, .sleep_seconds = 0},
                 .large_gpu = {.iterations = 12000, .sleep_seconds = 0},
                 .create = make_add},
    WorkloadKind{.name = "add-idle",
                 .summary = "the same, but computes a tenth of the time and sleeps the rest",
                 .bytes = 4 * kGiB,
                 .sync_every = 4,
                 .small_gpu = {.iterations = 100, .sleep_seconds = 0.5},
                 .large_gpu = {.iterations = 1200, .sleep_seconds = 0.042},
                 .create = make_add},
    WorkloadKind{.name = "matmul",
                 .summary = "multiplies square matrices; little memory, long kernels",
                 .bytes = 768 * kMiB,
                 .sync_every = 2,
                 .small_gpu = {.iterations = 35, .sleep_seconds = 0},
                 .large_gpu = {.iterations = 250, .sleep_seconds = 0},
                 .create = make_matmul},
    WorkloadKind{.name = "infer",
                 .summary = "reads large weights, updates a small state and reads it back",
                 .bytes = 8 * kGiB,
                 .sync_every = 1,
                 .small_gpu = {.iterations = 500, .sleep_seconds = 0},
                 .large_gpu = {.iterations = 7000, .sleep_seconds = 0},
                 .create = make_infer},
    WorkloadKind{.name = "graph",
                 .summary = "replays a captured graph of short kernels and copies",
                 .bytes = 1 * kGiB,
                 .sync_every = 16,
                 .small_gpu = {.iterations = 2500, .sleep_seconds = 0},
                 .large_gpu = {.iterations = 30000, .sleep_seconds = 0},
                 .create = make_graph},
};

}  // namespace

std::span<const WorkloadKind> all_workloads() { return kWorkloads; }

const WorkloadKind* find_workload(std::string_view name) {
  for (const WorkloadKind& kind : kWorkloads) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

std::uint64_t floats_in(std::uint64_t bytes, std::uint64_t unit) {
  return std::max(bytes / sizeof(float) / unit, std::uint64_t{1}) * unit;
}

}  // namespace nvs::workloads
