// SPDX-License-Identifier: Apache-2.0
// What the parts of the case `driver` share (each part is a file of its own): how much they move
// and how often, and how their rows get a figure of FACTS.md beside them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/case.h"
#include "bench/gpu.h"
#include "bench/progress.h"
#include "bench/row.h"

namespace nvs::bench::driver_case {

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

struct Part {
  const Bench& bench;
  const Gpu& gpu;
  Progress& progress;
  int repetitions;
  std::uint64_t bytes;     // nominal, of one copy or swap
  const HostBuffer& host;  // of that size; making one takes seconds on a GPU

  const Machine& machine() const { return bench.machine; }
  const Driver& driver() const { return bench.machine.driver(); }
  std::uint64_t scaled_bytes() const { return bench.machine.scaled(bytes); }
};

// How far a figure may be from FACTS.md (0.05: 5 %): on the simulator, which is built from it, and
// on a GPU.
struct Tolerance {
  double simulator;
  double gpu;
};

// Adds rows that were measured together. They are compared with FACTS.md only on the card that it
// tells of.
class Section {
 public:
  Section(const Part& part, std::string title);

  // Call before `add`: the simulator's lateness in what follows.
  void set_overrun(std::optional<double> overrun) { overrun_ = overrun; }
  void add(const std::string& what, const std::vector<double>& values, const std::string& unit,
           std::optional<double> facts = std::nullopt,
           std::optional<Tolerance> tolerance = std::nullopt) const;

 private:
  const Part& part_;
  std::string title_;
  bool known_card_;
  std::optional<double> overrun_;
};

// The parts, and how many steps of progress they are in all.
void measure_copies(const Part& part);
void measure_vmm(const Part& part);
void measure_calls(const Part& part);
void measure_sharing(const Part& part);
constexpr int slicing_rounds(bool quick) { return quick ? 1 : 3; }
constexpr int steps(bool quick) { return 8 + 6 * slicing_rounds(quick); }

}  // namespace nvs::bench::driver_case
