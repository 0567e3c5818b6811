// SPDX-License-Identifier: Apache-2.0
#include "bench/machine.h"

#include <cstdlib>
#include <filesystem>
#include <random>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "bench/child.h"
#include "bench/failure.h"

namespace nvs::bench {
namespace {

constexpr const char* kLibraryVariable = "NVSHARE_CUDA_LIBRARY";

void set_variable(const char* name, const std::string& value) {
  ::setenv(name, value.c_str(), /*replace=*/1);
}

// The build puts the simulator beside the programs: bin/nvshare-bench and lib/sim/libcuda.so.1.
std::string simulator_library() {
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  const std::filesystem::path library =
      self.parent_path().parent_path() / "lib" / "sim" / "libcuda.so.1";
  if (!std::filesystem::exists(library)) {
    throw Failure(fmt::format("the simulator is not built: there is no {}", library.string()));
  }
  return library.string();
}

Driver load_simulator(const SimulatorOptions& options) {
  // A name that no other run has: leftovers and neighbours then cannot touch the figures.
  std::random_device random;
  set_variable("NVSHARE_SIM_MACHINE", fmt::format("bench-{}-{:08x}", ::getpid(), random()));
  set_variable("NVSHARE_SIM_PRESET", options.preset);
  if (options.gpus) set_variable("NVSHARE_SIM_GPUS", std::to_string(*options.gpus));
  if (options.scale) set_variable("NVSHARE_SIM_SCALE", std::to_string(*options.scale));
  if (options.time_factor) {
    set_variable("NVSHARE_SIM_TIME", fmt::format("{}", *options.time_factor));
  }
  set_variable(kLibraryVariable, simulator_library());
  tl::expected<Driver, std::string> driver = Driver::load();
  if (!driver) throw Failure(driver.error());
  if (!driver->is_simulator()) {
    throw Failure(fmt::format("{} is not the simulator", std::getenv(kLibraryVariable)));
  }
  return *std::move(driver);
}

// The driver of a GPU that works, or why there is none.
tl::expected<Driver, std::string> load_gpu() {
  tl::expected<Driver, std::string> driver = Driver::load();
  if (!driver) return tl::unexpected(driver.error());
  if (driver->is_simulator()) {
    return tl::unexpected(std::string("the libcuda.so.1 found first is the simulator"));
  }
  const CUresult result =
      driver->cuInit != nullptr ? driver->cuInit(0) : CUDA_ERROR_NOT_INITIALIZED;
  if (result != CUDA_SUCCESS) {
    return tl::unexpected(fmt::format("cuInit failed with {}", static_cast<int>(result)));
  }
  return driver;
}

}  // namespace

void check(const Driver& driver, CUresult result, const char* function) {
  if (result == CUDA_SUCCESS) return;
  const char* name = nullptr;
  if (driver.cuGetErrorName != nullptr) driver.cuGetErrorName(result, &name);
  throw Failure(fmt::format("{}: {} ({})", function, name != nullptr ? name : "unknown error",
                            static_cast<int>(result)));
}

Machine::Machine(Driver driver) : driver_(std::move(driver)) {
  NVS_CALL(driver_, cuInit, 0);
  if (!driver_.is_simulator()) return;
  scale_ = driver_.sim()->cusimScale();
  time_factor_ = driver_.sim()->cusimTimeFactor();
}

Machine Machine::open(Backend backend, const SimulatorOptions& options, std::string& remark) {
  if (backend != Backend::kSimulator) {
    tl::expected<Driver, std::string> gpu = load_gpu();
    if (gpu) return Machine(*std::move(gpu));
    if (backend == Backend::kGpu) throw Failure(fmt::format("no GPU: {}", gpu.error()));
    remark = fmt::format("no GPU ({}): running on the simulator, preset {}", gpu.error(),
                         options.preset);
  }
  try {
    return Machine(load_simulator(options));
  } catch (const Failure& failure) {
    if (remark.empty()) throw;
    throw Failure(fmt::format("{}; but {}", remark, failure.what()));
  }
}

Machine Machine::inherit(Driver::Find find) {
  tl::expected<Driver, std::string> driver = Driver::load(nullptr, find);
  if (!driver) throw Failure(driver.error());
  return Machine(*std::move(driver));
}

std::string Machine::device_name() const {
  CUdevice device = 0;
  char name[256] = {};
  NVS_CALL(driver_, cuDeviceGet, &device, 0);
  NVS_CALL(driver_, cuDeviceGetName, name, static_cast<int>(sizeof name) - 1, device);
  return name;
}

std::string Machine::description() const {
  if (!simulated()) return device_name();
  return fmt::format("simulated {}, scale {}{}", device_name(), scale_,
                     time_factor_ == 1 ? "" : fmt::format(", time factor {}", time_factor_));
}

std::string Machine::violations() const {
  if (!simulated() || driver_.sim()->cusimViolationCount() == 0) return "";
  std::string text(driver_.sim()->cusimViolationText(nullptr, 0) + 1, '\0');
  driver_.sim()->cusimViolationText(text.data(), text.size());
  return text.c_str();
}

OverrunMeter::OverrunMeter(const Machine& machine, Against against)
    : machine_(machine), against_(against), start_ns_(now_ns()), start_(read()) {}

OverrunMeter::Totals OverrunMeter::read() const {
  Totals sum;
  if (!machine_.simulated()) return sum;
  int gpus = 0;
  NVS_CALL(machine_.driver(), cuDeviceGetCount, &gpus);
  for (int gpu = 0; gpu < gpus; ++gpu) {
    Totals one;
    if (machine_.driver().sim()->cusimOverrun(gpu, &one.overrun_ns, &one.busy_ns) != 0) {
      throw Failure("cusimOverrun failed");
    }
    sum.overrun_ns += one.overrun_ns;
    sum.busy_ns += one.busy_ns;
  }
  return sum;
}

std::optional<double> OverrunMeter::share() const {
  if (!machine_.simulated()) return std::nullopt;
  const Totals now = read();
  const auto overrun = static_cast<double>(now.overrun_ns - start_.overrun_ns);
  if (against_ == Against::kElapsed) return overrun / static_cast<double>(now_ns() - start_ns_);
  // Without any modelled GPU time there is nothing to be late against.
  const auto busy = static_cast<double>(now.busy_ns - start_.busy_ns);
  return busy > 0 ? overrun / busy : 0.0;
}

}  // namespace nvs::bench
