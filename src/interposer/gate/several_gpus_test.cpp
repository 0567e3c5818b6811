// SPDX-License-Identifier: Apache-2.0
// Calls in a process with several GPUs: each waits at the gates of those that it is for, and at no
// other.
#include <functional>
#include <thread>
#include <vector>

#include "interposer/exports/test_real.h"
#include "interposer/flow/flow.h"
#include "interposer/flow/test_events.h"
#include "interposer/gate/gated_call.h"
#include "interposer/gate/graph_gpus.h"
#include "interposer/gate/named_memory.h"
#include "interposer/gate/test_gate.h"
#include "interposer/session/contexts.h"
#include "interposer/session/memory.h"
#include "interposer/session/session.h"
#include "os/linux_calls.h"

namespace nvs::interposer {
namespace {

CUcontext context_on(std::intptr_t gpu) { return reinterpret_cast<CUcontext>((gpu + 1) * 64); }
const auto kUnknown = reinterpret_cast<CUcontext>(std::uintptr_t{0x7777});
const auto kItsStream = reinterpret_cast<CUstream>(std::uintptr_t{0x5000});

template <class... Arguments>
CUresult succeed(Arguments...) {
  return CUDA_SUCCESS;
}

// Of three GPUs the first is current.
class SeveralGpus : public GateTest {
 protected:
  void SetUp() override {
    GateTest::SetUp();
    contexts::start_over_in_child();
    for (int gpu = 0; gpu < 3; ++gpu) contexts::created(context_on(gpu), gpu);
    set_real_for_test<Row::cuMemcpyPeerAsync>(&succeed);
    set_real_for_test<Row::cuMemcpyPeer>(&succeed);
    set_real_for_test<Row::cuMemcpy3DPeer>(&succeed);
    set_real_for_test<Row::cuGraphAddMemsetNode>(&succeed);
    set_real_for_test<Row::cuCtxPushCurrent_v2>(
        [](CUcontext) -> CUresult { return CUDA_ERROR_INVALID_CONTEXT; });
    set_real_for_test<Row::cuCtxPopCurrent_v2>(&succeed);
  }
  void TearDown() override {
    contexts::start_over_in_child();
    set_real_for_test<Row::cuCtxPushCurrent_v2>(nullptr);
    set_real_for_test<Row::cuCtxPopCurrent_v2>(nullptr);
    GateTest::TearDown();
  }

  // With the gate of that GPU closed.
  static bool waits(int gpu, const std::function<CUresult()>& call) {
    EXPECT_TRUE(gate::close(gpu, kNoLimit));
    std::atomic<int> id{0};
    std::atomic<bool> done{false};
    std::thread caller([&] {
      id = os::thread_id();
      EXPECT_EQ(call(), CUDA_SUCCESS);
      done = true;
      while (gate::is_closed(gpu)) std::this_thread::yield();
    });
    while (id == 0) std::this_thread::yield();
    while (!done && !is_asleep(id)) std::this_thread::yield();
    const bool has_waited = !done;
    gate::open(gpu);
    caller.join();
    return has_waited;
  }

  static CUresult copy(CUcontext to, CUcontext from) {
    return GatedCall<Row::cuMemcpyPeerAsync>::call(0x1000, to, 0x2000, from, 16, kItsStream);
  }
};

TEST_F(SeveralGpus, ACopyBetweenTwoWaitsForThem) {
  const auto between = [] { return copy(context_on(1), context_on(2)); };
  EXPECT_TRUE(waits(1, between));
  EXPECT_TRUE(waits(2, between));
  EXPECT_TRUE(waits(0, between)) << "its stream's";
}

TEST_F(SeveralGpus, ACopyBetweenTwoLeavesTheOthersAlone) {
  EXPECT_FALSE(waits(2, [] { return copy(context_on(0), context_on(1)); }));
  EXPECT_FALSE(waits(2, [] {
    return GatedCall<Row::cuMemcpyPeer>::call(0x1000, context_on(1), 0x2000, context_on(0), 16);
  }));
  EXPECT_FALSE(waits(2, [] {
    CUDA_MEMCPY3D_PEER all{};
    all.srcContext = context_on(0);
    all.dstContext = context_on(1);
    return GatedCall<Row::cuMemcpy3DPeer>::call(&all);
  }));
}

TEST_F(SeveralGpus, ANodeIsForTheGpuOfItsContext) {
  const auto add = [] {
    return GatedCall<Row::cuGraphAddMemsetNode>::call(nullptr, nullptr, nullptr, 0, nullptr,
                                                      context_on(1));
  };
  EXPECT_TRUE(waits(1, add));
  EXPECT_FALSE(waits(2, add));
}

// What a graph holds: a node's handle is its address.
struct FakeNode {
  CUgraphNodeType type;
  CUcontext context;
  std::vector<FakeNode> child;
  CUdeviceptr memory;
};

// Memory that does not move: the driver tells of an address which GPU it is of.
constexpr CUdeviceptr kMemory = 0x10000;
CUresult tell_of_memory(void* out, CUpointer_attribute attribute, CUdeviceptr address) {
  if (address < kMemory) return CUDA_ERROR_INVALID_VALUE;
  const bool is_type = attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
  *static_cast<int*>(out) =
      is_type ? int{CU_MEMORYTYPE_DEVICE} : static_cast<int>(address - kMemory);
  return CUDA_SUCCESS;
}

// Launched in a stream of the first GPU, whatever is in them.
class GraphsOnGpus : public SeveralGpus {
 protected:
  void SetUp() override {
    SeveralGpus::SetUp();
    use_gpus(3);
    gate::several = 1;
    set_real_for_test<Row::cuGraphLaunch>(&succeed);
    set_real_for_test<Row::cuGraphGetNodes>(
        [](CUgraph graph, CUgraphNode* out, size_t* count) -> CUresult {
          auto& nodes = *reinterpret_cast<std::vector<FakeNode>*>(graph);
          *count = nodes.size();
          for (std::size_t i = 0; out != nullptr && i < nodes.size(); ++i) {
            out[i] = reinterpret_cast<CUgraphNode>(&nodes[i]);
          }
          return CUDA_SUCCESS;
        });
    set_real_for_test<Row::cuGraphNodeGetType>([](CUgraphNode node, CUgraphNodeType* type) {
      *type = reinterpret_cast<FakeNode*>(node)->type;
      return CUDA_SUCCESS;
    });
    set_real_for_test<Row::cuGraphKernelNodeGetParams_v2>(
        [](CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* params) {
          params->ctx = reinterpret_cast<FakeNode*>(node)->context;
          return CUDA_SUCCESS;
        });
    set_real_for_test<Row::cuPointerGetAttribute>(&tell_of_memory);
    set_real_for_test<Row::cuGraphMemsetNodeGetParams>(
        [](CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* params) {
          params->dst = reinterpret_cast<FakeNode*>(node)->memory;
          return CUDA_SUCCESS;
        });
    set_real_for_test<Row::cuGraphMemcpyNodeGetParams>([](CUgraphNode node, CUDA_MEMCPY3D* params) {
      params->srcMemoryType = CU_MEMORYTYPE_HOST;
      params->srcDevice = kMemory + 2;  // means nothing
      params->dstMemoryType = CU_MEMORYTYPE_DEVICE;
      params->dstDevice = reinterpret_cast<FakeNode*>(node)->memory;
      return CUDA_SUCCESS;
    });
    set_real_for_test<Row::cuGraphChildGraphNodeGetGraph>([](CUgraphNode node, CUgraph* graph) {
      *graph = reinterpret_cast<CUgraph>(&reinterpret_cast<FakeNode*>(node)->child);
      return CUDA_SUCCESS;
    });
  }
  void TearDown() override {
    gate::forget_graphs_in_child();
    gate::forget_gpus_in_child();
    session::memory_start_over_in_child();
    flow::start_over_in_child();
    gate::set_bounded(false);
    SeveralGpus::TearDown();
  }

  static void use_gpus(int count) {
    session::start_over_in_child();
    for (int gpu = 0; gpu < 3; ++gpu) contexts::created(context_on(gpu), gpu);
    for (int gpu = 0; gpu < count; ++gpu) session::gpu_used(gpu);
    session::memory_announces(0);
  }
  static FakeNode kernel(CUcontext context) { return {CU_GRAPH_NODE_TYPE_KERNEL, context, {}, 0}; }
  static void make(std::vector<FakeNode> nodes) {
    gate::graph_instantiated(reinterpret_cast<CUgraph>(&nodes), kExec);
  }
  static CUresult launch_it() { return GatedCall<Row::cuGraphLaunch>::call(kExec, kItsStream); }
  // Whether a launch waits for this one of the GPUs.
  static bool needs(int gpu) { return waits(gpu, &launch_it); }

  static inline const auto kExec = reinterpret_cast<CUgraphExec>(std::uintptr_t{0xe000});
};

TEST_F(GraphsOnGpus, ALaunchWaitsForTheGpusOfAllKernels) {
  make({kernel(context_on(0)), kernel(context_on(1))});
  EXPECT_TRUE(needs(0));
  EXPECT_TRUE(needs(1));
  EXPECT_FALSE(needs(2));
}

TEST_F(GraphsOnGpus, AllKernelsMayBeOnAnotherThanTheStream) {
  make({kernel(context_on(1))});
  EXPECT_TRUE(needs(1));
  EXPECT_TRUE(needs(0));
}

TEST_F(GraphsOnGpus, AGraphOfOneGpuLeavesTheOthersAlone) {
  make({kernel(context_on(0)), {CU_GRAPH_NODE_TYPE_HOST, nullptr, {}, 0}});
  EXPECT_FALSE(needs(1));
}

TEST_F(GraphsOnGpus, CopiesAndFillsNeedTheGpuOfTheirMemory) {
  for (const CUgraphNodeType type : {CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_MEMSET}) {
    make({kernel(context_on(0)), {type, nullptr, {}, kMemory + 1}});
    EXPECT_TRUE(needs(1)) << type;
    EXPECT_FALSE(needs(2)) << type;
    make({kernel(context_on(0)), {type, nullptr, {}, 0x100}});
    EXPECT_FALSE(needs(1)) << "the host's, for all that is known";
  }
}

TEST_F(GraphsOnGpus, GraphsInGraphsCount) {
  make({{CU_GRAPH_NODE_TYPE_GRAPH,
         nullptr,
         {{CU_GRAPH_NODE_TYPE_GRAPH, nullptr, {kernel(context_on(1))}, 0}},
         0}});
  EXPECT_TRUE(needs(1));
  EXPECT_FALSE(needs(2));
}

TEST_F(GraphsOnGpus, WhatIsNotKnownMayWorkAnywhere) {
  EXPECT_TRUE(needs(2)) << "it was made without us";
  for (const FakeNode& node : {kernel(nullptr), kernel(kUnknown),
                               FakeNode{CU_GRAPH_NODE_TYPE_CONDITIONAL, nullptr, {}, 0}}) {
    make({kernel(context_on(0)), node});
    EXPECT_TRUE(needs(2)) << node.type;
  }
}

TEST_F(GraphsOnGpus, WhereOneIsUsedNobodyLooksIntoThem) {
  use_gpus(1);
  make({kernel(kUnknown)});
  use_gpus(3);
  EXPECT_TRUE(needs(0));
  EXPECT_FALSE(needs(1));
}

TEST_F(GraphsOnGpus, AHandleThatIsGivenAnewIsAnotherGraph) {
  make({kernel(context_on(1))});
  gate::graph_ends(kExec);
  EXPECT_TRUE(needs(2));
  make({kernel(context_on(1))});
  make({kernel(context_on(2))});
  EXPECT_TRUE(needs(2));
  EXPECT_FALSE(needs(1));
}

// Only the stream's GPU has a mark behind the launch.
TEST_F(GraphsOnGpus, MarksDoNotTellWhenKernelsOnOtherGpusAreDone) {
  flow::use_fake_events();
  make({kernel(context_on(0)), kernel(context_on(1))});
  for (int gpu = 0; gpu < 3; ++gpu) {
    flow::set_bound(gpu, 2'000'000);
    flow::emptied(gpu, flow::now(gpu));
  }
  gate::set_bounded(true);
  EXPECT_EQ(launch_it(), CUDA_SUCCESS);
  flow::Look look;
  ASSERT_TRUE(flow::look(1, look));
  EXPECT_FALSE(look.certain);
  ASSERT_TRUE(flow::look(2, look));
  EXPECT_TRUE(look.certain);
}

TEST_F(SeveralGpus, AContextThatIsNotKnownMayBeOfAny) {
  EXPECT_TRUE(waits(2, [] { return copy(context_on(0), kUnknown); }));
}

}  // namespace
}  // namespace nvs::interposer
