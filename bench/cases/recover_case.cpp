// SPDX-License-Identifier: Apache-2.0
#include "bench/cases/recover_case.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include <fmt/format.h>
#include <signal.h>

#include "bench/cases/recover_part.h"
#include "bench/wire_clients.h"
#include "wire/codec.h"

namespace nvs::bench {
namespace recover_case {
namespace {

const Target kWithinASecond = {std::nullopt, 1000};  // ms
constexpr const char* kTenantFaults =
    "Something happens to one of two tenants: the other gets nothing done for";
constexpr double kFloodMessagesPerSecond = 10'000;
constexpr double kFloodSeconds = 1;
// A busy machine is less late with kernels of this length, and it is nothing beside a second.
constexpr double kLongerKernelSeconds = 0.010;
// The kernel that a tenant saturates the GPU with, and that it has not launched before.
constexpr const char* kLoadKernel = "nvs_matmul";

double milliseconds(std::int64_t ns) { return static_cast<double>(ns) * 1e-6; }

int repetitions_for(const Bench& bench) { return bench.quick ? 1 : 5; }

// What the simulator's being late says of a row. Where a tenant is kept from the processor, so is
// the GPU that is simulated in its process.
enum class Lateness : std::uint8_t { spoils_it, is_the_fault };

// What happens to both tenants while they work; the instant at which it did.
using Fault = std::function<std::int64_t(Victim&, const Other&)>;

class Recovery {
 public:
  explicit Recovery(Sharing& sharing)
      : sharing_(sharing), other_(sharing), repetitions_(repetitions_for(sharing.bench())) {}

  void measure(const std::string& what, const Fault& fault, const Child::Environment& extra = {},
               const std::optional<Target>& target = kWithinASecond,
               Lateness lateness = Lateness::spoils_it) {
    // Each fault has a section of its own with the same heading: what was late before another one
    // says nothing about this.
    sharing_.begin_section(kTenantFaults);
    std::vector<double> gaps_ms;
    for (int i = 0; i < repetitions_; ++i) {
      sharing_.step(what);
      const auto once = [&] {
        Victim victim(sharing_, extra);
        other_.work();
        wait_for_window_of(other_.pid());
        victim.work();
        return other_.longest_gap_ms(fault(victim, other_));
      };
      gaps_ms.push_back(lateness == Lateness::spoils_it ? sharing_.on_time(once) : once());
    }
    add(what, gaps_ms, target);
  }

  void measure_restart() {
    std::vector<double> gaps_ms;
    std::vector<double> gone_ms;
    std::vector<double> windows_ms;
    for (int i = 0; i < repetitions_; ++i) {
      sharing_.step("SIGKILL and restart of the daemon");
      const Restarted times = sharing_.on_time([&] { return restart(); });
      gaps_ms.push_back(times.gap_ms);
      gone_ms.push_back(times.gone_ms);
      windows_ms.push_back(times.windows_ms);
    }
    add("one of them gets nothing done for", gaps_ms, kWithinASecond);
    // Until then the system frees the memory that the daemon kept ready, and none can be started.
    add("the old daemon is gone after", gone_ms, std::nullopt);
    add("from the start of a new one, windows after", windows_ms, kWithinASecond);
  }

  // If it has none now, that window has only begun.
  void wait_for_window_of(pid_t pid) const {
    wait_until(sharing_.daemon(), "a window of a tenant",
               [&] { return has_window(sharing_.daemon(), pid); });
  }

 private:
  struct Restarted {
    double gap_ms;
    double gone_ms;
    double windows_ms;
  };
  Restarted restart() {
    Victim second(sharing_);
    other_.work();
    wait_for_window_of(other_.pid());
    second.work();
    wait_for_window_of(second.pid());
    const std::int64_t killed_ns = now_ns();
    const std::int64_t started_ns = sharing_.daemon().crash_and_restart();
    for (const pid_t pid : {second.pid(), other_.pid()}) wait_for_new_window(pid);
    const std::int64_t served_ns = now_ns();
    return {other_.longest_gap_ms(killed_ns), milliseconds(started_ns - killed_ns),
            milliseconds(served_ns - started_ns)};
  }

  // Whatever it brought along from the daemon before does not count.
  void wait_for_new_window(pid_t pid) const {
    std::optional<double> first;
    wait_until(sharing_.daemon(), "a window of the new daemon", [&] {
      const std::optional<double> now = windows_of(sharing_.daemon(), pid);
      if (!first) first = now;
      return now && *now > *first;
    });
  }

  void add(const std::string& what, const std::vector<double>& times_ms,
           const std::optional<Target>& target) {
    sharing_.add(what, times_ms, "ms", target);
    if (repetitions_ == 1) return;
    sharing_.add(fmt::format("  longest of {}", repetitions_),
                 {*std::max_element(times_ms.begin(), times_ms.end())}, "ms", target);
  }

  Sharing& sharing_;
  Other other_;
  int repetitions_;
};

// Connections that are tenants of their own on the GPU of this machine.
WireClients connect(const Sharing& sharing) {
  const Machine& machine = sharing.machine();
  CUdevice device = 0;
  CUuuid uuid{};
  NVS_CALL(machine.driver(), cuDeviceGet, &device, 0);
  NVS_CALL(machine.driver(), cuDeviceGetUuid, &uuid, device);
  WireClientsPlan plan{1, 1, 1};
  std::memcpy(plan.gpu.emplace().data(), &uuid, sizeof uuid);
  return {sharing.daemon().folder(), plan};
}

// What a client that has gone mad says in its window. An empty one: that it reads no more.
struct Madness {
  const char* what;
  std::string packet;
};
std::vector<Madness> all_madness() {
  wire::Packet<wire::Ping> ping;
  const auto bytes = [&ping](std::size_t size) {
    return std::string(reinterpret_cast<const char*>(&ping), size);
  };
  std::string half = bytes(sizeof ping / 2);
  ping.header.version = UINT16_MAX;
  return {{"a third sends garbage in its window", std::string(100, '\xA5')},
          {"a third sends half a message in its window", std::move(half)},
          {"a third speaks another version in its window", bytes(sizeof ping)},
          {"a third reads nothing any more in its window", ""}};
}

// A tenant of its own that takes a window and sends ten thousand messages a second, and is back at
// once whenever the daemon has ended it.
std::int64_t flood(const Sharing& sharing) {
  WireClients first = connect(sharing);
  first.wait_for_window();
  const std::int64_t begin_ns = now_ns();
  const std::int64_t end_ns = begin_ns + nanoseconds(kFloodSeconds);
  bool stayed = first.flood(kFloodMessagesPerSecond, end_ns);
  while (!stayed) stayed = connect(sharing).flood(kFloodMessagesPerSecond, end_ns);
  return begin_ns;
}

void measure_tenants(Sharing& sharing, Recovery& recovery) {
  const auto in_its_window = [&](int signal) {
    return [&recovery, signal](const Victim& victim, const Other&) {
      recovery.wait_for_window_of(victim.pid());
      const std::int64_t at_ns = now_ns();
      victim.send(signal);
      return at_ns;
    };
  };
  const auto killed_outside = [&](const Victim& victim, const Other& other) {
    recovery.wait_for_window_of(victim.pid());
    recovery.wait_for_window_of(other.pid());
    const std::int64_t at_ns = now_ns();
    victim.send(SIGKILL);
    return at_ns;
  };
  recovery.measure("nothing happens", in_its_window(0), {}, std::nullopt);
  recovery.measure("SIGKILL in its window", in_its_window(SIGKILL));
  recovery.measure("SIGKILL out of its window", killed_outside);
  recovery.measure("SIGSTOP in its window", in_its_window(SIGSTOP));
  const Fault stutters = [&](Victim& victim, const Other&) {
    recovery.wait_for_window_of(victim.pid());
    const std::int64_t at_ns = now_ns();
    victim.stutter();
    return at_ns;
  };
  recovery.measure("under a CPU limit of a tenth", stutters, {}, kWithinASecond,
                   Lateness::is_the_fault);
  recovery.measure("a third sends 10,000 messages a second",
                   [&](const Victim&, const Other&) { return flood(sharing); });
  for (const Madness& madness : all_madness()) {
    std::optional<WireClients> third;  // is there for as long as it is watched
    recovery.measure(madness.what, [&](const Victim&, const Other&) {
      third.emplace(connect(sharing)).wait_for_window();
      const std::int64_t at_ns = now_ns();
      if (!madness.packet.empty()) third->send_bytes(madness.packet);
      return at_ns;
    });
  }
  // A kernel that hangs may take a real card with it.
  if (!sharing.machine().simulated()) return;
  const auto stuck = [&](const Victim& victim, const Other&) {
    recovery.wait_for_window_of(victim.pid());
    return now_ns();
  };
  recovery.measure("its drain cannot complete", stuck, {{"NVSHARE_SIM_HANG_KERNEL", kLoadKernel}});
}

}  // namespace
}  // namespace recover_case

void RecoverCase::run(const Bench& bench) const {
  using namespace recover_case;
  const int faults = bench.machine.simulated() ? 12 : 11;
  Progress progress(name(), 1 + faults * repetitions_for(bench));
  Sharing sharing(bench, progress);
  sharing.step("kernels and tenants");
  sharing.add_load(Work::kMatmul, kLongerKernelSeconds);
  Recovery recovery(sharing);
  measure_tenants(sharing, recovery);
  sharing.begin_section("SIGKILL and restart of the daemon of two tenants");
  recovery.measure_restart();
}

}  // namespace nvs::bench
