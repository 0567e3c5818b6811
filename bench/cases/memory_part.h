// SPDX-License-Identifier: Apache-2.0
// What the cases share that fill a GPU's memory: a daemon that takes the GPU for one of 16 GiB,
// workloads of known sizes under it, and rows that know how late the simulator was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/case.h"
#include "bench/daemon_process.h"
#include "bench/memory_watch.h"
#include "bench/progress.h"
#include "bench/workload_run.h"

namespace nvs::bench {

inline constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
// Tenants that fill memory, on a simulator that copies each byte, are late at the card's own speed
// where there are two processors.
inline constexpr double kMemoryTimeFactor = 6;
// What all tenants can have together, of any GPU that has as much.
inline constexpr std::uint64_t kCapacityBytes = 16 * kGiB;
// One of these fits, two do not.
inline constexpr std::uint64_t kLargeBytes = 12 * kGiB;
// The name under which the daemon lists workloads.
inline constexpr const char* kWorkloadName = "nvshare-workload";

struct MemoryRun {
  WorkloadRun run;
  std::vector<Holding> holdings;  // while they prepared, worked and checked
};

// A part of a case. Sizes and times are nominal.
class MemoryPart {
 public:
  // Without a turn, the daemon chooses. More options are added to its command line.
  MemoryPart(const Bench& bench, Progress& progress, std::optional<double> turn_s = std::nullopt,
             const std::vector<std::string>& more = {});

  const Bench& bench() const { return bench_; }
  const Machine& machine() const { return bench_.machine; }
  const DaemonProcess& daemon() const { return daemon_; }
  void step(const std::string& what) { progress_.step(what); }
  void note(const std::string& text) { progress_.note(text); }

  // A tenant that adds, and changes all of its data in each iteration.
  WorkloadTenant adding(const std::string& label, std::uint64_t bytes, double iterations) const;
  // The same, for so long; and one that reads all of its data and never writes it.
  WorkloadTenant adding_for(const std::string& label, std::uint64_t bytes, double seconds) const;
  WorkloadTenant reading_for(const std::string& label, std::uint64_t bytes, double seconds) const;

  // Runs them together; `about_s` is how long that should take.
  MemoryRun run(const std::vector<WorkloadTenant>& tenants, double about_s,
                Ending ending = Ending::kVerified);
  // Iterations a second of one that adds, alone under the daemon.
  double rate_alone(std::uint64_t bytes, double seconds);

  // What is measured from here on belongs to this section: what was late before is forgotten.
  void begin_section(const std::string& title);
  // Rows of what was moved in a run, if the daemon tells.
  void add_moved(const MemoryRun& run, std::optional<Target> target = std::nullopt);
  void add_bytes(const std::string& what, std::vector<double> bytes,
                 std::optional<Target> target = std::nullopt);
  // What was counted, which does not depend on how late the simulator was.
  void add_count(const std::string& what, const std::vector<double>& values,
                 const std::string& unit, std::optional<Target> target = std::nullopt);
  // What was timed.
  void add(const std::string& what, const std::vector<double>& values, const std::string& unit,
           std::optional<Target> target = std::nullopt, std::optional<double> facts = std::nullopt,
           const std::string& facts_word = {});
  // In place of what was to be timed or counted, when there was nothing of it; why is noted.
  void add_unseen(const std::string& what, const std::string& unit, std::optional<Target> target,
                  const std::string& why);
  // The runner's table of tenants that ran, above the rows.
  void show(const std::vector<workloads::Tenant>& ended);

 private:
  const Bench& bench_;
  Progress& progress_;
  DaemonProcess daemon_;
  std::string section_;
  double overrun_ = 0;
};

// As an argument of nvshare-workload.
std::string size_argument(std::uint64_t bytes);

}  // namespace nvs::bench
