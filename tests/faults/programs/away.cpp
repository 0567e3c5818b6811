// SPDX-License-Identifier: Apache-2.0
// A tenant that asks about its memory and names it in graphs, one step at each word of the test:
// which has taken the memory away in between.
#include <vector>

#include "tests/faults/programs/kit.h"

namespace nvs::faults {
namespace {

constexpr std::size_t kBytes = (std::size_t{100} << 20U) + 5;
constexpr std::size_t kSmall = 1000;

void must(bool is_so, const char* what) {
  if (!is_so) throw std::runtime_error(what);
}

struct Memory {
  CUdeviceptr base;
  std::size_t bytes;
};

std::uint64_t attribute(const Gpu& gpu, CUpointer_attribute number, CUdeviceptr address) {
  std::uint64_t value = 0;
  NVS_MUST(gpu->cuPointerGetAttribute(&value, number, address));
  return value;
}

void ask_about(const Gpu& gpu, const Memory& memory) {
  const CUdeviceptr inside = memory.base + memory.bytes - 1;
  CUdeviceptr base = 0;
  std::size_t size = 0;
  NVS_MUST(gpu->cuMemGetAddressRange_v2(&base, &size, inside));
  must(base == memory.base && size == memory.bytes, "another range");
  must(gpu->cuMemGetAddressRange_v2(&base, &size, inside + 1) == CUDA_ERROR_NOT_FOUND, "no end");
  CUcontext context = nullptr;
  NVS_MUST(gpu->cuCtxGetCurrent(&context));
  must(attribute(gpu, CU_POINTER_ATTRIBUTE_CONTEXT, inside) ==
           reinterpret_cast<std::uintptr_t>(context),
       "another context");
  must(attribute(gpu, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, inside) == CU_MEMORYTYPE_DEVICE, "type");
  must(attribute(gpu, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, inside) == inside, "pointer");
  must(attribute(gpu, CU_POINTER_ATTRIBUTE_RANGE_SIZE, inside) == memory.bytes, "size");
  CUmemGenericAllocationHandle handle = 0;
  must(gpu->cuMemRetainAllocationHandle(&handle, reinterpret_cast<void*>(memory.base)) ==
           CUDA_ERROR_INVALID_VALUE,
       "a handle");
}

void say_sizes(const Gpu& gpu) {
  std::size_t free = 0;
  std::size_t total = 0;
  std::size_t device = 0;
  NVS_MUST(gpu->cuMemGetInfo_v2(&free, &total));
  NVS_MUST(gpu->cuDeviceTotalMem_v2(&device, 0));
  say("sizes " + std::to_string(free) + " " + std::to_string(total) + " " + std::to_string(device));
}

CUgraph capture_copy(const Gpu& gpu, CUdeviceptr from, std::vector<char>& to, bool waits) {
  CUstream const stream = gpu.stream();
  CUgraph graph = nullptr;
  NVS_MUST(gpu->cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  if (waits) {
    say("capturing");
    wait_for_word();
  }
  NVS_MUST(gpu->cuMemcpyDtoHAsync_v2(to.data(), from, to.size(), stream));
  NVS_MUST(gpu->cuStreamEndCapture(stream, &graph));
  say("captured");
  return graph;
}

// A graph that fills the memory, made by hand.
CUgraphExec fill_by_graph(const Gpu& gpu, const Memory& memory) {
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  CUcontext context = nullptr;
  NVS_MUST(gpu->cuCtxGetCurrent(&context));
  NVS_MUST(gpu->cuGraphCreate(&graph, 0));
  CUDA_MEMSET_NODE_PARAMS fill{};
  fill.dst = memory.base;
  fill.value = 0x52;
  fill.elementSize = 1;
  fill.width = memory.bytes;
  fill.height = 1;
  NVS_MUST(gpu->cuGraphAddMemsetNode(&node, graph, nullptr, 0, &fill, context));
  NVS_MUST(gpu->cuGraphInstantiateWithFlags(&exec, graph, 0));
  say("added");
  return exec;
}

void run_graph(const Gpu& gpu, CUgraphExec exec) {
  NVS_MUST(gpu->cuGraphLaunch(exec, nullptr));
  NVS_MUST(gpu->cuCtxSynchronize());
}

}  // namespace

// away
int away(int, char**) {
  const Gpu gpu;
  const Memory large{gpu.alloc(kBytes), kBytes};
  const Memory small{gpu.alloc(kSmall), kSmall};
  std::vector<char> host(kBytes);
  NVS_MUST(gpu->cuMemsetD8_v2(large.base, 0x31, large.bytes));
  NVS_MUST(gpu->cuCtxSynchronize());
  say_sizes(gpu);
  say("ready");
  wait_for_word();
  ask_about(gpu, large);
  ask_about(gpu, small);
  say_sizes(gpu);
  say("asked");
  wait_for_word();
  CUgraph copy = capture_copy(gpu, large.base, host, false);
  wait_for_word();
  capture_copy(gpu, large.base, host, true);
  wait_for_word();
  CUgraphExec const fill = fill_by_graph(gpu, large);
  CUgraphExec read = nullptr;
  NVS_MUST(gpu->cuGraphInstantiateWithFlags(&read, copy, 0));
  run_graph(gpu, read);
  must(host.front() == 0x31 && host.back() == 0x31, "what was written before is lost");
  run_graph(gpu, fill);
  run_graph(gpu, read);
  must(host.front() == 0x52 && host.back() == 0x52, "the graph did not fill it");
  return 0;
}

}  // namespace nvs::faults
