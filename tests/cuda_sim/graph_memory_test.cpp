// SPDX-License-Identifier: Apache-2.0
// Memory nodes of graphs. What docs/measurements/driver_h200.md lists is as an H200 has it; highest
// amounts, and ranges after a free, are as the simulator does it.
#include <gtest/gtest.h>

#include "tests/cuda_sim/gpu.h"
#include "tests/cuda_sim/sim_fixture.h"

namespace nvs::sim_test {
namespace {

// What graphs take from the GPU at a time: 32 MiB of the card modelled.
constexpr std::size_t kGraphSegment = (32 << 20) / 512;
constexpr std::size_t kOddBytes = 10001;

class GraphOf {
 public:
  explicit GraphOf(const Gpu& gpu) : gpu_(gpu) { NVS_MUST(gpu_->cuGraphCreate(&graph_, 0)); }

  CUgraph get() const { return graph_; }
  CUgraphNode last() const { return last_; }

  CUresult try_alloc(std::vector<CUgraphNode> after, std::size_t bytes, CUdeviceptr& address) {
    CUDA_MEM_ALLOC_NODE_PARAMS params{};
    params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    params.bytesize = bytes;
    const CUresult result =
        gpu_->cuGraphAddMemAllocNode(&last_, graph_, after.data(), after.size(), &params);
    address = params.dptr;
    return result;
  }
  CUdeviceptr alloc(std::vector<CUgraphNode> after, std::size_t bytes) {
    CUdeviceptr address = 0;
    NVS_MUST(try_alloc(std::move(after), bytes, address));
    return address;
  }
  CUgraphNode free(std::vector<CUgraphNode> after, CUdeviceptr address) {
    NVS_MUST(gpu_->cuGraphAddMemFreeNode(&last_, graph_, after.data(), after.size(), address));
    return last_;
  }
  CUgraphExec make(unsigned long long flags = 0) {
    CUgraphExec exec = nullptr;
    NVS_MUST(gpu_->cuGraphInstantiateWithFlags(&exec, graph_, flags));
    return exec;
  }

 private:
  const Gpu& gpu_;
  CUgraph graph_ = nullptr;
  CUgraphNode last_ = nullptr;
};

cuuint64_t graph_amount(const Gpu& gpu, CUgraphMem_attribute attribute) {
  cuuint64_t value = ~cuuint64_t{0};
  NVS_MUST(gpu->cuDeviceGetGraphMemAttribute(gpu.device(), attribute, &value));
  return value;
}
cuuint64_t reserved_for_graphs(const Gpu& gpu) {
  const cuuint64_t value = graph_amount(gpu, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT);
  EXPECT_EQ(graph_amount(gpu, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), value);
  return value;
}

// 0: the driver knows nothing there.
std::size_t bytes_at(const Gpu& gpu, CUdeviceptr address) {
  CUdeviceptr base = 0;
  std::size_t size = 0;
  const CUresult result = gpu->cuMemGetAddressRange_v2(&base, &size, address);
  if (result == CUDA_ERROR_NOT_FOUND) return 0;
  NVS_MUST(result);
  EXPECT_EQ(base, address);
  return size;
}

void run(const Gpu& gpu, CUgraphExec exec) {
  NVS_MUST(gpu->cuGraphLaunch(exec, nullptr));
  NVS_MUST(gpu->cuCtxSynchronize());
}

template <class Body>
void on_graph_machine(Body body) {
  const SimMachine machine;
  run_process(machine, [&](Line&) {
    const Gpu gpu;
    body(gpu);
  });
  EXPECT_EQ(machine.books().violations, 0U);
}

TEST(GraphMemoryTest, ItIsTakenAtTheFirstLaunchAndKeptUntilItIsTrimmed) {
  on_graph_machine([](const Gpu& gpu) {
    GraphOf graph(gpu);
    const CUdeviceptr data = graph.alloc({}, kOddBytes);
    EXPECT_NE(data, 0U);
    const CUgraphExec exec = graph.make();
    EXPECT_EQ(reserved_for_graphs(gpu), 0U);
    EXPECT_EQ(bytes_at(gpu, data), 0U);
    EXPECT_EQ(gpu->cuMemFree_v2(data), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(gpu->cuMemFreeAsync(data, nullptr), CUDA_ERROR_INVALID_VALUE);
    NVS_MUST(gpu->cuGraphUpload(exec, nullptr));
    EXPECT_EQ(reserved_for_graphs(gpu), kGraphSegment);
    run(gpu, exec);
    EXPECT_EQ(reserved_for_graphs(gpu), kGraphSegment);
    EXPECT_EQ(bytes_at(gpu, data), kOddBytes);
    NVS_MUST(gpu->cuMemsetD8_v2(data, 7, kOddBytes));
    NVS_MUST(gpu->cuMemFree_v2(data));
    EXPECT_EQ(reserved_for_graphs(gpu), kGraphSegment);
    NVS_MUST(gpu->cuDeviceGraphMemTrim(gpu.device()));
    EXPECT_EQ(reserved_for_graphs(gpu), 0U);
    EXPECT_EQ(graph_amount(gpu, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH), kGraphSegment);
    cuuint64_t zero = 0;
    NVS_MUST(gpu->cuDeviceSetGraphMemAttribute(gpu.device(), CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH,
                                               &zero));
    EXPECT_EQ(graph_amount(gpu, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH), 0U);
  });
}

TEST(GraphMemoryTest, OneAfterTheOtherHaveOneAddressAndSideBySideTwo) {
  on_graph_machine([](const Gpu& gpu) {
    GraphOf graph(gpu);
    const CUdeviceptr first = graph.alloc({}, kGraphSegment);
    const CUgraphNode allocated = graph.last();
    const CUgraphNode freed = graph.free({allocated}, first);
    EXPECT_EQ(graph.alloc({freed}, kGraphSegment), first);
    graph.free({graph.last()}, first);
    run(gpu, graph.make());
    EXPECT_EQ(reserved_for_graphs(gpu), kGraphSegment);
    EXPECT_EQ(bytes_at(gpu, first), 0U);

    GraphOf wide(gpu);
    const CUdeviceptr one = wide.alloc({}, kGraphSegment);
    wide.free({wide.last()}, one);
    EXPECT_NE(wide.alloc({}, kGraphSegment), one) << "nothing says that it comes after the free";
    run(gpu, wide.make());
    EXPECT_EQ(reserved_for_graphs(gpu), 2 * kGraphSegment);
  });
}

TEST(GraphMemoryTest, GraphsThatRunOneAfterTheOtherShareIt) {
  on_graph_machine([](const Gpu& gpu) {
    for (const std::size_t segments : {1U, 2U}) {
      GraphOf graph(gpu);
      const CUdeviceptr data = graph.alloc({}, segments * kGraphSegment);
      graph.free({graph.last()}, data);
      run(gpu, graph.make());
      EXPECT_EQ(reserved_for_graphs(gpu), segments * kGraphSegment);
    }
  });
}

TEST(GraphMemoryTest, WhatIsLeftIsInTheWayOfTheNextLaunch) {
  on_graph_machine([](const Gpu& gpu) {
    GraphOf graph(gpu);
    const CUdeviceptr data = graph.alloc({}, kOddBytes);
    const CUgraphExec exec = graph.make();
    NVS_MUST(gpu->cuGraphLaunch(exec, nullptr));
    EXPECT_EQ(gpu->cuGraphLaunch(exec, nullptr), CUDA_ERROR_INVALID_VALUE);
    NVS_MUST(gpu->cuMemFreeAsync(data, nullptr));
    run(gpu, exec);
    NVS_MUST(gpu->cuGraphExecDestroy(exec));
    NVS_MUST(gpu->cuMemFree_v2(data));
    const CUgraphExec freeing = graph.make(CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
    run(gpu, freeing);
    run(gpu, freeing);
    EXPECT_EQ(bytes_at(gpu, data), kOddBytes);
  });
}

TEST(GraphMemoryTest, WhatIsLeftOutlivesItsGraph) {
  on_graph_machine([](const Gpu& gpu) {
    GraphOf graph(gpu);
    const CUdeviceptr data = graph.alloc({}, kOddBytes);
    const CUgraphExec exec = graph.make();
    run(gpu, exec);
    NVS_MUST(gpu->cuGraphExecDestroy(exec));
    NVS_MUST(gpu->cuGraphDestroy(graph.get()));
    EXPECT_EQ(bytes_at(gpu, data), kOddBytes);
    NVS_MUST(gpu->cuMemsetD8_v2(data, 7, kOddBytes));
    NVS_MUST(gpu->cuMemFree_v2(data));
    EXPECT_EQ(bytes_at(gpu, data), 0U);
  });
}

TEST(GraphMemoryTest, WhatSuchAGraphCannotDo) {
  on_graph_machine([](const Gpu& gpu) {
    GraphOf graph(gpu);
    graph.alloc({}, kOddBytes);
    CUgraph clone = nullptr;
    EXPECT_EQ(gpu->cuGraphClone(&clone, graph.get()), CUDA_ERROR_NOT_SUPPORTED);
    EXPECT_EQ(gpu->cuGraphDestroyNode(graph.last()), CUDA_ERROR_NOT_SUPPORTED);
    GraphOf parent(gpu);
    CUgraphNode node = nullptr;
    EXPECT_EQ(gpu->cuGraphAddChildGraphNode(&node, parent.get(), nullptr, 0, graph.get()),
              CUDA_ERROR_NOT_SUPPORTED);
    const CUgraphExec exec = graph.make();
    CUgraphExec second = nullptr;
    EXPECT_EQ(gpu->cuGraphInstantiateWithFlags(&second, graph.get(), 0), CUDA_ERROR_NOT_SUPPORTED);
    NVS_MUST(gpu->cuGraphExecDestroy(exec));
    graph.make();
  });
}

TEST(GraphMemoryTest, TooMuchOfItIsRefusedAtTheNodeOrAtTheLaunch) {
  on_graph_machine([](const Gpu& gpu) {
    std::size_t free = 0;
    std::size_t total = 0;
    NVS_MUST(gpu->cuMemGetInfo_v2(&free, &total));
    GraphOf graph(gpu);
    CUdeviceptr data = 0;
    EXPECT_EQ(graph.try_alloc({}, 8 * total, data), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(graph.try_alloc({}, 0, data), CUDA_ERROR_INVALID_VALUE);
    graph.alloc({}, total / 3 * 2);
    graph.alloc({}, total / 3 * 2);
    const CUgraphExec exec = graph.make();
    EXPECT_EQ(gpu->cuGraphUpload(exec, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(gpu->cuGraphLaunch(exec, nullptr), CUDA_ERROR_OUT_OF_MEMORY);
  });
}

TEST(GraphMemoryTest, ACaptureMakesTheSameNodes) {
  on_graph_machine([](const Gpu& gpu) {
    const CUstream stream = gpu.stream();
    NVS_MUST(gpu->cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CUdeviceptr data = 0;
    EXPECT_EQ(gpu->cuMemAllocAsync(&data, std::size_t{1} << 40U, stream), CUDA_ERROR_OUT_OF_MEMORY);
    NVS_MUST(gpu->cuMemAllocAsync(&data, kOddBytes, stream));
    NVS_MUST(gpu->cuMemsetD8Async(data, 7, kOddBytes, stream));
    NVS_MUST(gpu->cuMemFreeAsync(data, stream));
    CUdeviceptr left = 0;
    NVS_MUST(gpu->cuMemAllocAsync(&left, kOddBytes, stream));
    EXPECT_EQ(left, data);
    CUgraph graph = nullptr;
    NVS_MUST(gpu->cuStreamEndCapture(stream, &graph));
    CUgraphNode nodes[4];
    std::size_t count = 4;
    NVS_MUST(gpu->cuGraphGetNodes(graph, nodes, &count));
    ASSERT_EQ(count, 4U);
    CUgraphNodeType type{};
    NVS_MUST(gpu->cuGraphNodeGetType(nodes[0], &type));
    EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    CUDA_MEM_ALLOC_NODE_PARAMS params{};
    NVS_MUST(gpu->cuGraphMemAllocNodeGetParams(nodes[0], &params));
    EXPECT_EQ(params.bytesize, kOddBytes);
    EXPECT_EQ(params.dptr, data);
    EXPECT_EQ(params.poolProps.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
    EXPECT_EQ(params.poolProps.location.id, 0);
    NVS_MUST(gpu->cuGraphNodeGetType(nodes[2], &type));
    EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_MEM_FREE);
    CUdeviceptr freed = 0;
    NVS_MUST(gpu->cuGraphMemFreeNodeGetParams(nodes[2], &freed));
    EXPECT_EQ(freed, data);
    CUgraphExec exec = nullptr;
    NVS_MUST(gpu->cuGraphInstantiateWithFlags(&exec, graph, 0));
    run(gpu, exec);
    EXPECT_EQ(bytes_at(gpu, left), kOddBytes);
  });
}

TEST(GraphMemoryTest, NodesOfAnyKindDoTheSame) {
  on_graph_machine([](const Gpu& gpu) {
    GraphOf graph(gpu);
    CUgraphNodeParams params{};
    params.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
    params.alloc.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    params.alloc.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    params.alloc.bytesize = kOddBytes;
    CUgraphNode allocated = nullptr;
    NVS_MUST(gpu->cuGraphAddNode(&allocated, graph.get(), nullptr, 0, &params));
    const CUdeviceptr data = params.alloc.dptr;
    CUgraphNodeParams free{};
    free.type = CU_GRAPH_NODE_TYPE_MEM_FREE;
    free.free.dptr = data;
    CUgraphNode freed = nullptr;
    NVS_MUST(gpu->cuGraphAddNode_v2(&freed, graph.get(), &allocated, nullptr, 1, &free));
    const CUgraphExec exec = graph.make();
    run(gpu, exec);
    run(gpu, exec);
    EXPECT_EQ(bytes_at(gpu, data), 0U);
  });
}

}  // namespace
}  // namespace nvs::sim_test
