// SPDX-License-Identifier: Apache-2.0
// Memory nodes of graphs under a limit on the tenant's memory: which bytes count, and what is
// refused.
#include "interposer/memory/graph_fixture.h"

namespace nvs::interposer::memory::graph_tests {
namespace {

using account::FakeAccount;

class GraphHooksTest : public GraphFixture {};

CUresult add_by_call(CUgraph graph, CUstream, std::size_t bytes) {
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  params.bytesize = bytes;
  return hooks::cuGraphAddMemAllocNode(nullptr, graph, nullptr, 0, &params);
}
CUgraphNodeParams any_of(std::size_t bytes) {
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC;
  params.alloc.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  params.alloc.bytesize = bytes;
  return params;
}
CUresult add_by_any(CUgraph graph, CUstream, std::size_t bytes) {
  CUgraphNodeParams params = any_of(bytes);
  return hooks::cuGraphAddNode(nullptr, graph, nullptr, 0, &params);
}
CUresult add_by_any_with_edges(CUgraph graph, CUstream, std::size_t bytes) {
  CUgraphNodeParams params = any_of(bytes);
  return hooks::cuGraphAddNode_v2(nullptr, graph, nullptr, nullptr, 0, &params);
}
CUresult add_by_capture(CUgraph, CUstream stream, std::size_t bytes) {
  CUdeviceptr out = 0;
  return hooks::cuMemAllocAsync(&out, bytes, stream);
}
CUresult add_by_pool(CUgraph, CUstream stream, std::size_t bytes) {
  CUdeviceptr out = 0;
  return hooks::cuMemAllocFromPoolAsync(&out, bytes, handle_of<CUmemoryPool>(9), stream);
}
CUresult pool_captured(CUdeviceptr* out, size_t bytes, CUmemoryPool, CUstream stream) {
  return alloc_captured(out, bytes, stream);
}

struct Way {
  const char* name;
  CUresult (*add)(CUgraph graph, CUstream stream, std::size_t bytes);
};
constexpr Way kWays[] = {
    {"cuGraphAddMemAllocNode", &add_by_call},      {"cuGraphAddNode", &add_by_any},
    {"cuGraphAddNode_v2", &add_by_any_with_edges}, {"cuMemAllocAsync", &add_by_capture},
    {"cuMemAllocFromPoolAsync", &add_by_pool},
};

TEST_F(GraphHooksTest, EveryWayWorksAtTheLimitAndIsRefusedAboveIt) {
  for (const Way& way : kWays) {
    SCOPED_TRACE(way.name);
    SetUp();
    FakeAccount account(kBytes - 1);
    join(account);
    begin_capture_of(stream_, one_);
    set_real_for_test<Row::cuMemAllocFromPoolAsync>(&pool_captured);
    EXPECT_EQ(way.add(one_, stream_, kBytes), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(fake.added, 0) << "before anything is asked of the driver";
    EXPECT_EQ(account.used(), 0U);
    EXPECT_FALSE(graphs::is_any());
    account.set_limit(kBytes);
    EXPECT_EQ(way.add(one_, stream_, kBytes), CUDA_SUCCESS);
    EXPECT_EQ(account.used(), kBytes);
    EXPECT_EQ(way.add(one_, stream_, 1), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(fake.added, 1);
    EXPECT_EQ(hooks::cuGraphDestroy(one_), CUDA_SUCCESS);
    EXPECT_EQ(account.used(), 0U);
    EXPECT_FALSE(graphs::is_any());
  }
}

TEST_F(GraphHooksTest, WhatTheDriverRefusesIsGivenBack) {
  const FakeAccount account(kBytes);
  join(account);
  fake.result = CUDA_ERROR_INVALID_VALUE;
  EXPECT_EQ(add(one_, kAt), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(add(one_, kAt, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(account.used(), 0U);
  EXPECT_EQ(books().totals().allocations, 0U);
  EXPECT_FALSE(graphs::is_any());
}

TEST_F(GraphHooksTest, NodesSideBySideCountAndThoseAtOneAddressCountOnce) {
  const FakeAccount account(10 * kBytes);
  join(account);
  add(one_, kAt);
  add(one_, kElsewhere);
  EXPECT_EQ(account.used(), 2 * kBytes);
  free_in(one_, kAt);
  add(one_, kAt);
  EXPECT_EQ(account.used(), 2 * kBytes);
  free_in(one_, kAt);
  add(one_, kAt, kBytes + 7);
  EXPECT_EQ(account.used(), 2 * kBytes + 7);
  add(two_, kAt + 0x1000'0000);
  EXPECT_EQ(account.used(), 3 * kBytes + 7) << "graphs count as though they ran at once";
  hooks::cuGraphDestroy(one_);
  EXPECT_EQ(account.used(), kBytes);
  hooks::cuGraphDestroy(two_);
  EXPECT_EQ(account.used(), 0U);
}

// Side by side two of them would be too much.
TEST_F(GraphHooksTest, OneAfterTheOtherIsNotRefusedForWhatIsFreedBefore) {
  const FakeAccount account(kBytes + 5);
  join(account);
  EXPECT_EQ(add(one_, kAt), CUDA_SUCCESS);
  EXPECT_EQ(add(one_, kAt), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(fake.added, 1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(free_in(one_, kAt), CUDA_SUCCESS);
    EXPECT_EQ(add(one_, kAt), CUDA_SUCCESS);
  }
  EXPECT_EQ(account.used(), kBytes);
  EXPECT_EQ(free_in(one_, kAt), CUDA_SUCCESS);
  EXPECT_EQ(add(one_, kAt, kBytes + 5), CUDA_SUCCESS);
  EXPECT_EQ(account.used(), kBytes + 5);
  instantiate(one_);
}

// Only the address shows it, and the driver cannot take nodes away.
TEST_F(GraphHooksTest, AGraphWithANodeThatIsTooMuchAfterAllCannotBeInstantiated) {
  const FakeAccount account(kBytes + 5);
  join(account);
  add(one_, kAt);
  add(two_, kAt + 0x1000'0000, 5);
  free_in(one_, kAt);
  EXPECT_EQ(add(one_, kElsewhere), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(fake.added, 3);
  EXPECT_EQ(account.used(), kBytes + 5);
  CUgraphExec exec = nullptr;
  CUDA_GRAPH_INSTANTIATE_PARAMS params{};
  EXPECT_EQ(hooks::cuGraphInstantiate(&exec, one_, nullptr, nullptr, 0), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(hooks::cuGraphInstantiate_v2(&exec, one_, nullptr, nullptr, 0),
            CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(hooks::cuGraphInstantiateWithFlags(&exec, one_, 0), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(hooks::cuGraphInstantiateWithParams(&exec, one_, &params), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(hooks::cuGraphInstantiateWithParams_ptsz(&exec, one_, &params),
            CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(exec, nullptr);
  instantiate(two_);
  hooks::cuGraphDestroy(one_);
  EXPECT_EQ(account.used(), 5U);
}

TEST_F(GraphHooksTest, WithoutALimitAllIsCountedAndNothingRefused) {
  FakeAccount account;
  join(account);
  add(one_, kAt);
  add(one_, kElsewhere, std::size_t{1} << 40U);
  EXPECT_EQ(account.used(), kBytes + (std::size_t{1} << 40U));
  EXPECT_EQ(bytes(MemoryKind::graph), 0U) << "nobody knows how much of it there is";
  EXPECT_EQ(counts(MemoryKind::graph).count_now, 2U);
  account.set_limit(1);
  EXPECT_EQ(add(two_, kAt + 0x1000'0000, 1), CUDA_ERROR_OUT_OF_MEMORY);
  hooks::cuGraphDestroy(one_);
  EXPECT_EQ(add(two_, kAt + 0x1000'0000, 1), CUDA_SUCCESS);
}

TEST_F(GraphHooksTest, EachGpuHasItsOwn) {
  const FakeAccount account(kBytes);
  join(account);
  session::memory_announces(1);
  session::memory_known(1, false);
  account::gpu_numbered(1, 1);
  add(one_, kAt);
  fake.address = kElsewhere;
  CUDA_MEM_ALLOC_NODE_PARAMS params = params_of(kBytes, 1);
  EXPECT_EQ(hooks::cuGraphAddMemAllocNode(nullptr, one_, nullptr, 0, &params), CUDA_SUCCESS);
  fake.address = kElsewhere + 0x1000'0000;
  params.poolProps.location = {CU_MEM_LOCATION_TYPE_HOST, 0};
  EXPECT_EQ(hooks::cuGraphAddMemAllocNode(nullptr, one_, nullptr, 0, &params), CUDA_SUCCESS);
  EXPECT_EQ(account.used(0, 0), kBytes);
  EXPECT_EQ(account.used(0, 1), kBytes);
  EXPECT_EQ(counts(MemoryKind::graph).count_now, 2U) << "that of the host counts nowhere";
  fake.is_there = {kElsewhere};
  hooks::cuGraphDestroy(one_);
  EXPECT_EQ(account.used(0, 0), 0U);
  EXPECT_EQ(account.used(0, 1), kBytes);
  hooks::cuMemFree_v2(kElsewhere);
  EXPECT_EQ(account.used(0, 1), 0U);
}

}  // namespace
}  // namespace nvs::interposer::memory::graph_tests
