// SPDX-License-Identifier: Apache-2.0
// Tenants with one thread: one that always has work, one that mostly has none, one with much
// memory, one whose kernel hangs, and one that reads the machine's books.
#include <chrono>
#include <thread>
#include <vector>

#include "tests/faults/programs/kit.h"

namespace nvs::faults {

constexpr std::uint64_t kFloats = 16'384;
constexpr std::uint64_t kHolderNs = 1'000'000;
constexpr unsigned kBetweenBurstsMs = 2;

// worker [GPU]
int worker(int argc, char** argv) {
  const Gpu gpu(argc > 0 ? static_cast<int>(number(argv[0])) : 0);
  Counted data(gpu, kFloats);
  say("ready");
  work_until_stopped(gpu, data);
  return 0;
}

// bursts MIB [PAUSE_MS]: a short kernel at a time, like a server that handles a request and waits
// for the next.
int bursts(int argc, char** argv) {
  if (argc < 1) return 2;
  const Gpu gpu;
  Counted data(gpu, (std::uint64_t{number(argv[0])} << 20U) / sizeof(float));
  const std::chrono::milliseconds pause(argc > 1 ? number(argv[1]) : kBetweenBurstsMs);
  say("ready");
  for (std::uint64_t round = 0; !told_to_stop(); ++round) {
    data.step(nullptr);
    NVS_MUST(gpu->cuCtxSynchronize());
    say_at(round);
    std::this_thread::sleep_for(pause);
  }
  data.check(nullptr);
  return 0;
}

// holder MIB COUNT: so many buffers of that size, in all of which something changes in turn.
int holder(int argc, char** argv) {
  if (argc < 2) return 2;
  const Gpu gpu;
  std::vector<Counted> all;
  const std::uint64_t floats = (std::uint64_t{number(argv[0])} << 20U) / sizeof(float);
  for (unsigned i = 0; i < number(argv[1]); ++i) all.emplace_back(gpu, floats);
  say("ready");
  for (std::uint64_t round = 0; !told_to_stop(); ++round) {
    all[round % all.size()].step(nullptr, kHolderNs);
    NVS_MUST(gpu->cuCtxSynchronize());
    say_at(round);
  }
  for (const Counted& data : all) data.check(nullptr);
  return 0;
}

// Works a little, launches the kernel that NVSHARE_SIM_HANG_KERNEL names, and has it hang until the
// test says a word. Then it works on like others.
int hang(int, char**) {
  const Gpu gpu;
  Counted data(gpu, kFloats);
  for (int i = 0; i < 16; ++i) data.step(nullptr);
  NVS_MUST(gpu->cuCtxSynchronize());
  NVS_MUST(gpu.spin(1000));
  data.step(nullptr);  // behind it: it cannot run before the test's word
  say("hangs");
  wait_for_word();
  gpu.sim().cusimReleaseHang();
  NVS_MUST(gpu->cuCtxSynchronize());
  say("released");
  work_until_stopped(gpu, data);
  return 0;
}

// ledger GPU: what the machine holds for all its processes.
int ledger(int argc, char** argv) {
  const Driver& driver = sim_test::initialised_driver();
  unsigned long long bytes = 0;
  unsigned processes = 0;
  unsigned contexts = 0;
  const int gpu = argc > 0 ? static_cast<int>(number(argv[0])) : 0;
  if (driver.sim()->cusimLedger(gpu, &bytes, &processes, &contexts) != 0) return 1;
  say("ledger " + std::to_string(bytes) + " " + std::to_string(contexts) + " " +
      std::to_string(driver.sim()->cusimViolationCount()));
  if (driver.sim()->cusimViolationCount() != 0) say(sim_test::violation_text(driver));
  return 0;
}

}  // namespace nvs::faults
