// SPDX-License-Identifier: Apache-2.0
// How long the memory of a graph's nodes counts.
#include "interposer/memory/fixed.h"
#include "interposer/memory/graph_fixture.h"

namespace nvs::interposer::memory::graph_tests {
namespace {

using account::FakeAccount;

class GraphLivesTest : public GraphFixture {
 protected:
  void SetUp() override {
    GraphFixture::SetUp();
    account_ = std::make_unique<FakeAccount>(10 * kBytes);
    join(*account_);
  }
  std::uint64_t used() const { return account_->used(); }

  std::unique_ptr<FakeAccount> account_;
};

TEST_F(GraphLivesTest, UntilGraphAndExecutableAreGoneInAnyOrder) {
  add(one_, kAt);
  CUgraphExec exec = instantiate(one_);
  EXPECT_EQ(hooks::cuGraphDestroy(one_), CUDA_SUCCESS);
  EXPECT_EQ(used(), kBytes);
  EXPECT_EQ(hooks::cuGraphExecDestroy(exec), CUDA_SUCCESS);
  EXPECT_EQ(used(), 0U);
  add(one_, kAt);
  exec = instantiate(one_);
  EXPECT_EQ(hooks::cuGraphExecDestroy(exec), CUDA_SUCCESS);
  EXPECT_EQ(used(), kBytes);
  exec = instantiate(one_);
  EXPECT_EQ(hooks::cuGraphExecDestroy(exec), CUDA_SUCCESS);
  EXPECT_EQ(hooks::cuGraphDestroy(one_), CUDA_SUCCESS);
  EXPECT_EQ(used(), 0U);
  EXPECT_FALSE(graphs::is_any());
}

TEST_F(GraphLivesTest, EveryWayToInstantiateIsSeen) {
  CUDA_GRAPH_INSTANTIATE_PARAMS params{};
  const auto check = [&](auto make) {
    add(one_, kAt);
    CUgraphExec exec = nullptr;
    EXPECT_EQ(make(&exec), CUDA_SUCCESS);
    hooks::cuGraphDestroy(one_);
    EXPECT_EQ(used(), kBytes);
    hooks::cuGraphExecDestroy(exec);
    EXPECT_EQ(used(), 0U);
  };
  check([&](CUgraphExec* exec) {
    return hooks::cuGraphInstantiate(exec, one_, nullptr, nullptr, 0);
  });
  check([&](CUgraphExec* exec) {
    return hooks::cuGraphInstantiate_v2(exec, one_, nullptr, nullptr, 0);
  });
  check([&](CUgraphExec* exec) { return hooks::cuGraphInstantiateWithFlags(exec, one_, 0); });
  check(
      [&](CUgraphExec* exec) { return hooks::cuGraphInstantiateWithParams(exec, one_, &params); });
  check([&](CUgraphExec* exec) {
    return hooks::cuGraphInstantiateWithParams_ptsz(exec, one_, &params);
  });
}

TEST_F(GraphLivesTest, WhatTheDriverDoesNotDestroyGoesOnCounting) {
  add(one_, kAt);
  const CUgraphExec exec = instantiate(one_);
  fake.result = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(hooks::cuGraphDestroy(one_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(hooks::cuGraphExecDestroy(exec), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(used(), kBytes);
  fake.result = CUDA_SUCCESS;
  hooks::cuGraphDestroy(one_);
  EXPECT_EQ(used(), kBytes);
  hooks::cuGraphExecDestroy(exec);
  EXPECT_EQ(used(), 0U);
}

TEST_F(GraphLivesTest, WhatAGraphLeavesCountsUntilItIsFreed) {
  add(one_, kAt);
  add(one_, kElsewhere);
  const CUgraphExec exec = instantiate(one_);
  fake.is_there = {kAt};  // the other one has been freed by the program
  hooks::cuMemFree_v2(kElsewhere);
  EXPECT_EQ(used(), 2 * kBytes) << "it may be launched again";
  hooks::cuGraphDestroy(one_);
  hooks::cuGraphExecDestroy(exec);
  EXPECT_EQ(used(), kBytes);
  EXPECT_FALSE(graphs::is_any());
  driver_.result = CUDA_ERROR_INVALID_VALUE;
  hooks::cuMemFreeAsync(kAt, nullptr);
  EXPECT_EQ(used(), kBytes);
  driver_.result = CUDA_SUCCESS;
  hooks::cuMemFreeAsync(kAt, nullptr);
  EXPECT_EQ(used(), 0U);
}

TEST_F(GraphLivesTest, WhatItFreesItselfIsNotLeft) {
  add(one_, kAt);
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_MEM_FREE;
  params.free.dptr = kAt;
  EXPECT_EQ(add_through_any(one_, params), CUDA_SUCCESS);
  fake.is_there = {kAt};  // of another graph, which has the address by now
  hooks::cuGraphDestroy(one_);
  EXPECT_EQ(used(), 0U);
}

// Nobody tells us when a graph frees what another one has left.
TEST_F(GraphLivesTest, WhatOthersFreedIsFoundBeforeAnythingIsRefused) {
  add(one_, kAt);
  fake.is_there = {kAt};
  hooks::cuGraphDestroy(one_);
  EXPECT_EQ(used(), kBytes);
  EXPECT_EQ(add(two_, kElsewhere, 9 * kBytes + 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(used(), kBytes);
  fake.is_there = {};
  EXPECT_EQ(add(two_, kElsewhere, 10 * kBytes), CUDA_SUCCESS);
  EXPECT_EQ(used(), 10 * kBytes);
}

TEST_F(GraphLivesTest, AGraphThatIsMovedIntoAnotherGoesWithIt) {
  add(one_, kAt);
  add(two_, kElsewhere);
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_GRAPH;
  params.graph = {one_, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE};
  EXPECT_EQ(add_through_any(two_, params), CUDA_SUCCESS);
  const CUgraphExec exec = instantiate(two_);
  hooks::cuGraphDestroy(two_);
  EXPECT_EQ(used(), 2 * kBytes);
  hooks::cuGraphExecDestroy(exec);
  EXPECT_EQ(used(), 0U);
  EXPECT_FALSE(graphs::is_any());
}

// As on the card: graphs and their memory are of the process.
TEST_F(GraphLivesTest, LongerThanTheContext) {
  add(one_, kAt);
  const CUgraphExec exec = instantiate(one_);
  fake.is_there = {kAt};
  EXPECT_EQ(hooks::cuCtxDestroy_v2(driver_.current), CUDA_SUCCESS);
  EXPECT_EQ(used(), kBytes);
  driver_.current = handle_of<CUcontext>(0xbeef);
  hooks::cuGraphExecDestroy(exec);
  hooks::cuGraphDestroy(one_);
  EXPECT_EQ(used(), kBytes);
  hooks::cuMemFree_v2(kAt);
  EXPECT_EQ(used(), 0U);
}

TEST_F(GraphLivesTest, WhatNobodyCanBeAskedAboutIsThere) {
  add(one_, kAt);
  driver_.current = nullptr;
  set_real_for_test<Row::cuMemGetAddressRange_v2>(
      [](CUdeviceptr*, size_t*, CUdeviceptr) { return CUDA_ERROR_INVALID_CONTEXT; });
  hooks::cuGraphDestroy(one_);
  EXPECT_EQ(used(), kBytes);
  driver_.current = handle_of<CUcontext>(kContext);
  set_real_for_test<Row::cuMemGetAddressRange_v2>(&range);
  EXPECT_TRUE(graphs::forget_freed(0));
  EXPECT_EQ(used(), 0U);
}

TEST_F(GraphLivesTest, ACaptureThatMakesAGraph) {
  begin_capture_of(stream_, one_);
  EXPECT_EQ(take_in(stream_), CUDA_SUCCESS);
  EXPECT_EQ(take_in(stream_, kElsewhere), CUDA_SUCCESS);
  EXPECT_EQ(hooks::cuMemFreeAsync(kAt, stream_), CUDA_SUCCESS);
  EXPECT_EQ(used(), 2 * kBytes) << "that is a node too";
  CUgraph made = nullptr;
  EXPECT_EQ(hooks::cuStreamEndCapture(stream_, &made), CUDA_SUCCESS);
  EXPECT_EQ(used(), 2 * kBytes);
  EXPECT_EQ(hooks::cuStreamDestroy_v2(stream_), CUDA_SUCCESS);
  EXPECT_EQ(used(), 2 * kBytes);
  fake.is_there = {kAt, kElsewhere};
  hooks::cuGraphDestroy(made);
  EXPECT_EQ(used(), kBytes) << "what it does not free";
}

TEST_F(GraphLivesTest, ACaptureThatComesToNothing) {
  for (const bool is_invalid : {true, false}) {
    begin_capture_of(stream_, one_);
    EXPECT_EQ(take_in(stream_), CUDA_SUCCESS);
    EXPECT_EQ(used(), kBytes);
    fake.end_result = is_invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
    CUgraph made = nullptr;
    hooks::cuStreamEndCapture(stream_, is_invalid ? &made : nullptr);
    EXPECT_EQ(used(), 0U);
    EXPECT_FALSE(graphs::is_any());
  }
}

TEST_F(GraphLivesTest, ACaptureWhoseStreamGoes) {
  begin_capture_of(stream_, one_);
  EXPECT_EQ(take_in(stream_), CUDA_SUCCESS);
  EXPECT_EQ(hooks::cuStreamDestroy_v2(stream_), CUDA_SUCCESS);
  EXPECT_EQ(used(), 0U);
}

// Other threads may have destroyed the streams of theirs.
TEST_F(GraphLivesTest, ANodeAsksAboutNoOtherStreamThanItsOwn) {
  static std::set<CUstream> asked;
  begin_capture_of(handle_of<CUstream>(0x58), two_);
  begin_capture_of(stream_, one_);
  asked = {};
  set_real_for_test<Row::cuStreamGetCaptureInfo_v3>(
      [](CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
         const CUgraphNode** nodes, const CUgraphEdgeData** edges, size_t* count) {
        asked.insert(stream);
        return capture_info(stream, status, id, graph, nodes, edges, count);
      });
  EXPECT_EQ(take_in(stream_), CUDA_SUCCESS);
  EXPECT_EQ(asked, std::set<CUstream>{stream_});
  EXPECT_EQ(hooks::cuStreamDestroy_v2(stream_), CUDA_SUCCESS);
  EXPECT_EQ(used(), 0U) << "its capture was known all the same";
}

TEST_F(GraphLivesTest, AGraphOfTheProgramOutlivesAFailedCaptureIntoIt) {
  set_real_for_test<Row::cuStreamBeginCaptureToGraph>(&say);
  EXPECT_EQ(hooks::cuStreamBeginCaptureToGraph(stream_, one_, nullptr, nullptr, 0,
                                               CU_STREAM_CAPTURE_MODE_RELAXED),
            CUDA_SUCCESS);
  fake.captured = one_;
  fake.captured_stream = stream_;
  set_real_for_test<Row::cuMemAllocAsync>(&alloc_captured);
  EXPECT_EQ(take_in(stream_), CUDA_SUCCESS);
  fake.end_result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  CUgraph made = nullptr;
  hooks::cuStreamEndCapture(stream_, &made);
  EXPECT_EQ(used(), kBytes);
  hooks::cuGraphDestroy(one_);
  EXPECT_EQ(used(), 0U);
  forget<Row::cuStreamBeginCaptureToGraph>();
}

TEST_F(GraphLivesTest, ANodeIsOnItsStreamsGpu) {
  set_real_for_test<Row::cuStreamGetCtx>([](CUstream, CUcontext* out) {
    *out = handle_of<CUcontext>(0xbeef);
    return CUDA_SUCCESS;
  });
  set_real_for_test<Row::cuCtxPushCurrent_v2>([](CUcontext) {
    mock_driver().device = 1;
    return CUDA_SUCCESS;
  });
  set_real_for_test<Row::cuCtxPopCurrent_v2>([](CUcontext*) {
    mock_driver().device = 0;
    return CUDA_SUCCESS;
  });
  begin_capture_of(stream_, one_);
  EXPECT_EQ(take_in(stream_), CUDA_SUCCESS);
  EXPECT_EQ(used(), 0U);
  EXPECT_EQ(books().charged(1), kBytes);
  forget<Row::cuStreamGetCtx, Row::cuCtxPushCurrent_v2, Row::cuCtxPopCurrent_v2>();
}

// Of whichever GPU the context is.
TEST_F(GraphLivesTest, WhatAGraphLeavesIsWhereItsNodeIs) {
  CUDA_MEM_ALLOC_NODE_PARAMS params = params_of(kBytes, 1);
  EXPECT_EQ(hooks::cuGraphAddMemAllocNode(nullptr, one_, nullptr, 0, &params), CUDA_SUCCESS);
  fake.is_there = {kAt};
  hooks::cuGraphDestroy(one_);
  EXPECT_EQ(left_by_graphs(1), kBytes);
  EXPECT_EQ(allocated_on(1), kBytes);
  EXPECT_EQ(fixed_in_books(0) + fixed_in_books(1) + left_by_graphs(0) + allocated_on(0), 0U);
  hooks::cuMemFree_v2(kAt);
  EXPECT_EQ(left_by_graphs(1), 0U);
  EXPECT_EQ(allocated_on(1), 0U);
}

TEST_F(GraphLivesTest, AForkedChildHasNone) {
  add(one_, kAt);
  graphs::start_over_in_child();
  EXPECT_FALSE(graphs::is_any());
  EXPECT_EQ(hooks::cuGraphDestroy(one_), CUDA_SUCCESS);
}

TEST_F(GraphLivesTest, WithoutMemoryNodesTheDriverIsAskedNothingMore) {
  driver_.calls.clear();
  EXPECT_EQ(hooks::cuGraphDestroy(one_), CUDA_SUCCESS);
  instantiate(one_);
  EXPECT_EQ(free_in(one_, kAt), CUDA_SUCCESS);
  EXPECT_TRUE(driver_.calls.empty());
}

}  // namespace
}  // namespace nvs::interposer::memory::graph_tests
