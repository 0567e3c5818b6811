// SPDX-License-Identifier: Apache-2.0
// The child's half of Tenants: sets its data up, then obeys one command after the other.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <future>
#include <numeric>
#include <optional>
#include <random>
#include <string>

#include "bench/completion_watch.h"
#include "bench/failure.h"
#include "bench/stats.h"
#include "bench/tenants.h"

namespace nvs::bench {
namespace {

// Enough work is queued at any time that a tenant which the machine does not let run for a while
// keeps the GPU busy.
constexpr double kQueuedSeconds = 0.025;
constexpr double kQueuedKernelsMin = 4;
constexpr double kQueuedKernelsMax = 64;
// A sleeping thread may wake up so late; the rest of the time until an arrival is spun.
constexpr std::int64_t kSpin_ns = 100'000;

std::size_t queue_depth(const Load& load) {
  const double depth = std::ceil(kQueuedSeconds / load.kernel_s);
  return static_cast<std::size_t>(std::clamp(depth, kQueuedKernelsMin, kQueuedKernelsMax));
}

void wait_until_exactly(std::int64_t at_ns) {
  if (at_ns - now_ns() > kSpin_ns) sleep_until_ns(at_ns - kSpin_ns);
  while (now_ns() < at_ns) {
  }
}

// Sleeps of `mean_s`, give or take a half, that add up to `count * mean_s`: however long tenants
// with different seeds take, it is not for their sleeps.
std::vector<double> sleeps(int count, double mean_s, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> factor(0.5, 1.5);
  std::vector<double> result(static_cast<std::size_t>(count));
  for (double& sleep_s : result) sleep_s = factor(random);
  const double sum = std::accumulate(result.begin(), result.end(), 0.0);
  for (double& sleep_s : result) sleep_s *= mean_s * count / sum;
  return result;
}

struct Command {
  nlohmann::json object;
  std::int64_t start_ns;
  std::int64_t from_ns;
  std::int64_t to_ns;

  // A question about what was measured before has no times.
  explicit Command(const nlohmann::json& message)
      : object(message),
        start_ns(message.value("start_ns", std::int64_t{0})),
        from_ns(message.value("from_ns", std::int64_t{0})),
        to_ns(message.value("to_ns", std::int64_t{0})) {}

  template <class Value>
  Value get(const char* name) const {
    return object.at(name).get<Value>();
  }
};

class Tenant {
 public:
  Tenant(const Gpu& gpu, const std::vector<Load>& loads)
      : gpu_(gpu), stream_(gpu), tiny_data_(gpu, Gpu::kTinyCount * sizeof(float)) {
    for (const Load& load : loads) kernels_.push_back(std::make_unique<LoadedKernel>(gpu, load));
    gpu_.fill(stream_.get(), tiny_data_.address(), 0, Gpu::kTinyCount);
    gpu_.tiny(stream_.get(), tiny_data_.address());
    gpu_.synchronize();
  }

  nlohmann::json obey(const Command& command) {
    const auto action = command.get<std::string>("action");
    if (action == "saturate") return saturate(command);
    if (action == "note") return note(command);
    if (action == "copy_beside") return copy_beside(command);
    if (action == "latency") return latency(command);
    if (action == "record") return record(command);
    if (action == "recorded") return recorded(command);
    if (action == "arrivals") return arrivals(command);
    if (action == "bursts") return bursts(command);
    throw Failure("unknown action " + action);
  }

 private:
  const LoadedKernel& kernel_of(const Command& command) const {
    return *kernels_.at(command.get<std::size_t>("load"));
  }
  double nominal(std::int64_t span_ns) const {
    return gpu_.machine().nominal_seconds(static_cast<double>(span_ns) * 1e-9);
  }
  std::int64_t wall_ns(double nominal_s) const {
    return nanoseconds(gpu_.machine().wall_seconds(nominal_s));
  }
  void request() const {
    gpu_.tiny(stream_.get(), tiny_data_.address());
    gpu_.synchronize();
  }

  // Keeps the GPU busy until a kernel ends after the window. `completed` gets the instant of each
  // end, by its event, so what is still queued at the end does not count.
  template <class Completed>
  void keep_busy(const Command& command, const Completed& completed) const {
    const LoadedKernel& kernel = kernel_of(command);
    sleep_until_ns(command.start_ns);
    CompletionWatch watch(gpu_, queue_depth(kernel.load()), [&] {
      const std::int64_t now = now_ns();
      completed(now);
      return now <= command.to_ns;
    });
    while (watch.wait_for_room()) {
      kernel.launch();
      watch.record(kernel.stream());
    }
    watch.finish();
    gpu_.synchronize();
  }

  nlohmann::json saturate(const Command& command) const {
    CompletionWindow window(command.from_ns, command.to_ns);
    keep_busy(command, [&window](std::int64_t at_ns) { window.completed(at_ns); });
    return {{"rate", window.rate()}, {"count", window.count()}};
  }

  nlohmann::json copy_beside(const Command& command) const {
    CompletionWindow window(command.from_ns, command.to_ns);
    CompletionWindow copies(command.from_ns, command.to_ns);
    std::future<void> copier =
        std::async(std::launch::async, [&] { keep_copying(command, copies); });
    keep_busy(command, [&window](std::int64_t at_ns) { window.completed(at_ns); });
    copier.get();
    return {{"rate", window.rate()}, {"copies", copies.rate()}};
  }

  // On a thread of its own.
  void keep_copying(const Command& command, CompletionWindow& copies) const {
    constexpr int kTogether = 8;
    const Gpu gpu(gpu_.machine());
    const Stream stream(gpu);
    const std::uint64_t bytes = gpu.machine().scaled(std::uint64_t{4} << 20U);
    const DeviceBuffer to(gpu, bytes);
    const HostBuffer from(gpu, bytes);
    sleep_until_ns(command.start_ns);
    while (now_ns() <= command.to_ns) {
      for (int i = 0; i < kTogether; ++i) {
        NVS_CALL(gpu.driver(), cuMemcpyHtoDAsync_v2, to.address(), from.data(), bytes,
                 stream.get());
      }
      stream.synchronize();
      for (int i = 0; i < kTogether; ++i) copies.completed(now_ns());
    }
  }

  nlohmann::json note(const Command& command) const {
    nlohmann::json ends_ns = nlohmann::json::array();
    keep_busy(command, [&](std::int64_t at_ns) {
      if (at_ns >= command.from_ns && at_ns <= command.to_ns) ends_ns.push_back(at_ns);
    });
    return {{"ends_ns", ends_ns}};
  }

  nlohmann::json latency(const Command& command) const {
    std::vector<double> samples_s;
    sleep_until_ns(command.start_ns);
    // One that was held up for the whole window has something to tell all the same.
    while (samples_s.empty() || now_ns() < command.to_ns) {
      const std::int64_t before = now_ns();
      request();
      if (before >= command.from_ns) samples_s.push_back(nominal(now_ns() - before));
    }
    return {{"p50_s", percentile(samples_s, 0.5)}, {"p99_s", percentile(samples_s, 0.99)}};
  }

  nlohmann::json record(const Command& command) {
    requests_.clear();
    sleep_until_ns(command.start_ns);
    while (now_ns() < command.to_ns) {
      const std::int64_t before = now_ns();
      request();
      requests_.push_back({before, now_ns()});
    }
    return {{"count", requests_.size()}};
  }

  nlohmann::json recorded(const Command& command) const {
    std::vector<double> samples_s;
    for (const nlohmann::json& span : command.object.at("spans")) {
      const auto from_ns = span.at(0).get<std::int64_t>();
      const auto to_ns = span.at(1).get<std::int64_t>();
      for (const Span& one : requests_) {
        if (one.from_ns >= from_ns && one.to_ns <= to_ns) {
          samples_s.push_back(nominal(one.to_ns - one.from_ns));
        }
      }
    }
    if (samples_s.empty()) return {{"count", 0}};
    return {{"count", samples_s.size()},
            {"p50_s", percentile(samples_s, 0.5)},
            {"p99_s", percentile(samples_s, 0.99)},
            {"longest_s", percentile(samples_s, 1)}};
  }

  // A request that is still being served when the next one arrives delays it, and that counts.
  nlohmann::json arrivals(const Command& command) const {
    std::mt19937_64 random(command.get<std::uint64_t>("seed"));
    std::exponential_distribution<double> gap_s(command.get<double>("rate"));
    nlohmann::json samples_s = nlohmann::json::array();
    nlohmann::json arrivals_s = nlohmann::json::array();
    std::int64_t arrival = command.start_ns + wall_ns(gap_s(random));
    for (; arrival < command.to_ns; arrival += wall_ns(gap_s(random))) {
      wait_until_exactly(arrival);
      request();
      if (arrival < command.from_ns) continue;
      samples_s.push_back(nominal(now_ns() - arrival));
      arrivals_s.push_back(nominal(arrival - command.from_ns));
    }
    return {{"samples_s", samples_s}, {"arrivals_s", arrivals_s}};
  }

  nlohmann::json bursts(const Command& command) const {
    const LoadedKernel& kernel = kernel_of(command);
    const std::vector<double> pauses =
        sleeps(command.get<int>("bursts"), command.get<double>("sleep_s"),
               command.get<std::uint64_t>("seed"));
    const auto kernels = command.get<int>("kernels");
    sleep_until_ns(command.start_ns);
    const std::int64_t begin = now_ns();
    nlohmann::json bursts_s = nlohmann::json::array();
    nlohmann::json begins_s = nlohmann::json::array();
    for (const double pause_s : pauses) {
      const std::int64_t awake = now_ns();
      kernel.launch();
      begins_s.push_back(nominal(now_ns() - awake));
      for (int i = 1; i < kernels; ++i) kernel.launch();
      gpu_.synchronize();
      const std::int64_t done = now_ns();
      bursts_s.push_back(nominal(done - awake));
      sleep_until_ns(done + wall_ns(pause_s));
    }
    return {{"seconds", nominal(now_ns() - begin)}, {"bursts_s", bursts_s}, {"begins_s", begins_s}};
  }

  const Gpu& gpu_;
  Stream stream_;
  DeviceBuffer tiny_data_;
  std::vector<std::unique_ptr<LoadedKernel>> kernels_;
  std::vector<Span> requests_;
};

}  // namespace

void run_tenant(ParentLink& parent, const nlohmann::json& config) {
  const Machine machine = Machine::inherit();
  const Gpu gpu(machine);
  std::vector<Load> loads;
  for (const nlohmann::json& load : config.at("loads")) loads.push_back(Load::from_json(load));
  Tenant tenant(gpu, loads);
  parent.send({{"ready", true}});
  while (const std::optional<nlohmann::json> message = parent.next()) {
    parent.send(tenant.obey(Command(*message)));
  }
}

}  // namespace nvs::bench
