// SPDX-License-Identifier: Apache-2.0
// What the tenants of the fault tests share: they talk to the test in lines, work until it tells
// them to stop, and can tell at the end whether any of their data was lost.
#pragma once

#include <cstdint>
#include <string>

#include "tests/cuda_sim/gpu.h"

namespace nvs::faults {

using sim_test::Gpu;

/// One line for the test, written at once.
void say(const std::string& line);

/// How often the main loop has gone round: "at N".
void say_at(std::uint64_t count);

/// Whether the test has said so, or is gone. It never blocks.
bool told_to_stop();

/// Blocks until the test says anything, or is gone. The line it said.
std::string wait_for_word();

/// A number of the command line.
unsigned number(const char* text);

/// Memory to which each step adds one. It is right if it holds the number of steps.
class Counted {
 public:
  Counted(const Gpu& gpu, std::uint64_t floats);
  /// In memory of the caller's.
  Counted(const Gpu& gpu, std::uint64_t floats, CUdeviceptr data);
  /// A step and then a kernel of so long, both without waiting.
  void step(CUstream stream, std::uint64_t ns = 0);
  std::uint64_t steps() const { return steps_; }
  CUdeviceptr address() const { return data_; }
  /// Counts a step that somebody else made.
  void note_step() { ++steps_; }
  /// Waits for all steps; throws if one was lost.
  void check(CUstream stream) const;
  void free() const;

 private:
  const Gpu& gpu_;
  std::uint64_t floats_;
  CUdeviceptr data_;
  bool is_own_ = true;
  CUdeviceptr wrong_;
  std::uint64_t steps_ = 0;
};

/// Works on a counted buffer until told to stop, `at` by `at`, and checks it.
void work_until_stopped(const Gpu& gpu, Counted& data);

// The programs, one in each file.
int worker(int argc, char** argv);
int bursts(int argc, char** argv);
int holder(int argc, char** argv);
int hang(int argc, char** argv);
int forker(int argc, char** argv);
int closer(int argc, char** argv);
int meet_gpus(int argc, char** argv);
int meet_pair(int argc, char** argv);
int graphs(int argc, char** argv);
int streams(int argc, char** argv);
int copies(int argc, char** argv);
int contexts(int argc, char** argv);
int retainer(int argc, char** argv);
int stream_waits(int argc, char** argv);
int per_thread(int argc, char** argv);
int stopwatch(int argc, char** argv);
int ipc_share(int argc, char** argv);
int ipc_open(int argc, char** argv);
int ipc_share_many(int argc, char** argv);
int ipc_open_many(int argc, char** argv);
int across(int argc, char** argv);
int alone(int argc, char** argv);
int away(int argc, char** argv);
int pools(int argc, char** argv);
int kept(int argc, char** argv);
int captured(int argc, char** argv);
int queued(int argc, char** argv);
int refused(int argc, char** argv);
int pool_threads(int argc, char** argv);
int mixed(int argc, char** argv);
int churn(int argc, char** argv);
int freer(int argc, char** argv);
int leaver(int argc, char** argv);
int hog(int argc, char** argv);
int ledger(int argc, char** argv);
int views(int argc, char** argv);
int created(int argc, char** argv);
int orphan(int argc, char** argv);
int limits(int argc, char** argv);
int smi(int argc, char** argv);
int poisoned(int argc, char** argv);

}  // namespace nvs::faults
