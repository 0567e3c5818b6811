// SPDX-License-Identifier: Apache-2.0
// The calls that are counted. Each is made through a pointer or a link that was resolved before, so
// that look-ups do not count; the arguments are valid, and the GPU is idle before each call.
#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/failure.h"
#include "bench/gpu.h"
#include "bench/overhead_probe.h"
#include "bench/step_counter.h"
#include "workloads/kernels/ptx.h"

namespace nvs::bench {
namespace {

constexpr int kWarmUpCalls = 4;
constexpr int kLaunchKernelVersion = 12000;  // as of this version of CUDA, it has this type
constexpr unsigned kThreads = 32;

struct Subject {
  std::string what;
  bool hooked;
  std::function<CUresult()> call;
};

decltype(&::cuLaunchKernel) by_proc_address(const Driver& driver) {
  void* function = nullptr;
  NVS_CALL(driver, cuGetProcAddress_v2, "cuLaunchKernel", &function, kLaunchKernelVersion,
           CU_GET_PROC_ADDRESS_DEFAULT, nullptr);
  return reinterpret_cast<decltype(&::cuLaunchKernel)>(function);
}

// All that the calls need, made once.
class Subjects {
 public:
  explicit Subjects(const Gpu& gpu)
      : gpu_(gpu),
        stream_(gpu),
        event_(gpu),
        data_(gpu, kBytes),
        host_(gpu, kBytes),
        data_address_(data_.address()) {
    NVS_CALL(driver(), cuModuleLoadData, &module_, workloads::kernels::ptx());
    NVS_CALL(driver(), cuModuleGetFunction, &kernel_, module_, "nvs_step");
    gpu_.fill(stream_.get(), data_.address(), 0, kCount);
    gpu_.synchronize();
    config_ = {1, 1, 1, kThreads, 1, 1, 0, stream_.get(), nullptr, 0};
    capture_graph();
  }
  ~Subjects() {
    driver().cuGraphExecDestroy(graph_exec_);
    driver().cuGraphDestroy(graph_);
    driver().cuModuleUnload(module_);
  }
  Subjects(const Subjects&) = delete;
  Subjects& operator=(const Subjects&) = delete;

  std::vector<Subject> all() {
    std::vector<Subject> subjects;
    const auto add = [&](const char* what, bool hooked, auto call) {
      subjects.push_back({what, hooked, std::move(call)});
    };
    add("cuLaunchKernel, linked", true, [this] { return launch(&::cuLaunchKernel); });
    add("cuLaunchKernel, by dlsym", true, [this] { return launch(driver().cuLaunchKernel); });
    const auto by_address = by_proc_address(driver());
    add("cuLaunchKernel, by cuGetProcAddress", true,
        [this, by_address] { return launch(by_address); });
    if (driver().cuLaunchKernelEx != nullptr) {  // came with CUDA 11.8
      add("cuLaunchKernelEx", true, [this] {
        return driver().cuLaunchKernelEx(&config_, kernel_, arguments_.data(), nullptr);
      });
    }
    add("cuGraphLaunch", true, [this] { return driver().cuGraphLaunch(graph_exec_, stream()); });
    add("cuMemcpyHtoDAsync_v2", true, [this] {
      return driver().cuMemcpyHtoDAsync_v2(data_address_, host_.data(), kBytes, stream());
    });
    add("cuMemsetD8Async", true,
        [this] { return driver().cuMemsetD8Async(data_address_, 0, kBytes, stream()); });
    add("cuEventRecord", true, [this] { return driver().cuEventRecord(event_.get(), stream()); });
    add("cuStreamIsCapturing, not hooked", false,
        [this] { return driver().cuStreamIsCapturing(stream(), &capturing_); });
    return subjects;
  }

 private:
  static constexpr std::uint64_t kCount = Gpu::kTinyCount;
  static constexpr std::size_t kBytes = kCount * sizeof(float);

  const Driver& driver() const { return gpu_.driver(); }
  CUstream stream() const { return stream_.get(); }

  CUresult launch(decltype(&::cuLaunchKernel) function) {
    return function(kernel_, 1, 1, 1, kThreads, 1, 1, 0, stream(), arguments_.data(), nullptr);
  }

  void capture_graph() {
    NVS_CALL(driver(), cuStreamBeginCapture_v2, stream(), CU_STREAM_CAPTURE_MODE_RELAXED);
    check(driver(), launch(driver().cuLaunchKernel), "cuLaunchKernel");
    NVS_CALL(driver(), cuStreamEndCapture, stream(), &graph_);
    NVS_CALL(driver(), cuGraphInstantiateWithFlags, &graph_exec_, graph_, 0);
  }

  const Gpu& gpu_;
  Stream stream_;
  Event event_;
  DeviceBuffer data_;
  HostBuffer host_;
  CUdeviceptr data_address_;
  float value_ = 1;
  std::uint64_t count_ = kCount;
  std::array<void*, 3> arguments_ = {&data_address_, &value_, &count_};
  CUmodule module_ = nullptr;
  CUfunction kernel_ = nullptr;
  CUlaunchConfig config_{};
  CUgraph graph_ = nullptr;
  CUgraphExec graph_exec_ = nullptr;
  CUstreamCaptureStatus capturing_ = CU_STREAM_CAPTURE_STATUS_NONE;
};

}  // namespace

void run_count(ParentLink& parent, const nlohmann::json&) {
  const Machine machine = Machine::inherit();
  const Gpu gpu(machine);
  Subjects made(gpu);
  const std::vector<Subject> subjects = made.all();
  nlohmann::json list = nlohmann::json::array();
  for (const Subject& subject : subjects) {
    list.push_back({{"what", subject.what}, {"hooked", subject.hooked}});
  }
  parent.send({{"subjects", list}});
  if (!parent.next()) return;  // nobody traces us, so no mark may be met
  for (const Subject& subject : subjects) {
    for (int i = 0; i < kWarmUpCalls; ++i) {
      check(gpu.driver(), subject.call(), subject.what.c_str());
      gpu.synchronize();
    }
    for (int i = 0; i < kCountedCalls; ++i) {
      step_mark();
      const CUresult result = subject.call();
      step_mark();
      check(gpu.driver(), result, subject.what.c_str());
      gpu.synchronize();
    }
  }
  parent.send({{"done", true}});
  parent.next();  // its memory is read before it may end
}

}  // namespace nvs::bench
