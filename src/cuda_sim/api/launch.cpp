// SPDX-License-Identifier: Apache-2.0
// Entry points: launching kernels and host functions.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "cuda_sim/api/call.h"
#include "cuda_sim/api/work_rules.h"
#include "cuda_sim/work/submit.h"

using namespace nvs::sim;

namespace {

constexpr unsigned kThreadsMax = 1024;
constexpr unsigned kBlockMax[3] = {1024, 1024, 64};
constexpr unsigned kGridMax[3] = {0x7fffffff, 65535, 65535};
constexpr std::size_t kExtraMax = 16;
constexpr unsigned kClusterMax = 8;
constexpr int kAttributeMax = CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING;

CUresult check_shape(const Function& function, const LaunchShape& shape) {
  std::uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    if (shape.grid[i] == 0 || shape.block[i] == 0) return CUDA_ERROR_INVALID_VALUE;
    if (shape.grid[i] > kGridMax[i] || shape.block[i] > kBlockMax[i]) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    threads *= shape.block[i];
  }
  if (threads > kThreadsMax) return CUDA_ERROR_INVALID_VALUE;
  if (shape.shared_bytes > static_cast<unsigned>(function.max_dynamic_shared)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult read_extra(void** extra, KernelWork& work) {
  const void* buffer = nullptr;
  std::size_t size = 0;
  for (std::size_t i = 0; i < kExtraMax && extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer = extra[i + 1];
    } else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      size = *static_cast<const std::size_t*>(extra[i + 1]);
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  if (buffer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // Measured on an H200: too much is refused, and too little is taken as it is.
  if (size > work.arguments.size()) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  std::memcpy(work.arguments.data(), buffer, size);
  return CUDA_SUCCESS;
}

bool runnable(const Function& function) {
  if (function.builtin == nullptr) return false;
  const auto sizes = function.builtin->parameters();
  const auto& declared = function.entry->parameters;
  return std::equal(sizes.begin(), sizes.end(), declared.begin(), declared.end(),
                    [](unsigned size, const PtxParameter& p) { return size == p.size; });
}

// Blocks of a cluster share a part of the GPU, and the grid is made of whole clusters.
CUresult check_cluster(const CUlaunchConfig& config, const CUlaunchAttributeValue& value) {
  const auto& cluster = value.clusterDim;
  const std::uint64_t blocks = std::uint64_t{cluster.x} * cluster.y * cluster.z;
  if (blocks == 0 || blocks > kClusterMax || config.gridDimX % cluster.x != 0 ||
      config.gridDimY % cluster.y != 0 || config.gridDimZ % cluster.z != 0) {
    return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  }
  return CUDA_SUCCESS;
}

CUresult check_attributes(const CUlaunchConfig& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config.attrs[i];
    if (attribute.id < 0 || attribute.id > kAttributeMax) return CUDA_ERROR_INVALID_VALUE;
    if (attribute.id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
    if (const CUresult result = check_cluster(config, attribute.value); result != CUDA_SUCCESS) {
      return result;
    }
  }
  return CUDA_SUCCESS;
}

CUresult launch(CUfunction function, const LaunchShape& shape, CUstream handle, void** arguments,
                void** extra) {
  Driver& d = driver();
  {
    std::unique_lock guard{d.lock};
    NVS_SIM_FIND_STREAM(stream, handle)
    KernelWork work;
    if (const CUresult result = make_kernel_work(d, function, shape, arguments, extra, work);
        result != CUDA_SUCCESS) {
      return result;
    }
    Module* module = work.function->module;
    if (module != nullptr && module->context != stream->context) return CUDA_ERROR_INVALID_HANDLE;
    work.context = stream->context;
    if (const CUresult result = submit(d, guard, *stream, std::move(work));
        result != CUDA_SUCCESS) {
      return result;
    }
  }
  d.spend(d.machine->model().launch_ns);
  return CUDA_SUCCESS;
}

}  // namespace

namespace nvs::sim {

CUresult make_kernel_work(Driver& d, CUfunction handle, const LaunchShape& shape, void** arguments,
                          void** extra, KernelWork& work) {
  work.function = d.functions.find(handle);
  if (!work.function) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult result = check_shape(*work.function, shape); result != CUDA_SUCCESS) {
    return result;
  }
  const PtxEntry& entry = *work.function->entry;
  std::copy_n(shape.grid, 3, work.grid);
  std::copy_n(shape.block, 3, work.block);
  work.shared_bytes = shape.shared_bytes;
  // A kernel without parameters still gets a buffer, so that its address is never null.
  work.arguments.resize(std::max<std::size_t>(entry.parameter_bytes, 1));
  if (arguments != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (extra != nullptr) {
    if (const CUresult result = read_extra(extra, work); result != CUDA_SUCCESS) return result;
  } else if (!entry.parameters.empty()) {
    if (arguments == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (std::size_t i = 0; i < entry.parameters.size(); ++i) {
      const PtxParameter& parameter = entry.parameters[i];
      std::memcpy(work.arguments.data() + parameter.offset, arguments[i], parameter.size);
    }
  }
  if (runnable(*work.function)) return CUDA_SUCCESS;
  if (d.unsupported_named.insert(entry.name).second) {
    std::fprintf(stderr,
                 "cuda_sim: kernel %s is not built in; launching it returns "
                 "CUDA_ERROR_NOT_SUPPORTED\n",
                 entry.name.c_str());
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace nvs::sim

NVS_SIM_STREAM(cuLaunchKernel, _ptsz,
               (CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
                unsigned int by, unsigned int bz, unsigned int shared, CUstream stream,
                void** arguments, void** extra),
               f, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra) {
  return launch(f, {{gx, gy, gz}, {bx, by, bz}, shared}, stream, arguments, extra);
}

NVS_SIM_STREAM(cuLaunchKernelEx, _ptsz,
               (const CUlaunchConfig* config, CUfunction f, void** arguments, void** extra), config,
               f, arguments, extra) {
  if (config == nullptr || (config->numAttrs != 0 && config->attrs == nullptr)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (const CUresult result = check_attributes(*config); result != CUDA_SUCCESS) return result;
  return launch(f,
                {{config->gridDimX, config->gridDimY, config->gridDimZ},
                 {config->blockDimX, config->blockDimY, config->blockDimZ},
                 config->sharedMemBytes},
                config->hStream, arguments, extra);
}

NVS_SIM_STREAM(cuLaunchCooperativeKernel, _ptsz,
               (CUfunction f, unsigned int gx, unsigned int gy, unsigned int gz, unsigned int bx,
                unsigned int by, unsigned int bz, unsigned int shared, CUstream stream,
                void** arguments),
               f, gx, gy, gz, bx, by, bz, shared, stream, arguments) {
  const Model& model = driver().machine->model();
  const std::uint64_t blocks = std::uint64_t{gx} * gy * gz;
  const std::uint64_t threads = std::max<std::uint64_t>(std::uint64_t{bx} * by * bz, 1);
  const std::uint64_t resident = static_cast<std::uint64_t>(model.multiprocessors) *
                                 static_cast<std::uint64_t>(model.threads_per_multiprocessor) /
                                 threads;
  if (blocks > resident && threads <= kThreadsMax) return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  return launch(f, {{gx, gy, gz}, {bx, by, bz}, shared}, stream, arguments, nullptr);
}

NVS_SIM_STREAM(cuLaunchHostFunc, _ptsz, (CUstream handle, CUhostFn function, void* data), handle,
               function, data) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  std::unique_lock guard{d.lock};
  NVS_SIM_FIND_STREAM(stream, handle)
  return submit(d, guard, *stream, HostWork{.function = function, .data = data});
}

NVS_SIM_STREAM(cuStreamAddCallback, _ptsz,
               (CUstream handle, CUstreamCallback callback, void* data, unsigned int flags), handle,
               callback, data, flags) {
  if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  std::unique_lock guard{d.lock};
  NVS_SIM_FIND_STREAM(stream, handle)
  if (stream->capture) return invalidate(*stream->capture);
  return submit(d, guard, *stream, HostWork{.data = data, .callback = callback, .stream = handle});
}
