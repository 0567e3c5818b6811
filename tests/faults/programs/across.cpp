// SPDX-License-Identifier: Apache-2.0
// A tenant on two GPUs, whose work on the second names memory of the first: by copies, which need
// no peer access, and by kernels, which do. Its data is right if nothing of the first GPU's memory
// ever left under such work, and if it was there for all of it.
#include <chrono>
#include <functional>
#include <map>
#include <thread>

#include "tests/faults/programs/kit.h"

namespace nvs::faults {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr float kBefore = 7;

struct Pair {
  explicit Pair(std::size_t bytes_of_each) : bytes(bytes_of_each) {}

  std::uint64_t floats() const { return bytes / sizeof(float); }
  void give_access() const {
    second.make_current();
    NVS_MUST(second->cuCtxEnablePeerAccess(first.context(), 0));
  }
  /// Of the first GPU's memory.
  void must_hold(CUdeviceptr memory, float value) const {
    first.make_current();
    for (const float found : first.read(memory, 64)) {
      if (found == value) continue;
      throw std::runtime_error(std::to_string(found) + " where " + std::to_string(value) +
                               " should be");
    }
    second.make_current();
  }

  std::size_t bytes;
  Gpu first{0};
  Gpu second{1};
};

void must_be_clean() {
  const std::string text = sim_test::violation_text(sim_test::loaded_driver());
  if (!text.empty()) throw std::runtime_error(text);
}

// What the second GPU counts is copied into the first one's memory again and again, far ahead.
int copies_ahead(const Pair& gpus, unsigned depth, bool with_contexts) {
  gpus.first.make_current();
  const CUdeviceptr there = gpus.first.filled(gpus.floats(), 0);
  gpus.second.make_current();
  const CUdeviceptr here = gpus.second.filled(gpus.floats(), 0);
  CUstream stream = gpus.second.stream();
  std::uint64_t steps = 0;
  while (!told_to_stop()) {
    for (unsigned i = 0; i < depth; ++i, ++steps) {
      NVS_MUST(gpus.second.step(here, 1, gpus.floats(), stream));
      NVS_MUST(gpus.second.spin(200 * kMs, stream));
      NVS_MUST(with_contexts
                   ? gpus.second->cuMemcpyPeerAsync(there, gpus.first.context(), here,
                                                    gpus.second.context(), gpus.bytes, stream)
                   : gpus.second->cuMemcpyDtoDAsync_v2(there, here, gpus.bytes, stream));
    }
    NVS_MUST(gpus.second->cuStreamSynchronize(stream));
    gpus.must_hold(there, static_cast<float>(steps));
    must_be_clean();
    say_at(steps);
  }
  return 0;
}

// Each makes the first GPU's memory hold threes, while the second one is current; but for "dtoh",
// which finds some there.
using Filler = std::function<CUresult(const Pair&, CUdeviceptr there, CUdeviceptr here, CUstream)>;

CUresult by_rows(const Pair& gpus, CUdeviceptr there, CUdeviceptr here, CUstream stream) {
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = here;
  copy.dstDevice = there;
  copy.WidthInBytes = copy.srcPitch = copy.dstPitch = 4096;
  copy.Height = gpus.bytes / 4096;
  return gpus.second->cuMemcpy2DAsync_v2(&copy, stream);
}

CUresult by_graph(const Pair& gpus, CUdeviceptr there, CUdeviceptr here, CUstream stream) {
  static CUgraphExec exec = nullptr;
  if (exec == nullptr) {
    CUgraph graph = nullptr;
    NVS_MUST(gpus.second->cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    NVS_MUST(gpus.second->cuMemcpyDtoDAsync_v2(there, here, gpus.bytes, stream));
    NVS_MUST(gpus.second->cuStreamEndCapture(stream, &graph));
    NVS_MUST(gpus.second->cuGraphInstantiateWithFlags(&exec, graph, 0));
  }
  return gpus.second->cuGraphLaunch(exec, stream);
}

CUresult by_node(const Pair& gpus, CUdeviceptr there, CUdeviceptr here, CUstream stream) {
  static CUgraphExec exec = nullptr;
  if (exec == nullptr) {
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    CUgraphNodeParams params{};
    params.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    params.memcpy.copyCtx = gpus.second.context();
    CUDA_MEMCPY3D& copy = params.memcpy.copyParams;
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = here;
    copy.dstDevice = there;
    copy.WidthInBytes = gpus.bytes;
    copy.Height = copy.Depth = 1;
    NVS_MUST(gpus.second->cuGraphCreate(&graph, 0));
    NVS_MUST(gpus.second->cuGraphAddNode(&node, graph, nullptr, 0, &params));
    NVS_MUST(gpus.second->cuGraphInstantiateWithFlags(&exec, graph, 0));
  }
  return gpus.second->cuGraphLaunch(exec, stream);
}

// Launched in the second GPU's stream, `work` is done on the first one.
CUgraphExec forked(const Pair& gpus, CUstream stream,
                   const std::function<CUresult(CUstream)>& work) {
  CUevent fork = gpus.second.event();
  gpus.first.make_current();
  CUevent join = gpus.first.event();
  CUstream there = gpus.first.stream();
  gpus.second.make_current();
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  NVS_MUST(gpus.second->cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  NVS_MUST(gpus.second->cuEventRecord(fork, stream));
  NVS_MUST(gpus.second->cuStreamWaitEvent(there, fork, 0));
  NVS_MUST(work(there));
  NVS_MUST(gpus.second->cuEventRecord(join, there));
  NVS_MUST(gpus.second->cuStreamWaitEvent(stream, join, 0));
  NVS_MUST(gpus.second->cuStreamEndCapture(stream, &graph));
  NVS_MUST(gpus.second->cuGraphInstantiateWithFlags(&exec, graph, 0));
  return exec;
}

CUresult by_forked_kernel(const Pair& gpus, CUdeviceptr there, CUdeviceptr, CUstream stream) {
  static const CUgraphExec exec = forked(gpus, stream, [&](CUstream first) {
    return gpus.first.fill(there, 3, gpus.floats(), first);
  });
  return gpus.second->cuGraphLaunch(exec, stream);
}

CUresult by_kernel_node(const Pair& gpus, CUdeviceptr there, CUdeviceptr, CUstream stream) {
  static CUgraphExec exec = nullptr;
  if (exec == nullptr) {
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    float value = 3;
    std::uint64_t floats = gpus.floats();
    void* arguments[] = {&there, &value, &floats};
    CUDA_KERNEL_NODE_PARAMS params{};
    params.func = gpus.first.function("nvs_fill");
    params.gridDimX = params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = arguments;
    NVS_MUST(gpus.second->cuGraphCreate(&graph, 0));
    NVS_MUST(gpus.second->cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &params));
    NVS_MUST(gpus.second->cuGraphInstantiateWithFlags(&exec, graph, 0));
  }
  return gpus.second->cuGraphLaunch(exec, stream);
}

const std::map<std::string, Filler> kFillers = {
    {"dtod",
     [](const Pair& gpus, CUdeviceptr there, CUdeviceptr here, CUstream stream) {
       return gpus.second->cuMemcpyDtoDAsync_v2(there, here, gpus.bytes, stream);
     }},
    {"any",
     [](const Pair& gpus, CUdeviceptr there, CUdeviceptr here, CUstream stream) {
       return gpus.second->cuMemcpyAsync(there, here, gpus.bytes, stream);
     }},
    {"peer",
     [](const Pair& gpus, CUdeviceptr there, CUdeviceptr here, CUstream stream) {
       return gpus.second->cuMemcpyPeerAsync(there, gpus.first.context(), here,
                                             gpus.second.context(), gpus.bytes, stream);
     }},
    {"dtoh",
     [](const Pair& gpus, CUdeviceptr there, CUdeviceptr, CUstream) {
       float found = 0;
       const CUresult result = gpus.second->cuMemcpyDtoH_v2(&found, there, sizeof found);
       return found == 3 ? result : CUDA_ERROR_UNKNOWN;
     }},
    {"htod",
     [](const Pair& gpus, CUdeviceptr there, CUdeviceptr, CUstream) {
       const std::vector<float> threes(64, 3);
       return gpus.second->cuMemcpyHtoD_v2(there, threes.data(), threes.size() * sizeof(float));
     }},
    {"set",
     [](const Pair& gpus, CUdeviceptr there, CUdeviceptr, CUstream stream) {
       return gpus.second->cuMemsetD32Async(there, 0x40400000U, gpus.floats(), stream);
     }},
    {"rows", by_rows},
    {"graph", by_graph},
    {"node", by_node},
    {"fork", by_forked_kernel},
    {"kernel", by_kernel_node},
};

// Seldom enough that the memory is away each time.
int calls_late(const Pair& gpus, const Filler& fill) {
  gpus.first.make_current();
  const CUdeviceptr there = gpus.first.filled(gpus.floats(), 3);
  gpus.second.make_current();
  const CUdeviceptr here = gpus.second.filled(gpus.floats(), 3);
  CUstream stream = gpus.second.stream();
  for (std::uint64_t calls = 0; !told_to_stop(); say_at(++calls)) {
    NVS_MUST(fill(gpus, there, here, stream));
    NVS_MUST(gpus.second->cuStreamSynchronize(stream));
    must_be_clean();
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
  }
  gpus.must_hold(there, 3);
  return 0;
}

// Graphs that are launched in the second GPU's stream count in the first one's memory, there, far
// ahead.
int graphs_ahead(const Pair& gpus, unsigned depth) {
  gpus.first.make_current();
  const CUdeviceptr there = gpus.first.filled(gpus.floats(), 0);
  gpus.second.make_current();
  CUstream stream = gpus.second.stream();
  const CUgraphExec exec = forked(gpus, stream, [&](CUstream first) {
    NVS_MUST(gpus.first.step(there, 1, gpus.floats(), first));
    return gpus.first.spin(200 * kMs, first);
  });
  std::uint64_t steps = 0;
  while (!told_to_stop()) {
    for (unsigned i = 0; i < depth; ++i, ++steps) {
      NVS_MUST(gpus.second->cuGraphLaunch(exec, stream));
    }
    NVS_MUST(gpus.second->cuStreamSynchronize(stream));
    must_be_clean();
    say_at(steps);
  }
  gpus.must_hold(there, static_cast<float>(steps));
  return 0;
}

// Kernels of the second GPU count in the first one's memory, or beside it with the right to.
int kernels(const Pair& gpus, bool use_it) {
  gpus.first.make_current();
  const CUdeviceptr there = gpus.first.filled(gpus.floats(), kBefore);
  gpus.second.make_current();
  Counted here(gpus.second, 16384);
  gpus.give_access();
  std::uint64_t steps = 0;
  while (!told_to_stop()) {
    for (int i = 0; i < 8; ++i, ++steps) {
      if (use_it) NVS_MUST(gpus.second.step(there, 1, gpus.floats()));
      here.step(nullptr, kMs);
    }
    NVS_MUST(gpus.second->cuCtxSynchronize());
    must_be_clean();
    say_at(steps);
  }
  here.check(nullptr);
  gpus.must_hold(there, kBefore + (use_it ? static_cast<float>(steps) : 0));
  return 0;
}

// Kernels of the second GPU count in the first one's memory, while other contexts of theirs get the
// right to and lose it.
int beside_others(const Pair& gpus) {
  gpus.first.make_current();
  const CUdeviceptr there = gpus.first.filled(gpus.floats(), kBefore);
  gpus.give_access();
  const Gpu other(1);
  std::uint64_t steps = 0;
  for (; !told_to_stop(); say_at(++steps)) {
    CUcontext brief = nullptr;
    NVS_MUST(other->cuCtxCreate_v2(&brief, 0, 1));
    NVS_MUST(other->cuCtxEnablePeerAccess(gpus.first.context(), 0));
    NVS_MUST(other->cuCtxDestroy_v2(brief));
    other.make_current();
    NVS_MUST(other->cuCtxEnablePeerAccess(gpus.first.context(), 0));
    NVS_MUST(other->cuCtxDisablePeerAccess(gpus.first.context()));
    gpus.second.make_current();
    NVS_MUST(gpus.second.step(there, 1, gpus.floats()));
    NVS_MUST(gpus.second->cuCtxSynchronize());
    must_be_clean();
  }
  gpus.must_hold(there, kBefore + static_cast<float>(steps));
  return 0;
}

// Both GPUs have work, and each the right to the other's memory.
int both(const Pair& gpus) {
  gpus.first.make_current();
  Counted first(gpus.first, gpus.floats());
  gpus.second.make_current();
  Counted second(gpus.second, gpus.floats());
  gpus.give_access();
  gpus.first.make_current();
  NVS_MUST(gpus.first->cuCtxEnablePeerAccess(gpus.second.context(), 0));
  while (!told_to_stop()) {
    for (int i = 0; i < 8; ++i) {
      gpus.first.make_current();
      first.step(nullptr, kMs);
      gpus.second.make_current();
      second.step(nullptr, kMs);
    }
    NVS_MUST(gpus.second->cuCtxSynchronize());
    gpus.first.make_current();
    NVS_MUST(gpus.first->cuCtxSynchronize());
    must_be_clean();
    say_at(first.steps());
  }
  first.check(nullptr);
  gpus.second.make_current();
  second.check(nullptr);
  return 0;
}

// A kernel of the second GPU, which may reach the first one's memory, does not end before the
// test's word.
int does_not_stand_still(const Pair& gpus) {
  gpus.first.make_current();
  Counted there(gpus.first, gpus.floats());
  gpus.second.make_current();
  gpus.give_access();
  gpus.second.launch_hanging([&] { return gpus.second.spin(1); });
  gpus.first.make_current();
  work_until_stopped(gpus.first, there);
  wait_for_word();
  gpus.second.sim().cusimReleaseHang();
  say("released");
  work_until_stopped(gpus.first, there);
  return 0;
}

}  // namespace

// across MIB WHAT [KIND]: memory of so much on each GPU.
int across(int argc, char** argv) {
  if (argc < 2) return 2;
  const Pair gpus(std::size_t{number(argv[0])} << 20U);
  const std::string what = argv[1];
  const std::string kind = argc > 2 ? argv[2] : "";
  if (what == "ahead") return copies_ahead(gpus, 50, kind == "peer");
  if (what == "graphs") return graphs_ahead(gpus, 10);
  if (what == "late") {
    if (kind == "set") gpus.give_access();  // a kernel does it
    return calls_late(gpus, kFillers.at(kind));
  }
  if (what == "kernels") return kernels(gpus, kind == "using");
  if (what == "others") return beside_others(gpus);
  if (what == "both") return both(gpus);
  if (what == "stuck") return does_not_stand_still(gpus);
  return 2;
}

}  // namespace nvs::faults
