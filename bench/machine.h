// SPDX-License-Identifier: Apache-2.0
// The machine a benchmark runs on: a real GPU, or a simulated one that exists for this run alone.
// Cases are written once, in nominal sizes and times; this class knows what the simulator makes of
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "bench/options.h"
#include "cuda_api/driver.h"

namespace nvs::bench {

// Throws Failure with the driver's name for the error unless `result` is CUDA_SUCCESS.
void check(const Driver& driver, CUresult result, const char* function);

// Calls an entry point and checks it; one that this driver does not have counts as failed.
#define NVS_CALL(driver, function, ...)                                                     \
  ::nvs::bench::check(                                                                      \
      (driver),                                                                             \
      (driver).function != nullptr ? (driver).function(__VA_ARGS__) : CUDA_ERROR_NOT_FOUND, \
      #function)

class Machine {
 public:
  // Chooses the driver and, for the simulator, sets the environment up: children inherit it.
  // `remark` tells what an automatic choice fell on.
  static Machine open(Backend backend, const SimulatorOptions& options, std::string& remark);
  // In a child process, the machine that its parent opened; `find` as for Driver::load.
  static Machine inherit(Driver::Find find = nullptr);

  const Driver& driver() const { return driver_; }
  bool simulated() const { return driver_.is_simulator(); }
  // As in the heading of a table: "NVIDIA H200" or "simulated NVIDIA H200, scale 64".
  std::string description() const;
  std::string device_name() const;

  // What to ask of the driver for so many nominal bytes (or elements).
  std::uint64_t scaled(std::uint64_t nominal) const { return nominal / scale_; }
  // The other way: what so many bytes of the driver's are on the machine that is modelled.
  double nominal_bytes(double bytes) const { return bytes * scale_; }
  // What a wall clock's seconds are on the machine that is modelled.
  double nominal_seconds(double wall_s) const { return wall_s / time_factor_; }
  // How long something that takes so many nominal seconds takes here.
  double wall_seconds(double nominal_s) const { return nominal_s * time_factor_; }

  // Lines the simulator has recorded against this run; empty if there are none or on a GPU.
  std::string violations() const;

 private:
  explicit Machine(Driver driver);

  Driver driver_;
  unsigned scale_ = 1;
  double time_factor_ = 1;
};

// Reads the simulator's lateness since construction, over all its GPUs.
class OverrunMeter {
 public:
  // What lateness is held against: the time that GPUs were busy, or, where they sleep on purpose
  // and what is measured is the whole time, the time that went by.
  enum class Against { kBusy, kElapsed };

  explicit OverrunMeter(const Machine& machine, Against against = Against::kBusy);
  // Lateness over that time; nothing on a GPU.
  std::optional<double> share() const;

 private:
  struct Totals {
    unsigned long long overrun_ns = 0;
    unsigned long long busy_ns = 0;
  };
  Totals read() const;

  const Machine& machine_;
  Against against_;
  std::int64_t start_ns_;
  Totals start_;
};

}  // namespace nvs::bench
