// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/fixture.h"
#include "tests/conformance/sections.h"

namespace nvs::conformance {
namespace {

struct Shape {
  const char* what;
  unsigned grid[3];
  unsigned block[3];
  unsigned shared;
};

void shapes(Run& run) {
  const Kernels kernels = load_kernels(run);
  FillArguments arguments(allocate(run, 4096), 1, 16);
  const Shape all[] = {
      {"grid 0", {0, 1, 1}, {32, 1, 1}, 0},
      {"grid y 0", {1, 0, 1}, {32, 1, 1}, 0},
      {"block 0", {1, 1, 1}, {0, 1, 1}, 0},
      {"block z 0", {1, 1, 1}, {32, 1, 0}, 0},
      {"block 1024", {1, 1, 1}, {1024, 1, 1}, 0},
      {"block 1025", {1, 1, 1}, {1025, 1, 1}, 0},
      {"block 32 x 33", {1, 1, 1}, {32, 33, 1}, 0},
      {"block z 64", {1, 1, 1}, {1, 1, 64}, 0},
      {"block z 65", {1, 1, 1}, {1, 1, 65}, 0},
      {"block y 1024", {1, 1, 1}, {1, 1024, 1}, 0},
      {"grid y 65535", {1, 65535, 1}, {1, 1, 1}, 0},
      {"grid y 65536", {1, 65536, 1}, {1, 1, 1}, 0},
      {"grid z 65536", {1, 1, 65536}, {1, 1, 1}, 0},
      {"grid 2^31", {0x80000000U, 1, 1}, {1, 1, 1}, 0},
      {"shared 48 KiB", {1, 1, 1}, {32, 1, 1}, 49152},
      {"shared 48 KiB + 1", {1, 1, 1}, {32, 1, 1}, 49153},
      {"shared 1 MiB", {1, 1, 1}, {32, 1, 1}, 1048576},
  };
  for (const Shape& s : all)
    CALL(s.what, cuLaunchKernel, kernels.fill, s.grid[0], s.grid[1], s.grid[2], s.block[0],
         s.block[1], s.block[2], s.shared, nullptr, arguments.pointers, nullptr);
  CALL("", cuCtxSynchronize);
  SETUP(cuFuncSetAttribute, kernels.fill, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536);
  CALL("shared 64 KiB, allowed", cuLaunchKernel, kernels.fill, 1, 1, 1, 32, 1, 1, 65536, nullptr,
       arguments.pointers, nullptr);
  CALL("shared 64 KiB + 1, not allowed", cuLaunchKernel, kernels.fill, 1, 1, 1, 32, 1, 1, 65537,
       nullptr, arguments.pointers, nullptr);
  CALL("after all", cuCtxSynchronize);
}

void parameters(Run& run) {
  const Kernels kernels = load_kernels(run);
  const CUdeviceptr address = allocate(run, 4096);
  SETUP(cuMemsetD8_v2, address, 0, 4096);
  CALL("null function", cuLaunchKernel, nullptr, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr);
  struct {
    CUdeviceptr destination;
    float value;
    std::uint64_t count;
  } packed{address, 8, 16};
  std::size_t size = sizeof packed;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  CALL("parameter buffer", cuLaunchKernel, kernels.fill, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr,
       extra);
  run.show("value", static_cast<int>(read_float(run, address, 3)));
  FillArguments arguments(address, 9, 16);
  CALL("both ways", cuLaunchKernel, kernels.fill, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments.pointers,
       extra);
  size = sizeof packed + 8;
  CALL("buffer too large", cuLaunchKernel, kernels.fill, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr,
       extra);
  CALL("", cuCtxSynchronize);
  CALL("null parameters", cuLaunchKernel, kernels.fill, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr,
       nullptr);
}

void results(Run& run) {
  const Kernels kernels = load_kernels(run);
  const CUdeviceptr first = allocate(run, 4096);
  const CUdeviceptr second = allocate(run, 4096);
  run.show("fill", launch_fill(run, kernels.fill, first, 2, 256, nullptr));
  run.show("fill second", launch_fill(run, kernels.fill, second, 5, 256, nullptr));
  run.show("step", launch_fill(run, kernels.step, first, 3, 256, nullptr));
  CUdeviceptr destination = first;
  CUdeviceptr source = second;
  std::uint64_t count = 256;
  void* arguments[] = {&destination, &source, &count};
  CALL("add", cuLaunchKernel, kernels.add, 1, 1, 1, 256, 1, 1, 0, nullptr, arguments, nullptr);
  run.show("2 + 3 + 5", static_cast<int>(read_float(run, first, 255)));
  run.show("fill of nothing", launch_fill(run, kernels.fill, first, 2, 1, nullptr));
  run.show("others untouched", static_cast<int>(read_float(run, first, 1)));
  CALL("", cuMemsetD8_v2, first, 0, 4096);
  run.show("per-thread", launch_fill(run, kernels.fill, first, 4, 16, CU_STREAM_PER_THREAD));
  run.show("legacy", launch_fill(run, kernels.step, first, 4, 16, CU_STREAM_LEGACY));
  run.show("value", static_cast<int>(read_float(run, first, 1)));
  FillArguments fill(first, 6, 16);
  CALL("null stream", cuLaunchKernel_ptsz, kernels.fill, 1, 1, 1, 32, 1, 1, 0, nullptr,
       fill.pointers, nullptr);
  run.show("value of _ptsz", static_cast<int>(read_float(run, first, 1)));
}

void other_context(Run& run) {
  const Kernels kernels = load_kernels(run);
  const CUdeviceptr address = allocate(run, 4096);
  const CUstream stream = new_stream(run);
  const CUcontext other = new_context(run);
  const CUstream stream_there = new_stream(run);
  run.show("function of another context, null stream",
           launch_fill(run, kernels.fill, address, 1, 16, nullptr));
  run.show("function and stream of another context",
           launch_fill(run, kernels.fill, address, 1, 16, stream));
  run.show("function of another context, own stream",
           launch_fill(run, kernels.fill, address, 1, 16, stream_there));
  CALL("", cuCtxSynchronize);
  SETUP(cuCtxDestroy_v2, other);
}

void extended(Run& run) {
  const Kernels kernels = load_kernels(run);
  FillArguments arguments(allocate(run, 4096), 1, 16);
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 32;
  config.blockDimY = config.blockDimZ = 1;
  CALL("no attributes", cuLaunchKernelEx, &config, kernels.fill, arguments.pointers, nullptr);
  CALL("null config", cuLaunchKernelEx, nullptr, kernels.fill, arguments.pointers, nullptr);
  CALL("null function", cuLaunchKernelEx, &config, nullptr, arguments.pointers, nullptr);
  CUlaunchAttribute attribute{};
  config.attrs = &attribute;
  config.numAttrs = 1;
  attribute.id = CU_LAUNCH_ATTRIBUTE_IGNORE;
  CALL("ignored attribute", cuLaunchKernelEx, &config, kernels.fill, arguments.pointers, nullptr);
  attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attribute.value.cooperative = 1;
  CALL("cooperative", cuLaunchKernelEx, &config, kernels.fill, arguments.pointers, nullptr);
  attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  attribute.value.priority = -1;
  CALL("priority", cuLaunchKernelEx, &config, kernels.fill, arguments.pointers, nullptr);
  attribute.id = as_enum<CUlaunchAttributeID>(200);
  CALL("attribute 200", cuLaunchKernelEx, &config, kernels.fill, arguments.pointers, nullptr);
  config.attrs = nullptr;
  CALL("null attributes, count 1", cuLaunchKernelEx, &config, kernels.fill, arguments.pointers,
       nullptr);
  config.numAttrs = 0;
  config.gridDimX = 0;
  CALL("grid 0", cuLaunchKernelEx, &config, kernels.fill, arguments.pointers, nullptr);
  config.gridDimX = 1;
  CALL("null stream", cuLaunchKernelEx_ptsz, &config, kernels.fill, arguments.pointers, nullptr);
  CALL("", cuCtxSynchronize);
}

void clusters(Run& run) {
  const Kernels kernels = load_kernels(run);
  FillArguments arguments(allocate(run, 4096), 1, 16);
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  CUlaunchConfig config{};
  config.gridDimX = 16;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = 32;
  config.blockDimY = config.blockDimZ = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  for (const unsigned blocks : {1U, 2U, 3U, 8U, 16U}) {
    attribute.value.clusterDim.x = blocks;
    attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
    CALL(cat("cluster of ", blocks), cuLaunchKernelEx, &config, kernels.fill, arguments.pointers,
         nullptr);
  }
  CALL("", cuCtxSynchronize);
}

void cooperative(Run& run) {
  const Kernels kernels = load_kernels(run);
  FillArguments arguments(allocate(run, 4096), 1, 16);
  CALL("one block", cuLaunchCooperativeKernel, kernels.fill, 1, 1, 1, 32, 1, 1, 0, nullptr,
       arguments.pointers);
  CALL("too many blocks", cuLaunchCooperativeKernel, kernels.fill, 1000000, 1, 1, 1024, 1, 1, 0,
       nullptr, arguments.pointers);
  CALL("grid 0", cuLaunchCooperativeKernel, kernels.fill, 0, 1, 1, 32, 1, 1, 0, nullptr,
       arguments.pointers);
  CALL("null function", cuLaunchCooperativeKernel, nullptr, 1, 1, 1, 32, 1, 1, 0, nullptr,
       arguments.pointers);
  CALL("", cuCtxSynchronize);
}

void old_style(Run& run) {
  const Kernels kernels = load_kernels(run);
  const CUdeviceptr address = allocate(run, 4096);
  SETUP(cuMemsetD8_v2, address, 0, 4096);
  std::uint64_t pointer = address;
  std::uint64_t count = 16;
  CALL("32 x 1 x 1", cuFuncSetBlockShape, kernels.fill, 32, 1, 1);
  CALL("block 0", cuFuncSetBlockShape, kernels.fill, 0, 1, 1);
  CALL("16", cuFuncSetSharedSize, kernels.fill, 16);
  CALL("pointer", cuParamSetv, kernels.fill, 0, &pointer, 8);
  CALL("value", cuParamSetf, kernels.fill, 8, 7.0F);
  CALL("count", cuParamSetv, kernels.fill, 16, &count, 8);
  CALL("24", cuParamSetSize, kernels.fill, 24);
  CALL("", cuLaunch, kernels.fill);
  run.show("value", static_cast<int>(read_float(run, address, 3)));
  CALL("1 x 1", cuLaunchGrid, kernels.fill, 1, 1);
  CALL("1 x 1", cuLaunchGridAsync, kernels.fill, 1, 1, new_stream(run));
  CALL("", cuCtxSynchronize);
}

void occupancy(Run& run) {
  const Kernels kernels = load_kernels(run);
  int blocks = 77;
  for (const int size : {1, 32, 256, 1024, 1025, 0, -1}) {
    blocks = 77;
    CALL(cat("block ", size), cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, kernels.spin,
         size, 0);
    run.show(cat("blocks of ", size), blocks);
  }
  CALL("much shared memory", cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, kernels.spin, 32,
       1000000);
  CALL("null result", cuOccupancyMaxActiveBlocksPerMultiprocessor, nullptr, kernels.spin, 32, 0);
  CALL("null function", cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, nullptr, 32, 0);
  CALL("flags 1", cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, &blocks, kernels.spin, 32,
       0, 1);
  CALL("flags 77", cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, &blocks, kernels.spin, 32,
       0, 77);
  int grid = 77;
  int block = 77;
  CALL("", cuOccupancyMaxPotentialBlockSize, &grid, &block, kernels.spin, nullptr, 0, 0);
  run.show("grid and block", cat(grid, ", ", block));
  CALL("limit 128", cuOccupancyMaxPotentialBlockSize, &grid, &block, kernels.spin, nullptr, 0, 128);
  run.show("grid and block with limit 128", cat(grid, ", ", block));
  CALL("null result", cuOccupancyMaxPotentialBlockSize, nullptr, &block, kernels.spin, nullptr, 0,
       0);
  std::size_t bytes = 77;
  CALL("1 of 32", cuOccupancyAvailableDynamicSMemPerBlock, &bytes, kernels.spin, 1, 32);
  run.show("shared memory for 1 of 32", bytes);
}

}  // namespace

Section launch_section() {
  return {"launch",
          Start::kContext,
          {
              {"shapes", shapes, Process::kOwn},
              {"results", results},
              {"other_context", other_context},
              {"extended", extended},
              {"clusters", clusters},
              {"cooperative", cooperative},
              {"occupancy", occupancy},
              {"parameters", parameters, Process::kOwn},
              {"old_style", old_style, Process::kOwn},
          }};
}

}  // namespace nvs::conformance
