// SPDX-License-Identifier: Apache-2.0
// The child's half of Tenants: sets its data up, then obeys one command after the other.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

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

std::size_t queue_depth(const Load& load) {
  const double depth = std::ceil(kQueuedSeconds / load.kernel_s);
  return static_cast<std::size_t>(std::clamp(depth, kQueuedKernelsMin, kQueuedKernelsMax));
}

struct Command {
  std::string action;
  std::size_t load;
  std::int64_t start_ns;
  std::int64_t from_ns;
  std::int64_t to_ns;

  explicit Command(const nlohmann::json& object)
      : action(object.at("action").get<std::string>()),
        load(object.at("load").get<std::size_t>()),
        start_ns(object.at("start_ns").get<std::int64_t>()),
        from_ns(object.at("from_ns").get<std::int64_t>()),
        to_ns(object.at("to_ns").get<std::int64_t>()) {}
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

  nlohmann::json obey(const Command& command) const {
    if (command.action == "saturate") return saturate(command);
    if (command.action == "latency") return latency(command);
    throw Failure("unknown action " + command.action);
  }

 private:
  // Completed kernels are counted by their events, so what is still queued at the end does not
  // count.
  nlohmann::json saturate(const Command& command) const {
    const LoadedKernel& kernel = *kernels_.at(command.load);
    std::vector<Event> events;
    for (std::size_t i = queue_depth(kernel.load()); i > 0; --i) events.emplace_back(gpu_);
    CompletionWindow window(command.from_ns, command.to_ns);
    sleep_until_ns(command.start_ns);
    for (std::size_t launched = 0;; ++launched) {
      const Event& event = events[launched % events.size()];
      if (launched >= events.size()) {
        event.synchronize();
        const std::int64_t now = now_ns();
        window.completed(now);
        if (window.over(now)) break;
      }
      kernel.launch();
      event.record(kernel.stream());
    }
    gpu_.synchronize();
    return {{"rate", window.rate()}};
  }

  nlohmann::json latency(const Command& command) const {
    std::vector<double> samples_s;
    sleep_until_ns(command.start_ns);
    for (std::int64_t before = now_ns(); before < command.to_ns; before = now_ns()) {
      gpu_.tiny(stream_.get(), tiny_data_.address());
      gpu_.synchronize();
      if (before < command.from_ns) continue;
      samples_s.push_back(static_cast<double>(now_ns() - before) * 1e-9);
    }
    return {{"p50_s", percentile(samples_s, 0.5)}, {"p99_s", percentile(samples_s, 0.99)}};
  }

  const Gpu& gpu_;
  Stream stream_;
  DeviceBuffer tiny_data_;
  std::vector<std::unique_ptr<LoadedKernel>> kernels_;
};

}  // namespace

void run_tenant(ParentLink& parent, const nlohmann::json& config) {
  const Machine machine = Machine::inherit();
  const Gpu gpu(machine);
  std::vector<Load> loads;
  for (const nlohmann::json& load : config.at("loads")) loads.push_back(Load::from_json(load));
  const Tenant tenant(gpu, loads);
  parent.send({{"ready", true}});
  while (const std::optional<nlohmann::json> message = parent.next()) {
    parent.send(tenant.obey(Command(*message)));
  }
}

}  // namespace nvs::bench
