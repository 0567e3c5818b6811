// SPDX-License-Identifier: Apache-2.0
// Entry points: libraries: code that is loaded once and used in any context.
#include <algorithm>

#include "cuda_sim/api/call.h"
#include "cuda_sim/api/function_rules.h"
#include "cuda_sim/api/module_rules.h"

using namespace nvs::sim;

namespace nvs::sim {

Module& module_in(Driver& d, Library& library, Context& context) {
  auto& module = library.modules[&context];
  if (!module) {
    module = std::make_shared<Module>();
    module->context = &context;
    module->library = &library;
    module->code = library.code;
    module->handle = d.modules.add(module);
  }
  return *module;
}

}  // namespace nvs::sim

namespace {

std::shared_ptr<Function> find_kernel(Driver& d, CUkernel handle) {
  const auto kernel = d.functions.find(reinterpret_cast<CUfunction>(handle));
  return kernel && kernel->library != nullptr ? kernel : nullptr;
}

std::shared_ptr<Function> kernel_named(Driver& d, Library& library, const std::string& name) {
  if (const auto it = library.kernels.find(name); it != library.kernels.end()) return it->second;
  for (const PtxEntry& entry : library.code.ptx.entries) {
    if (entry.name != name) continue;
    auto kernel = new_function(d, entry);
    kernel->library = &library;
    library.kernels[name] = kernel;
    return kernel;
  }
  return nullptr;
}

// Options come as a count and two arrays.
bool lacks(unsigned count, const void* options, const void* values) {
  return count != 0 && (options == nullptr || values == nullptr);
}

// Measured on an H200: whatever the image is, it is only looked at when something in it is used.
CUresult add_library(CUlibrary* out, const void* image) {
  auto library = std::make_shared<Library>();
  std::string message;
  library->readable = read_image(image, library->code, message);
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  library->handle = d.libraries.add(library);
  *out = library->handle;
  return CUDA_SUCCESS;
}

// The library, if its code is any good. With the lock held.
CUresult find_library(Driver& d, CUlibrary handle, std::shared_ptr<Library>& out) {
  out = d.libraries.find(handle);
  return out ? out->readable : CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace

NVS_SIM(cuLibraryLoadData,
        (CUlibrary * out, const void* image, CUjit_option* jit_options, void** jit_values,
         unsigned int jit_count, CUlibraryOption* options, void** values, unsigned int count),
        out, image, jit_options, jit_values, jit_count, options, values, count) {
  if (out == nullptr || image == nullptr || lacks(jit_count, jit_options, jit_values) ||
      lacks(count, options, values)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return add_library(out, image);
}

NVS_SIM(cuLibraryLoadFromFile,
        (CUlibrary * out, const char* path, CUjit_option* jit_options, void** jit_values,
         unsigned int jit_count, CUlibraryOption* options, void** values, unsigned int count),
        out, path, jit_options, jit_values, jit_count, options, values, count) {
  if (out == nullptr || path == nullptr || lacks(jit_count, jit_options, jit_values) ||
      lacks(count, options, values)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::string text;
  if (const CUresult result = read_file(path, text); result != CUDA_SUCCESS) return result;
  return add_library(out, text.c_str());
}

NVS_SIM(cuLibraryUnload, (CUlibrary handle), handle) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto library = d.libraries.find(handle);
  if (!library) return CUDA_ERROR_INVALID_HANDLE;
  for (const auto& [name, kernel] : library->kernels) d.functions.remove(kernel->handle);
  for (const auto& [context, module] : library->modules) unload(d, module);
  d.libraries.remove(handle);
  d.unloaded_libraries.push_back(library);
  return CUDA_SUCCESS;
}

NVS_SIM(cuLibraryGetKernel, (CUkernel * out, CUlibrary handle, const char* name), out, handle,
        name) {
  if (out == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  std::shared_ptr<Library> library;
  if (const CUresult result = find_library(d, handle, library); result != CUDA_SUCCESS) {
    return result;
  }
  const auto kernel = kernel_named(d, *library, name);
  if (!kernel) return CUDA_ERROR_NOT_FOUND;
  *out = reinterpret_cast<CUkernel>(kernel->handle);
  return CUDA_SUCCESS;
}

NVS_SIM(cuLibraryGetKernelCount, (unsigned int* count, CUlibrary handle), count, handle) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  std::shared_ptr<Library> library;
  if (const CUresult result = find_library(d, handle, library); result != CUDA_SUCCESS) {
    return result;
  }
  *count = static_cast<unsigned>(library->code.ptx.entries.size());
  return CUDA_SUCCESS;
}

NVS_SIM(cuLibraryEnumerateKernels, (CUkernel * out, unsigned int count, CUlibrary handle), out,
        count, handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  std::shared_ptr<Library> library;
  if (const CUresult result = find_library(d, handle, library); result != CUDA_SUCCESS) {
    return result;
  }
  const std::size_t limit = std::min<std::size_t>(count, library->code.ptx.entries.size());
  for (std::size_t i = 0; i < limit; ++i) {
    const auto kernel = kernel_named(d, *library, library->code.ptx.entries[i].name);
    out[i] = reinterpret_cast<CUkernel>(kernel->handle);
  }
  return CUDA_SUCCESS;
}

NVS_SIM(cuLibraryGetModule, (CUmodule * out, CUlibrary handle), out, handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  std::shared_ptr<Library> library;
  if (const CUresult result = find_library(d, handle, library); result != CUDA_SUCCESS) {
    return result;
  }
  NVS_SIM_CONTEXT(context)
  *out = module_in(d, *library, *context).handle;
  return CUDA_SUCCESS;
}

NVS_SIM(cuLibraryGetGlobal,
        (CUdeviceptr * address, size_t* bytes, CUlibrary handle, const char* name), address, bytes,
        handle, name) {
  if (name == nullptr || (address == nullptr && bytes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  std::shared_ptr<Library> library;
  if (const CUresult result = find_library(d, handle, library); result != CUDA_SUCCESS) {
    return result;
  }
  NVS_SIM_CONTEXT(context)
  GlobalPlace place;
  if (const CUresult result = find_global(d, module_in(d, *library, *context), name, place);
      result != CUDA_SUCCESS) {
    return result;
  }
  if (address != nullptr) *address = place.address;
  if (bytes != nullptr) *bytes = place.size;
  return CUDA_SUCCESS;
}

NVS_SIM(cuKernelGetFunction, (CUfunction * out, CUkernel handle), out, handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto kernel = find_kernel(d, handle);
  if (!kernel) return CUDA_ERROR_INVALID_HANDLE;
  NVS_SIM_CONTEXT(context)
  Module& module = module_in(d, *kernel->library, *context);
  *out = find_function(d, module, kernel->entry->name)->handle;
  return CUDA_SUCCESS;
}

NVS_SIM(cuKernelGetLibrary, (CUlibrary * out, CUkernel handle), out, handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto kernel = find_kernel(d, handle);
  if (!kernel) return CUDA_ERROR_INVALID_HANDLE;
  *out = kernel->library->handle;
  return CUDA_SUCCESS;
}

NVS_SIM(cuKernelGetName, (const char** name, CUkernel handle), name, handle) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto kernel = find_kernel(d, handle);
  if (!kernel) return CUDA_ERROR_INVALID_HANDLE;
  *name = kernel->entry->name.c_str();
  return CUDA_SUCCESS;
}

NVS_SIM(cuKernelGetParamInfo, (CUkernel handle, size_t index, size_t* offset, size_t* size), handle,
        index, offset, size) {
  if (offset == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto kernel = find_kernel(d, handle);
  if (!kernel) return CUDA_ERROR_INVALID_HANDLE;
  return parameter_info(*kernel, index, offset, size);
}

NVS_SIM(cuKernelGetAttribute,
        (int* value, CUfunction_attribute attribute, CUkernel handle, CUdevice device), value,
        attribute, handle, device) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  if (!d.gpu_of(device)) return CUDA_ERROR_INVALID_DEVICE;
  const std::lock_guard guard{d.lock};
  const auto kernel = find_kernel(d, handle);
  if (!kernel) return CUDA_ERROR_INVALID_HANDLE;
  return get_function_attribute(*kernel, attribute, value);
}

NVS_SIM(cuKernelSetAttribute,
        (CUfunction_attribute attribute, int value, CUkernel handle, CUdevice device), attribute,
        value, handle, device) {
  Driver& d = driver();
  if (!d.gpu_of(device)) return CUDA_ERROR_INVALID_DEVICE;
  const std::lock_guard guard{d.lock};
  const auto kernel = find_kernel(d, handle);
  if (!kernel) return CUDA_ERROR_INVALID_HANDLE;
  return set_function_attribute(*kernel, attribute, value);
}
