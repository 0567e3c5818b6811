// SPDX-License-Identifier: Apache-2.0
// Graphs and captures: nothing runs before the launch, edges are kept, replays follow each other.
#include <gtest/gtest.h>

#include "tests/cuda_sim/gpu.h"
#include "tests/cuda_sim/sim_fixture.h"

namespace nvs::sim_test {
namespace {

constexpr std::uint64_t kGraphFloats = 1024;
constexpr std::uint64_t kGraphWhile = 2'000'000;

class GraphMaker {
 public:
  explicit GraphMaker(const Gpu& gpu) : gpu_(gpu) { NVS_MUST(gpu_->cuGraphCreate(&graph_, 0)); }

  CUgraph graph() const { return graph_; }

  template <class... Arguments>
  CUgraphNode kernel(std::vector<CUgraphNode> after, const char* name, Arguments... arguments) {
    return kernel_of(gpu_, after, name, arguments...);
  }

  template <class... Arguments>
  CUgraphNode kernel_of(const Gpu& gpu, std::vector<CUgraphNode> after, const char* name,
                        Arguments... arguments) {
    std::array<void*, sizeof...(Arguments)> parameters{&arguments...};
    CUDA_KERNEL_NODE_PARAMS node{};
    node.func = gpu.function(name);
    node.gridDimX = node.gridDimY = node.gridDimZ = 1;
    node.blockDimX = 256;
    node.blockDimY = node.blockDimZ = 1;
    node.kernelParams = parameters.data();
    CUgraphNode made = nullptr;
    NVS_MUST(gpu_->cuGraphAddKernelNode_v2(&made, graph_, after.data(), after.size(), &node));
    return made;
  }

  CUgraphNode host(std::vector<CUgraphNode> after, CUhostFn function, void* data) {
    const CUDA_HOST_NODE_PARAMS node{function, data};
    CUgraphNode made = nullptr;
    NVS_MUST(gpu_->cuGraphAddHostNode(&made, graph_, after.data(), after.size(), &node));
    return made;
  }

  CUgraphNode child(std::vector<CUgraphNode> after, CUgraph inner) {
    CUgraphNode made = nullptr;
    NVS_MUST(gpu_->cuGraphAddChildGraphNode(&made, graph_, after.data(), after.size(), inner));
    return made;
  }

 private:
  const Gpu& gpu_;
  CUgraph graph_ = nullptr;
};

CUgraphExec instantiate(const Gpu& gpu, CUgraph graph) {
  CUgraphExec made = nullptr;
  NVS_MUST(gpu->cuGraphInstantiateWithFlags(&made, graph, 0));
  return made;
}

void launch(const Gpu& gpu, CUgraphExec exec, CUstream stream, int times) {
  for (int i = 0; i < times; ++i) NVS_MUST(gpu->cuGraphLaunch(exec, stream));
  NVS_MUST(gpu->cuStreamSynchronize(stream));
}

TEST(Graph, DiamondKeepsItsEdgesOnEveryReplay) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    const CUdeviceptr total = gpu.filled(kGraphFloats, 0);
    const CUdeviceptr left = gpu.alloc(kGraphFloats * 4);
    const CUdeviceptr right = gpu.alloc(kGraphFloats * 4);
    int calls = 0;
    GraphMaker maker(gpu);
    const auto top = maker.kernel({}, "nvs_spin", kGraphWhile);
    const auto fill_left = maker.kernel({top}, "nvs_fill", left, 1.0F, kGraphFloats);
    const auto slow = maker.kernel({top}, "nvs_spin", kGraphWhile);
    const auto fill_right = maker.kernel({slow}, "nvs_fill", right, 2.0F, kGraphFloats);
    const auto join =
        maker.kernel({fill_left, fill_right}, "nvs_add3", left, left, right, kGraphFloats);
    const auto sum = maker.kernel({join}, "nvs_add", total, left, kGraphFloats);
    const auto spoil = maker.kernel({sum}, "nvs_fill", left, 1000.0F, kGraphFloats);
    maker.host(
        {spoil}, [](void* count) { ++*static_cast<int*>(count); }, &calls);
    const CUgraphExec exec = instantiate(gpu, maker.graph());
    EXPECT_EQ(gpu.read(total, 1).front(), 0) << "nothing runs before the launch";
    launch(gpu, exec, gpu.stream(), 5);
    EXPECT_EQ(gpu.read(total, 1).front(), 15);
    EXPECT_EQ(calls, 5);
    EXPECT_EQ(gpu.sim().cusimViolationCount(), 0U);
  });
}

TEST(Graph, ChildGraphRunsInItsPlace) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    const CUdeviceptr data = gpu.filled(kGraphFloats, 0);
    GraphMaker inner(gpu);
    const auto pause = inner.kernel({}, "nvs_spin", kGraphWhile);
    inner.kernel({pause}, "nvs_step", data, 1.0F, kGraphFloats);
    GraphMaker outer(gpu);
    const auto begin = outer.kernel({}, "nvs_fill", data, 10.0F, kGraphFloats);
    const auto child = outer.child({begin}, inner.graph());
    const auto again = outer.child({child}, inner.graph());
    outer.kernel({again}, "nvs_add", data, data, kGraphFloats);
    launch(gpu, instantiate(gpu, outer.graph()), gpu.stream(), 2);
    EXPECT_EQ(gpu.read(data, 1).front(), 24);
  });
}

TEST(Graph, LaunchIsOrderedWithTheStreamAndWithOtherLaunchesOfTheSame) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    const CUdeviceptr data = gpu.alloc(kGraphFloats * 4);
    GraphMaker maker(gpu);
    const auto pause = maker.kernel({}, "nvs_spin", kGraphWhile);
    maker.kernel({pause}, "nvs_step", data, 1.0F, kGraphFloats);
    const CUgraphExec exec = instantiate(gpu, maker.graph());
    const CUstream first = gpu.stream();
    const CUstream second = gpu.stream();
    NVS_MUST(gpu.spin(kGraphWhile, first));
    NVS_MUST(gpu.fill(data, 5, kGraphFloats, first));
    NVS_MUST(gpu->cuGraphLaunch(exec, first));
    // On another stream, but the same executable graph: it waits for its own last launch.
    NVS_MUST(gpu->cuGraphLaunch(exec, second));
    NVS_MUST(gpu.launch("nvs_add", second, data, data, kGraphFloats));
    NVS_MUST(gpu->cuCtxSynchronize());
    EXPECT_EQ(gpu.read(data, 1).front(), 14);
    EXPECT_EQ(gpu.sim().cusimViolationCount(), 0U);
  });
}

TEST(Capture, CollectsWorkOfTwoStreamsAndRunsNoneOfIt) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    const CUdeviceptr data = gpu.filled(kGraphFloats, 1);
    const CUdeviceptr side = gpu.filled(kGraphFloats, 0);
    const CUstream origin = gpu.stream();
    const CUstream other = gpu.stream();
    const CUevent fork = gpu.event();
    const CUevent join = gpu.event();
    NVS_MUST(gpu->cuStreamBeginCapture_v2(origin, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    NVS_MUST(gpu.step(data, 1, kGraphFloats, origin));
    NVS_MUST(gpu->cuEventRecord(fork, origin));
    NVS_MUST(gpu->cuStreamWaitEvent(other, fork, 0));
    NVS_MUST(gpu.spin(kGraphWhile, other));
    NVS_MUST(gpu.launch("nvs_add", other, side, data, kGraphFloats));
    NVS_MUST(gpu->cuEventRecord(join, other));
    NVS_MUST(gpu->cuStreamWaitEvent(origin, join, 0));
    NVS_MUST(gpu.launch("nvs_add", origin, data, side, kGraphFloats));
    CUgraph graph = nullptr;
    NVS_MUST(gpu->cuStreamEndCapture(origin, &graph));
    std::size_t nodes = 0;
    NVS_MUST(gpu->cuGraphGetNodes(graph, nullptr, &nodes));
    EXPECT_EQ(nodes, 4U);
    NVS_MUST(gpu->cuCtxSynchronize());
    EXPECT_EQ(gpu.read(data, 1).front(), 1) << "a capture only writes down";
    launch(gpu, instantiate(gpu, graph), origin, 1);
    EXPECT_EQ(gpu.read(side, 1).front(), 2);
    EXPECT_EQ(gpu.read(data, 1).front(), 4);
    launch(gpu, instantiate(gpu, graph), origin, 1);
    EXPECT_EQ(gpu.read(side, 1).front(), 7);
    EXPECT_EQ(gpu.read(data, 1).front(), 12);
  });
}

TEST(Capture, WorkOnOtherStreamsGoesOnMeanwhile) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    const CUdeviceptr data = gpu.filled(kGraphFloats, 1);
    const CUstream capturing = gpu.stream();
    const CUstream running = gpu.stream();
    NVS_MUST(gpu->cuStreamBeginCapture_v2(capturing, CU_STREAM_CAPTURE_MODE_RELAXED));
    NVS_MUST(gpu.step(data, 100, kGraphFloats, capturing));
    NVS_MUST(gpu.step(data, 1, kGraphFloats, running));
    NVS_MUST(gpu->cuStreamSynchronize(running));
    CUgraph graph = nullptr;
    NVS_MUST(gpu->cuStreamEndCapture(capturing, &graph));
    EXPECT_EQ(gpu.read(data, 1).front(), 2);
  });
}

TEST(Graph, NodeWhoseMemoryIsGoneFaultsAtTheLaunch) {
  SimMachine machine;
  run_process(machine, [](Line&) {
    const Gpu gpu;
    const CUdeviceptr data = gpu.filled(kGraphFloats, 1);
    GraphMaker maker(gpu);
    maker.kernel({}, "nvs_step", data, 1.0F, kGraphFloats);
    const CUgraphExec exec = instantiate(gpu, maker.graph());
    launch(gpu, exec, nullptr, 1);
    NVS_MUST(gpu->cuMemFree_v2(data));
    NVS_MUST(gpu->cuGraphLaunch(exec, nullptr));
    EXPECT_EQ(gpu->cuStreamSynchronize(nullptr), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(gpu.sim().cusimViolationCount(), 1U);
  });
}

// Each has memory of its own, to which the other one has no access. The first is current.
struct TwoGpus {
  const Gpu second{1};
  const CUdeviceptr there = second.filled(kGraphFloats, 0);
  const Gpu first{0};
  const CUdeviceptr here = first.filled(kGraphFloats, 0);
};

TEST(Graph, KernelsRunOnTheGpuWhereTheyWereAdded) {
  SimMachine machine(Environment{{"NVSHARE_SIM_GPUS", "2"}});
  run_process(machine, [](Line&) {
    const TwoGpus gpus;
    const auto& [second, there, first, here] = gpus;
    GraphMaker maker(first);
    const CUgraphNode before = maker.kernel({}, "nvs_step", here, 1.0F, kGraphFloats);
    const CUgraphNode node =
        maker.kernel_of(second, {before}, "nvs_step", there, 1.0F, kGraphFloats);
    CUDA_KERNEL_NODE_PARAMS params{};
    NVS_MUST(first->cuGraphKernelNodeGetParams_v2(node, &params));
    EXPECT_EQ(params.ctx, second.context());
    launch(first, instantiate(first, maker.graph()), first.stream(), 3);
    EXPECT_EQ(first.read(here, 1).front(), 3);
    second.make_current();
    EXPECT_EQ(second.read(there, 1).front(), 3);
    EXPECT_EQ(first.sim().cusimViolationCount(), 0U);
  });
}

TEST(Graph, NoUpdateMovesAKernelToAnotherGpu) {
  SimMachine machine(Environment{{"NVSHARE_SIM_GPUS", "2"}});
  run_process(machine, [](Line&) {
    const TwoGpus gpus;
    const auto& [second, there, first, here] = gpus;
    GraphMaker maker(first);
    const CUgraphNode node = maker.kernel({}, "nvs_step", here, 1.0F, kGraphFloats);
    CUgraphExec exec = instantiate(first, maker.graph());
    GraphMaker other(first);
    const CUgraphNode elsewhere =
        other.kernel_of(second, {}, "nvs_step", there, 1.0F, kGraphFloats);
    CUDA_KERNEL_NODE_PARAMS params{};
    NVS_MUST(first->cuGraphKernelNodeGetParams_v2(elsewhere, &params));
    EXPECT_EQ(first->cuGraphExecKernelNodeSetParams_v2(exec, node, &params),
              CUDA_ERROR_INVALID_VALUE);
    CUgraphExecUpdateResultInfo info{};
    EXPECT_EQ(first->cuGraphExecUpdate_v2(exec, other.graph(), &info),
              CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE);
    launch(first, exec, first.stream(), 3);
    EXPECT_EQ(first.read(here, 1).front(), 3);
  });
}

TEST(Graph, ACaptureThatGoesOnOnAnotherGpuRunsThere) {
  SimMachine machine(Environment{{"NVSHARE_SIM_GPUS", "2"}});
  run_process(machine, [](Line&) {
    const Gpu second(1);
    const CUdeviceptr there = second.filled(kGraphFloats, 0);
    CUstream other = second.stream();
    CUevent join = second.event();
    const Gpu first(0);
    CUstream stream = first.stream();
    CUevent fork = first.event();
    CUgraph graph = nullptr;
    NVS_MUST(first->cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    NVS_MUST(first->cuEventRecord(fork, stream));
    NVS_MUST(first->cuStreamWaitEvent(other, fork, 0));
    NVS_MUST(second.step(there, 1, kGraphFloats, other));
    NVS_MUST(first->cuEventRecord(join, other));
    NVS_MUST(first->cuStreamWaitEvent(stream, join, 0));
    NVS_MUST(first->cuStreamEndCapture(stream, &graph));
    launch(first, instantiate(first, graph), stream, 3);
    second.make_current();
    EXPECT_EQ(second.read(there, 1).front(), 3);
    EXPECT_EQ(first.sim().cusimViolationCount(), 0U);
  });
}

}  // namespace
}  // namespace nvs::sim_test
