// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/graph_kit.h"
#include "tests/conformance/sections.h"

namespace nvs::conformance {
namespace {

void show_type(Run& run, const char* what, CUgraphNode node) {
  CUgraphNodeType type = as_enum<CUgraphNodeType>(77);
  CALL(what, cuGraphNodeGetType, node, &type);
  run.show(cat("type of ", what), type);
}

void launch(Run& run, CUgraph graph) {
  CUgraphExec exec = nullptr;
  CALL("", cuGraphInstantiateWithFlags, &exec, graph, 0);
  CALL("", cuGraphLaunch, exec, new_stream(run));
  CALL("", cuCtxSynchronize);
}

void kernel(Run& run) {
  const Kernels kernels = load_kernels(run);
  const CUdeviceptr address = allocate(run, 4096);
  SETUP(cuMemsetD8_v2, address, 0, 4096);
  FillArguments arguments(address, 5, 16);
  CUDA_KERNEL_NODE_PARAMS params = fill_params(kernels.fill, arguments);
  CUgraph graph = new_graph(run);
  CUgraphNode node = nullptr;
  CALL("", cuGraphAddKernelNode_v2, &node, graph, nullptr, 0, &params);
  arguments.value = 99;  // the node has taken a copy
  show_type(run, "kernel node", node);
  CUDA_KERNEL_NODE_PARAMS got{};
  CALL("", cuGraphKernelNodeGetParams_v2, node, &got);
  run.show("function, grid, block",
           cat(got.func == kernels.fill, ", ", got.gridDimX, ", ", got.blockDimX));
  launch(run, graph);
  run.show("value", static_cast<int>(read_float(run, address, 3)));
  FillArguments other(address, 6, 16);
  params = fill_params(kernels.fill, other);
  CALL("", cuGraphKernelNodeSetParams_v2, node, &params);
  launch(run, graph);
  run.show("value after set", static_cast<int>(read_float(run, address, 3)));
  CUgraphExec exec = nullptr;
  SETUP(cuGraphInstantiateWithFlags, &exec, graph, 0);
  other.value = 7;
  CALL("", cuGraphExecKernelNodeSetParams_v2, exec, node, &params);
  CALL("after exec set", cuGraphLaunch, exec, nullptr);
  run.show("value after exec set", static_cast<int>(read_float(run, address, 3)));
  params.gridDimX = 0;
  CALL("grid 0", cuGraphKernelNodeSetParams_v2, node, &params);
  params = fill_params(nullptr, other);
  CALL("null function", cuGraphAddKernelNode_v2, &node, graph, nullptr, 0, &params);
  params = fill_params(kernels.fill, other);
  params.blockDimX = 2048;
  CALL("block of 2048", cuGraphAddKernelNode_v2, &node, graph, nullptr, 0, &params);
  CALL("null params", cuGraphAddKernelNode_v2, &node, graph, nullptr, 0, nullptr);
}

void memset(Run& run) {
  const CUcontext context = current_context(run);
  const CUdeviceptr address = allocate(run, 4096);
  SETUP(cuMemsetD8_v2, address, 0, 4096);
  CUDA_MEMSET_NODE_PARAMS params = memset_params(address, 3, 4096);
  CUgraph graph = new_graph(run);
  CUgraphNode node = nullptr;
  CALL("", cuGraphAddMemsetNode, &node, graph, nullptr, 0, &params, context);
  show_type(run, "memset node", node);
  launch(run, graph);
  run.show("all bytes set", all_bytes(run, address, 4096, 3));
  CUDA_MEMSET_NODE_PARAMS got{};
  CALL("", cuGraphMemsetNodeGetParams, node, &got);
  run.show("address, value, element, width, height",
           cat(relative(got.dst, address), ", ", got.value, ", ", got.elementSize, ", ", got.width,
               ", ", got.height));
  params.value = 4;
  CALL("", cuGraphMemsetNodeSetParams, node, &params);
  launch(run, graph);
  run.show("all bytes set anew", all_bytes(run, address, 4096, 4));
  params.elementSize = 3;
  CALL("element of 3", cuGraphAddMemsetNode, &node, graph, nullptr, 0, &params, context);
  params = memset_params(0, 3, 4096);
  CALL("null address", cuGraphAddMemsetNode, &node, graph, nullptr, 0, &params, context);
  params = memset_params(address, 3, 0);
  CALL("width 0", cuGraphAddMemsetNode, &node, graph, nullptr, 0, &params, context);
  params = memset_params(address, 3, 64 * kMiB);
  CALL("past the end", cuGraphAddMemsetNode, &node, graph, nullptr, 0, &params, context);
  params = memset_params(address, 3, 16);
  CALL("null context", cuGraphAddMemsetNode, &node, graph, nullptr, 0, &params, nullptr);
}

void memcpy(Run& run) {
  const CUcontext context = current_context(run);
  const CUdeviceptr first = allocate(run, 4096);
  const CUdeviceptr second = allocate(run, 4096);
  SETUP(cuMemsetD8_v2, first, 8, 4096);
  CUDA_MEMCPY3D params = copy_params(second, first, 4096);
  CUgraph graph = new_graph(run);
  CUgraphNode node = nullptr;
  CALL("", cuGraphAddMemcpyNode, &node, graph, nullptr, 0, &params, context);
  show_type(run, "memcpy node", node);
  launch(run, graph);
  run.show("copied", all_bytes(run, second, 4096, 8));
  CUDA_MEMCPY3D got{};
  CALL("", cuGraphMemcpyNodeGetParams, node, &got);
  run.show("source, width", cat(relative(got.srcDevice, first), ", ", got.WidthInBytes));
  CUgraphExec exec = nullptr;
  SETUP(cuGraphInstantiateWithFlags, &exec, graph, 0);
  params.WidthInBytes = 16;
  CALL("other width", cuGraphExecMemcpyNodeSetParams, exec, node, &params, context);
  params = copy_params(second, 0, 4096);
  CALL("null source", cuGraphAddMemcpyNode, &node, graph, nullptr, 0, &params, context);
  params = copy_params(second, first, 0);
  CALL("width 0", cuGraphAddMemcpyNode, &node, graph, nullptr, 0, &params, context);
  params = copy_params(second, first, 64 * kMiB);
  CALL("past the end", cuGraphAddMemcpyNode, &node, graph, nullptr, 0, &params, context);
}

int g_calls = 0;
void count_call(void* data) { g_calls += *static_cast<int*>(data); }

void host(Run& run) {
  int one = 1;
  int ten = 10;
  CUDA_HOST_NODE_PARAMS params{};
  params.fn = count_call;
  params.userData = &one;
  CUgraph graph = new_graph(run);
  CUgraphNode node = nullptr;
  CALL("", cuGraphAddHostNode, &node, graph, nullptr, 0, &params);
  show_type(run, "host node", node);
  launch(run, graph);
  run.show("calls", g_calls);
  params.userData = &ten;
  CALL("", cuGraphHostNodeSetParams, node, &params);
  CUDA_HOST_NODE_PARAMS got{};
  CALL("", cuGraphHostNodeGetParams, node, &got);
  run.show("data was set", got.userData == &ten && got.fn == count_call);
  launch(run, graph);
  run.show("calls after set", g_calls);
  params.fn = nullptr;
  CALL("null function", cuGraphAddHostNode, &node, graph, nullptr, 0, &params);
}

void child(Run& run) {
  CUgraph inner = new_graph(run);
  const CUdeviceptr address = allocate(run, 4096);
  CUDA_MEMSET_NODE_PARAMS params = memset_params(address, 9, 4096);
  CUgraphNode node = nullptr;
  SETUP(cuGraphAddMemsetNode, &node, inner, nullptr, 0, &params, current_context(run));
  CUgraph graph = new_graph(run);
  CALL("", cuGraphAddChildGraphNode, &node, graph, nullptr, 0, inner);
  show_type(run, "child node", node);
  CUgraph got = nullptr;
  CALL("", cuGraphChildGraphNodeGetGraph, node, &got);
  run.show("child is a copy", got != nullptr && got != inner);
  show_shape(run, "the child", got);
  launch(run, graph);
  run.show("child ran", all_bytes(run, address, 4096, 9));
  CALL("null", cuGraphAddChildGraphNode, &node, graph, nullptr, 0, nullptr);
  CALL("the child's node", cuGraphDestroyNode, node);
}

void event(Run& run) {
  const CUevent first = new_event(run);
  const CUevent second = new_event(run);
  CUgraph graph = new_graph(run);
  CUgraphNode record = nullptr;
  CUgraphNode wait = nullptr;
  CALL("", cuGraphAddEventRecordNode, &record, graph, nullptr, 0, first);
  CALL("", cuGraphAddEventWaitNode, &wait, graph, &record, 1, second);
  show_type(run, "event record node", record);
  show_type(run, "event wait node", wait);
  CUevent got = nullptr;
  CALL("", cuGraphEventRecordNodeGetEvent, record, &got);
  run.show("event of the record node", got == first);
  CALL("", cuGraphEventWaitNodeGetEvent, wait, &got);
  run.show("event of the wait node", got == second);
  launch(run, graph);
  CALL("recorded by a graph", cuEventQuery, first);
  CALL("", cuGraphEventRecordNodeSetEvent, record, second);
  CALL("null event", cuGraphAddEventRecordNode, &record, graph, nullptr, 0, nullptr);
}

void mismatched(Run& run) {
  CUgraph graph = new_graph(run);
  const CUgraphNode node = empty_node(run, graph);
  CUDA_KERNEL_NODE_PARAMS kernel_params{};
  CALL("of an empty node", cuGraphKernelNodeGetParams_v2, node, &kernel_params);
  CUDA_MEMSET_NODE_PARAMS set_params{};
  CALL("of an empty node", cuGraphMemsetNodeGetParams, node, &set_params);
  CUDA_HOST_NODE_PARAMS host_params{};
  CALL("of an empty node", cuGraphHostNodeGetParams, node, &host_params);
  CUgraph child_graph = nullptr;
  CALL("of an empty node", cuGraphChildGraphNodeGetGraph, node, &child_graph);
  CUevent got = nullptr;
  CALL("of an empty node", cuGraphEventRecordNodeGetEvent, node, &got);
  CUgraphExec exec = nullptr;
  SETUP(cuGraphInstantiateWithFlags, &exec, graph, 0);
  CALL("of an empty node", cuGraphNodeSetEnabled, exec, node, 0);
  unsigned enabled = 77;
  CALL("of an empty node", cuGraphNodeGetEnabled, exec, node, &enabled);
}

void disabled(Run& run) {
  const CUdeviceptr address = allocate(run, 4096);
  SETUP(cuMemsetD8_v2, address, 1, 4096);
  CUDA_MEMSET_NODE_PARAMS params = memset_params(address, 2, 4096);
  CUgraph graph = new_graph(run);
  CUgraphNode node = nullptr;
  SETUP(cuGraphAddMemsetNode, &node, graph, nullptr, 0, &params, current_context(run));
  CUgraphExec exec = nullptr;
  SETUP(cuGraphInstantiateWithFlags, &exec, graph, 0);
  unsigned enabled = 77;
  CALL("at first", cuGraphNodeGetEnabled, exec, node, &enabled);
  run.show("enabled at first", enabled);
  CALL("off", cuGraphNodeSetEnabled, exec, node, 0);
  CALL("node off", cuGraphLaunch, exec, nullptr);
  run.show("memory untouched", all_bytes(run, address, 4096, 1));
  CALL("on", cuGraphNodeSetEnabled, exec, node, 1);
  CALL("node on", cuGraphLaunch, exec, nullptr);
  run.show("memory set", all_bytes(run, address, 4096, 2));
}

void generic(Run& run) {
  const Kernels kernels = load_kernels(run);
  const CUdeviceptr address = allocate(run, 4096);
  FillArguments arguments(address, 5, 16);
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_KERNEL;
  params.kernel.func = kernels.fill;
  params.kernel.gridDimX = params.kernel.gridDimY = params.kernel.gridDimZ = 1;
  params.kernel.blockDimX = 32;
  params.kernel.blockDimY = params.kernel.blockDimZ = 1;
  params.kernel.kernelParams = arguments.pointers;
  CUgraph graph = new_graph(run);
  CUgraphNode node = nullptr;
  CALL("kernel", cuGraphAddNode_v2, &node, graph, nullptr, nullptr, 0, &params);
  show_type(run, "generic kernel node", node);
  launch(run, graph);
  run.show("value", static_cast<int>(read_float(run, address, 3)));
  params = {};
  params.type = CU_GRAPH_NODE_TYPE_EMPTY;
  CALL("empty", cuGraphAddNode_v2, &node, graph, nullptr, nullptr, 0, &params);
  params.type = as_enum<CUgraphNodeType>(77);
  CALL("type 77", cuGraphAddNode_v2, &node, graph, nullptr, nullptr, 0, &params);
  CALL("null params", cuGraphAddNode_v2, &node, graph, nullptr, nullptr, 0, nullptr);
}

}  // namespace

Section graph_nodes_section() {
  return {"graph_nodes",
          Start::kContext,
          {
              {"kernel", kernel},
              {"memset", memset},
              {"memcpy", memcpy},
              {"host", host},
              {"event", event},
              {"mismatched", mismatched},
              {"disabled", disabled},
              {"generic", generic},
              {"child", child},
          }};
}

}  // namespace nvs::conformance
