// SPDX-License-Identifier: Apache-2.0
// Entry points: modules and the functions in them.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>

#include "cuda_sim/api/call.h"
#include "cuda_sim/api/module_rules.h"
#include "cuda_sim/api/ptx_text.h"
#include "cuda_sim/objects/plain_memory.h"

using namespace nvs::sim;

namespace nvs::sim {

CUresult read_image(const void* image, Code& out, std::string& message) {
  const auto* bytes = static_cast<const char*>(image);
  constexpr std::string_view kElf = "\177ELF";
  if (std::strncmp(bytes, kElf.data(), kElf.size()) == 0) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  // PTX is text; whatever begins otherwise is no image at all.
  const std::string_view text{bytes};
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool looks_like_ptx =
      first != std::string_view::npos &&
      (text[first] == '.' || text.substr(first, 2) == "//" || text.substr(first, 2) == "/*");
  if (!looks_like_ptx) return CUDA_ERROR_INVALID_IMAGE;
  const PtxText ptx = split_ptx(text);
  if (const CUresult result = check_ptx(ptx, driver().machine->model(), message);
      result != CUDA_SUCCESS) {
    return result;
  }
  auto parsed = parse_ptx(text);
  if (!parsed) return CUDA_ERROR_INVALID_PTX;
  out = {.ptx = std::move(*parsed), .globals = parse_globals(ptx)};
  return CUDA_SUCCESS;
}

CUresult read_file(const char* path, std::string& out) {
  std::ifstream file{path, std::ios::binary};
  if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
  out.assign(std::istreambuf_iterator<char>(file), {});
  return CUDA_SUCCESS;
}

std::shared_ptr<Function> new_function(Driver& d, const PtxEntry& entry) {
  auto function = std::make_shared<Function>();
  function->entry = &entry;
  function->builtin = find_builtin(entry.name);
  function->handle = d.functions.add(function);
  return function;
}

std::shared_ptr<Function> find_function(Driver& d, Module& module, const std::string& name) {
  if (const auto it = module.functions.find(name); it != module.functions.end()) return it->second;
  for (const PtxEntry& entry : module.code.ptx.entries) {
    if (entry.name != name) continue;
    auto function = new_function(d, entry);
    function->module = &module;
    module.functions[name] = function;
    return function;
  }
  return nullptr;
}

void unload(Driver& d, const std::shared_ptr<Module>& module) {
  for (const auto& [name, function] : module->functions) d.functions.remove(function->handle);
  for (const auto& [name, place] : module->globals) {
    // The driver lets programs free a variable, and the address may be another's by now.
    const Mapping* mapping = d.space.find(place.address);
    if (mapping != nullptr && mapping->buffer_id == place.buffer_id) free_plain(d, place.address);
  }
  d.modules.remove(module->handle);
  d.unloaded_modules.push_back(module);
}

CUresult find_global(Driver& d, Module& module, const std::string& name, GlobalPlace& out) {
  if (const auto it = module.globals.find(name); it != module.globals.end()) {
    out = it->second;
    return CUDA_SUCCESS;
  }
  const auto& all = module.code.globals;
  const auto global =
      std::find_if(all.begin(), all.end(), [&](const GlobalVariable& g) { return g.name == name; });
  if (global == all.end()) return CUDA_ERROR_NOT_FOUND;
  out.address = allocate_plain(d, *module.context, global->size);
  if (out.address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  out.size = global->size;
  out.buffer_id = d.space.find(out.address)->buffer_id;
  std::vector<std::byte> content = global->initial;
  content.resize(global->size);
  const auto view = d.space.view(out.address, out.size, module.context->gpu, Access::read_write);
  std::size_t done = 0;
  view->for_each(0, out.size, [&](std::byte* host, std::uint64_t bytes) {
    std::memcpy(host, content.data() + done, bytes);
    done += bytes;
  });
  module.globals[name] = out;
  return CUDA_SUCCESS;
}

}  // namespace nvs::sim

namespace {

CUresult add_module(CUmodule* out, Code code) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_CONTEXT(context)
  auto module = std::make_shared<Module>();
  module->context = context.get();
  module->code = std::move(code);
  module->handle = d.modules.add(module);
  *out = module->handle;
  return CUDA_SUCCESS;
}

CUresult load(CUmodule* out, const void* image, std::string& message) {
  if (out == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  {
    Driver& d = driver();
    const std::lock_guard guard{d.lock};
    NVS_SIM_CONTEXT(context)
  }
  Code code;
  if (const CUresult result = read_image(image, code, message); result != CUDA_SUCCESS) {
    return result;
  }
  return add_module(out, std::move(code));
}

CUresult load(CUmodule* out, const void* image) {
  std::string message;
  return load(out, image, message);
}

// Options come as names and values; the compiler's complaint goes to a buffer among the values, and
// its length takes the place of the buffer's size.
void report(const std::string& message, std::span<const CUjit_option> options, void** values) {
  const auto place = [&](CUjit_option wanted) {
    const auto it = std::find(options.begin(), options.end(), wanted);
    return it == options.end() ? nullptr : values + (it - options.begin());
  };
  void** const buffer = place(CU_JIT_ERROR_LOG_BUFFER);
  void** const size = place(CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
  if (buffer == nullptr || size == nullptr) return;
  const auto room = reinterpret_cast<std::uintptr_t>(*size);
  if (room == 0) return;
  const std::size_t length = std::min<std::size_t>(message.size(), room - 1);
  auto* text = static_cast<char*>(*buffer);
  std::memcpy(text, message.c_str(), length);
  text[length] = '\0';
  *size = reinterpret_cast<void*>(static_cast<std::uintptr_t>(length));
}

CUresult get_global(CUdeviceptr* address, std::size_t* bytes, CUmodule handle, const char* name) {
  if (name == nullptr || (address == nullptr && bytes == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto module = d.modules.find(handle);
  if (!module) return CUDA_ERROR_INVALID_HANDLE;
  GlobalPlace place;
  if (const CUresult result = find_global(d, *module, name, place); result != CUDA_SUCCESS) {
    return result;
  }
  if (address != nullptr) *address = place.address;
  if (bytes != nullptr) *bytes = place.size;
  return CUDA_SUCCESS;
}

}  // namespace

NVS_SIM(cuModuleLoadData, (CUmodule * out, const void* image), out, image) {
  return load(out, image);
}

NVS_SIM(cuModuleLoadDataEx,
        (CUmodule * out, const void* image, unsigned int count, CUjit_option* options,
         void** values),
        out, image, count, options, values) {
  if (count != 0 && (options == nullptr || values == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  const std::span<const CUjit_option> names{options, count};
  for (const CUjit_option option : names) {
    if (option < 0 || option >= CU_JIT_NUM_OPTIONS) return CUDA_ERROR_INVALID_VALUE;
  }
  std::string message;
  const CUresult result = load(out, image, message);
  report(message, names, values);
  return result;
}

NVS_SIM(cuModuleLoadFatBinary, (CUmodule * out, const void* image), out, image) {
  return load(out, image);
}

NVS_SIM(cuModuleLoad, (CUmodule * out, const char* path), out, path) {
  if (out == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::string text;
  if (const CUresult result = read_file(path, text); result != CUDA_SUCCESS) return result;
  return load(out, text.c_str());
}

NVS_SIM(cuModuleUnload, (CUmodule handle), handle) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto module = d.modules.find(handle);
  if (!module) return CUDA_ERROR_INVALID_HANDLE;
  if (module->context->sticky != CUDA_SUCCESS) return module->context->sticky;
  if (module->library != nullptr) return CUDA_ERROR_NOT_PERMITTED;
  unload(d, module);
  return CUDA_SUCCESS;
}

NVS_SIM(cuModuleGetFunction, (CUfunction * out, CUmodule handle, const char* name), out, handle,
        name) {
  if (out == nullptr || name == nullptr || *name == '\0') return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto module = d.modules.find(handle);
  if (!module) return CUDA_ERROR_INVALID_HANDLE;
  const auto function = find_function(d, *module, name);
  if (!function) return CUDA_ERROR_NOT_FOUND;
  *out = function->handle;
  return CUDA_SUCCESS;
}

NVS_SIM(cuModuleGetFunctionCount, (unsigned int* count, CUmodule handle), count, handle) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto module = d.modules.find(handle);
  if (!module) return CUDA_ERROR_INVALID_HANDLE;
  *count = static_cast<unsigned>(module->code.ptx.entries.size());
  return CUDA_SUCCESS;
}

NVS_SIM(cuModuleEnumerateFunctions, (CUfunction * out, unsigned int count, CUmodule handle), out,
        count, handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto module = d.modules.find(handle);
  if (!module) return CUDA_ERROR_INVALID_HANDLE;
  const std::size_t limit = std::min<std::size_t>(count, module->code.ptx.entries.size());
  for (std::size_t i = 0; i < limit; ++i) {
    out[i] = find_function(d, *module, module->code.ptx.entries[i].name)->handle;
  }
  return CUDA_SUCCESS;
}

NVS_SIM(cuModuleGetGlobal_v2,
        (CUdeviceptr * address, size_t* bytes, CUmodule module, const char* name), address, bytes,
        module, name) {
  return get_global(address, bytes, module, name);
}

NVS_SIM(cuModuleGetLoadingMode, (CUmoduleLoadingMode * mode), mode) {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}
