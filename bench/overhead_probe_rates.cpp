// SPDX-License-Identifier: Apache-2.0
// The calls that are timed: over and over for a while, and so many a second.
#include <cstdint>
#include <optional>
#include <string>

#include <dlfcn.h>

#include "bench/failure.h"
#include "bench/gpu.h"
#include "bench/overhead_probe.h"

namespace nvs::bench {
namespace {

// Calls between two looks at the clock.
constexpr int kLaunchBatch = 256;
constexpr int kQueryBatch = 1024;
constexpr int kSlowBatch = 8;
constexpr std::uint64_t kAllocationBytes = std::uint64_t{2} << 20;  // nominal

class Rates {
 public:
  explicit Rates(const Gpu& gpu)
      : gpu_(gpu), stream_(gpu), event_(gpu), data_(gpu, Gpu::kTinyCount * sizeof(float)) {
    gpu_.fill(stream_.get(), data_.address(), 0, Gpu::kTinyCount);
    event_.record(stream_.get());
    gpu_.synchronize();
  }

  double measure(const std::string& action, double window_s) const {
    if (action == kLaunches) return rate(window_s, kLaunchBatch, [&] { launch(); });
    if (action == kLaunchAndWait) {
      return rate(window_s, kSlowBatch, [&] {
        launch();
        gpu_.synchronize();
      });
    }
    if (action == kAllocations) return rate(window_s, kSlowBatch, [&] { allocate_and_free(); });
    if (action == kQueries) {
      return rate(window_s, kQueryBatch,
                  [&] { NVS_CALL(gpu_.driver(), cuEventQuery, event_.get()); });
    }
    throw Failure("unknown action " + action);
  }

 private:
  void launch() const { gpu_.tiny(stream_.get(), data_.address()); }

  void allocate_and_free() const {
    CUdeviceptr address = 0;
    NVS_CALL(gpu_.driver(), cuMemAlloc_v2, &address, gpu_.machine().scaled(kAllocationBytes));
    NVS_CALL(gpu_.driver(), cuMemFree_v2, address);
  }

  // The first batch is not timed. The last one's work is finished within the time that counts.
  template <class Call>
  double rate(double window_s, int batch, const Call& call) const {
    for (int i = 0; i < batch; ++i) call();
    gpu_.synchronize();
    const std::int64_t start = now_ns();
    const std::int64_t end = start + static_cast<std::int64_t>(window_s * 1e9);
    std::uint64_t calls = 0;
    while (now_ns() < end) {
      for (int i = 0; i < batch; ++i) call();
      calls += static_cast<std::uint64_t>(batch);
    }
    gpu_.synchronize();
    return static_cast<double>(calls) / (static_cast<double>(now_ns() - start) * 1e-9);
  }

  const Gpu& gpu_;
  Stream stream_;
  Event event_;
  DeviceBuffer data_;
};

// libc's own, past whoever interposes it: the name is nobody's business but libc's, and the library
// is named.
Driver::Find libc_dlsym() {
  void* libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  void* found = libc != nullptr ? dlsym(libc, "dlsym") : nullptr;
  if (found == nullptr) throw Failure("libc.so.6 has no dlsym");
  return reinterpret_cast<Driver::Find>(found);
}

}  // namespace

void run_rates(ParentLink& parent, const nlohmann::json&) {
  const Machine hooked_machine = Machine::inherit();
  const Machine bare_machine = Machine::inherit(libc_dlsym());
  if (hooked_machine.driver().cuLaunchKernel == bare_machine.driver().cuLaunchKernel) {
    throw Failure("the library hooks nothing in this process");
  }
  const Gpu hooked_gpu(hooked_machine);
  const Gpu bare_gpu(bare_machine);
  const Rates hooked(hooked_gpu);
  const Rates bare(bare_gpu);
  parent.send({{"ready", true}});
  while (const std::optional<nlohmann::json> message = parent.next()) {
    const Rates& rates = message->at("hooked").get<bool>() ? hooked : bare;
    const double rate = rates.measure(message->at("action").get<std::string>(),
                                      message->at("window_s").get<double>());
    parent.send({{"rate", rate}});
  }
}

}  // namespace nvs::bench
