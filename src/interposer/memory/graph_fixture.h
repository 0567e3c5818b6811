// SPDX-License-Identifier: Apache-2.0
// For tests of memory nodes: a driver whose nodes have the addresses that the test says, under a
// daemon's account of a tenant's memory.
#pragma once

#include <memory>
#include <set>

#include "interposer/memory/fake_account.h"
#include "interposer/memory/graph_memory.h"
#include "interposer/memory/hooks_fixture.h"
#include "interposer/session/captures.h"
#include "interposer/session/memory.h"

namespace nvs::interposer::memory::graph_tests {

inline constexpr std::uint64_t kAt = 0x10'0000;  // addresses of nodes
inline constexpr std::uint64_t kElsewhere = 0x90'0000;
inline constexpr std::size_t kBytes = 1000;

struct FakeGraphs {
  std::uint64_t address = kAt;       // of the next node
  CUresult result = CUDA_SUCCESS;    // of calls that add, instantiate and destroy
  int added = 0;                     // nodes that allocate
  std::set<std::uint64_t> is_there;  // what launches have allocated
  CUgraph captured = nullptr;        // into which streams are captured
  CUstream captured_stream = nullptr;
  CUresult end_result = CUDA_SUCCESS;
};
inline FakeGraphs fake;

inline CUresult add_alloc(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                          CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  if (fake.result != CUDA_SUCCESS) return fake.result;
  ++fake.added;
  params->dptr = fake.address;
  return CUDA_SUCCESS;
}
inline CUresult add_free(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUdeviceptr) {
  return fake.result;
}
inline CUresult add_any(CUgraphNode*, CUgraph, const CUgraphNode*, size_t,
                        CUgraphNodeParams* params) {
  if (fake.result != CUDA_SUCCESS || params->type != CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
    return fake.result;
  }
  ++fake.added;
  params->alloc.dptr = fake.address;
  return CUDA_SUCCESS;
}
inline CUresult add_any_with_edges(CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
                                   const CUgraphEdgeData*, size_t count,
                                   CUgraphNodeParams* params) {
  return add_any(node, graph, after, count, params);
}
inline CUresult alloc_captured(CUdeviceptr* out, size_t, CUstream) {
  if (fake.result != CUDA_SUCCESS) return fake.result;
  ++fake.added;
  *out = fake.address;
  return CUDA_SUCCESS;
}
inline CUresult range(CUdeviceptr* base, size_t* size, CUdeviceptr address) {
  if (fake.is_there.count(address) == 0) return CUDA_ERROR_NOT_FOUND;
  *base = address;
  *size = kBytes;
  return CUDA_SUCCESS;
}
inline CUresult capture_info(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t*,
                             CUgraph* graph, const CUgraphNode**, const CUgraphEdgeData**,
                             size_t*) {
  const bool is_so = fake.captured != nullptr && stream == fake.captured_stream;
  *status = is_so ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  if (is_so && graph != nullptr) *graph = fake.captured;
  return CUDA_SUCCESS;
}
inline CUresult is_capturing(CUstream stream, CUstreamCaptureStatus* status) {
  return capture_info(stream, status, nullptr, nullptr, nullptr, nullptr, nullptr);
}
inline CUresult begin_capture(CUstream, CUstreamCaptureMode) { return CUDA_SUCCESS; }
inline CUresult end_capture(CUstream, CUgraph* out) {
  if (out != nullptr) *out = fake.end_result == CUDA_SUCCESS ? fake.captured : nullptr;
  fake.captured = nullptr;
  return fake.end_result;
}
template <class... Arguments>
CUresult say(Arguments...) {
  return fake.result;
}
template <class... Arguments>
CUresult make_exec(CUgraphExec* out, Arguments...) {
  if (fake.result == CUDA_SUCCESS) *out = handle_of<CUgraphExec>(0xe1);
  return fake.result;
}

class GraphFixture : public HooksFixture {
 protected:
  void SetUp() override {
    HooksFixture::SetUp();
    fake = {};
    graphs::start_over_in_child();
    captures::start_over_in_child();
    session::memory_start_over_in_child();
    session::memory_announces(0);
    session::memory_known(0, false);
    set_real_for_test<Row::cuGraphAddMemAllocNode>(&add_alloc);
    set_real_for_test<Row::cuGraphAddMemFreeNode>(&add_free);
    set_real_for_test<Row::cuGraphAddNode>(&add_any);
    set_real_for_test<Row::cuGraphAddNode_v2>(&add_any_with_edges);
    set_real_for_test<Row::cuGraphInstantiate>(&make_exec);
    set_real_for_test<Row::cuGraphInstantiate_v2>(&make_exec);
    set_real_for_test<Row::cuGraphInstantiateWithFlags>(&make_exec);
    set_real_for_test<Row::cuGraphInstantiateWithParams>(&make_exec);
    set_real_for_test<Row::cuGraphInstantiateWithParams_ptsz>(&make_exec);
    set_real_for_test<Row::cuGraphDestroy>(&say);
    set_real_for_test<Row::cuGraphExecDestroy>(&say);
    set_real_for_test<Row::cuStreamDestroy_v2>(&say);
    set_real_for_test<Row::cuMemGetAddressRange_v2>(&range);
    set_real_for_test<Row::cuStreamGetCaptureInfo_v3>(&capture_info);
    set_real_for_test<Row::cuStreamIsCapturing>(&is_capturing);
    set_real_for_test<Row::cuStreamBeginCapture_v2>(&begin_capture);
    set_real_for_test<Row::cuStreamEndCapture>(&end_capture);
  }
  void TearDown() override {
    graphs::start_over_in_child();
    captures::start_over_in_child();
    session::memory_start_over_in_child();
    books().after_fork();
    forget<Row::cuGraphAddMemAllocNode, Row::cuGraphAddMemFreeNode, Row::cuGraphAddNode,
           Row::cuGraphAddNode_v2, Row::cuGraphInstantiate, Row::cuGraphInstantiate_v2,
           Row::cuGraphInstantiateWithFlags, Row::cuGraphInstantiateWithParams,
           Row::cuGraphInstantiateWithParams_ptsz, Row::cuGraphDestroy, Row::cuGraphExecDestroy,
           Row::cuStreamDestroy_v2, Row::cuStreamGetCaptureInfo_v3, Row::cuStreamBeginCapture_v2,
           Row::cuStreamEndCapture>();
  }
  static void join(const account::FakeAccount& account) {
    account.lend();
    account::gpu_numbered(0, 0);
  }

  static CUDA_MEM_ALLOC_NODE_PARAMS params_of(std::size_t bytes, int device = 0) {
    CUDA_MEM_ALLOC_NODE_PARAMS params{};
    params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    params.bytesize = bytes;
    return params;
  }
  static CUresult add(CUgraph graph, std::uint64_t address, std::size_t bytes = kBytes) {
    fake.address = address;
    CUDA_MEM_ALLOC_NODE_PARAMS params = params_of(bytes);
    return hooks::cuGraphAddMemAllocNode(nullptr, graph, nullptr, 0, &params);
  }
  static CUresult add_through_any(CUgraph graph, CUgraphNodeParams& params) {
    return hooks::cuGraphAddNode_v2(nullptr, graph, nullptr, nullptr, 0, &params);
  }
  static CUresult free_in(CUgraph graph, std::uint64_t address) {
    return hooks::cuGraphAddMemFreeNode(nullptr, graph, nullptr, 0, address);
  }
  static CUgraphExec instantiate(CUgraph graph) {
    CUgraphExec exec = nullptr;
    EXPECT_EQ(hooks::cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    return exec;
  }
  void begin_capture_of(CUstream stream, CUgraph graph) {
    fake.captured = graph;
    fake.captured_stream = stream;
    EXPECT_EQ(hooks::cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    set_real_for_test<Row::cuMemAllocAsync>(&alloc_captured);
  }
  static CUresult take_in(CUstream stream, std::uint64_t address = kAt) {
    fake.address = address;
    CUdeviceptr out = 0;
    return hooks::cuMemAllocAsync(&out, kBytes, stream);
  }

  CUgraph one_ = handle_of<CUgraph>(0x61);
  CUgraph two_ = handle_of<CUgraph>(0x62);
  CUstream stream_ = handle_of<CUstream>(0x57);
};

}  // namespace nvs::interposer::memory::graph_tests
