// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "tests/conformance/fixture.h"
#include "tests/conformance/sections.h"

namespace nvs::conformance {
namespace {

constexpr const char* kEmptyPtx = ".version 6.3\n.target sm_75\n.address_size 64\n";
constexpr const char* kFuturePtx = ".version 99.0\n.target sm_75\n.address_size 64\n";
constexpr const char* kFutureTarget = ".version 6.3\n.target sm_999\n.address_size 64\n";
constexpr const char* kBrokenPtx =
    ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry broken() { nonsense; }\n";
constexpr const char* kGlobalPtx =
    ".version 6.3\n.target sm_75\n.address_size 64\n"
    ".visible .global .align 4 .u32 nvs_word = 42;\n"
    ".visible .global .align 8 .b8 nvs_bytes[100];\n";

void load(Run& run) {
  CUmodule module = nullptr;
  CALL("kernels", cuModuleLoadData, &module, ptx());
  CALL("kernels", cuModuleUnload, module);
  CALL("no text", cuModuleLoadData, &module, "");
  CALL("no PTX", cuModuleLoadData, &module, "hello, this is no program");
  CALL("broken PTX", cuModuleLoadData, &module, kBrokenPtx);
  CALL("empty PTX", cuModuleLoadData, &module, kEmptyPtx);
  CALL("future PTX version", cuModuleLoadData, &module, kFuturePtx);
  CALL("future target", cuModuleLoadData, &module, kFutureTarget);
  CALL("null result", cuModuleLoadData, nullptr, ptx());
  CALL("null text", cuModuleLoadData, &module, nullptr);
  CALL("no such file", cuModuleLoad, &module, "/nonexistent/file.ptx");
  CALL("null name", cuModuleLoad, &module, nullptr);
  CALL("null", cuModuleUnload, nullptr);
  CALL("broken PTX", cuModuleLoadFatBinary, &module, kBrokenPtx);
}

void options(Run& run) {
  CUmodule module = nullptr;
  char log[4096] = "";
  CUjit_option names[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  CALL("error log, broken PTX", cuModuleLoadDataEx, &module, kBrokenPtx, 2, names, values);
  run.show("log has text", log[0] != 0);
  log[0] = 0;
  values[1] = reinterpret_cast<void*>(sizeof log);
  CALL("error log, good PTX", cuModuleLoadDataEx, &module, ptx(), 2, names, values);
  run.show("log is empty", log[0] == 0);
  CALL("no options", cuModuleLoadDataEx, &module, ptx(), 0, nullptr, nullptr);
  CUjit_option registers[] = {CU_JIT_MAX_REGISTERS};
  void* limit[] = {reinterpret_cast<void*>(std::uintptr_t{32})};
  CALL("32 registers", cuModuleLoadDataEx, &module, ptx(), 1, registers, limit);
  CUjit_option unknown[] = {as_enum<CUjit_option>(1000)};
  CALL("option 1000", cuModuleLoadDataEx, &module, ptx(), 1, unknown, limit);
  CALL("null options, count 1", cuModuleLoadDataEx, &module, ptx(), 1, nullptr, nullptr);
}

void functions(Run& run) {
  const Kernels kernels = load_kernels(run);
  CUfunction function = nullptr;
  CALL("nvs_fill", cuModuleGetFunction, &function, kernels.module, "nvs_fill");
  run.show("same function twice", function == kernels.fill);
  CALL("no such name", cuModuleGetFunction, &function, kernels.module, "nvs_none");
  CALL("no name", cuModuleGetFunction, &function, kernels.module, "");
  CALL("null name", cuModuleGetFunction, &function, kernels.module, nullptr);
  CALL("null result", cuModuleGetFunction, nullptr, kernels.module, "nvs_fill");
  CALL("null module", cuModuleGetFunction, &function, nullptr, "nvs_fill");
  CUmodule module = nullptr;
  CALL("", cuFuncGetModule, &module, kernels.fill);
  run.show("its own module", module == kernels.module);
  CALL("null function", cuFuncGetModule, &module, nullptr);
  CALL("null result", cuFuncGetModule, nullptr, kernels.fill);
  const char* name = nullptr;
  CALL("", cuFuncGetName, &name, kernels.step);
  run.show("name", name == nullptr ? "null" : name);
  CALL("null result", cuFuncGetName, nullptr, kernels.step);
  unsigned count = 0;
  CALL("", cuModuleGetFunctionCount, &count, kernels.module);
  run.show("at least four functions", count >= 4);
  CUfunction two[2] = {};
  CALL("first 2", cuModuleEnumerateFunctions, two, 2, kernels.module);
  run.show("two functions", two[0] != nullptr && two[1] != nullptr && two[0] != two[1]);
  CALL("none", cuModuleEnumerateFunctions, two, 0, kernels.module);
  CALL("null", cuModuleEnumerateFunctions, nullptr, 2, kernels.module);
}

void parameters(Run& run) {
  const Kernels kernels = load_kernels(run);
  for (std::size_t i = 0; i < 5; ++i) {
    std::size_t offset = 77;
    std::size_t size = 77;
    CALL(cat("nvs_fill, ", i), cuFuncGetParamInfo, kernels.fill, i, &offset, &size);
    run.show(cat("nvs_fill's parameter ", i), cat("offset ", offset, ", size ", size));
  }
  std::size_t offset = 77;
  std::size_t size = 77;
  CALL("nvs_spin, 0", cuFuncGetParamInfo, kernels.spin, 0, &offset, &size);
  run.show("nvs_spin's parameter 0", cat("offset ", offset, ", size ", size));
  CALL("null size", cuFuncGetParamInfo, kernels.fill, 0, &offset, nullptr);
  CALL("null offset", cuFuncGetParamInfo, kernels.fill, 0, nullptr, &size);
  CALL("null function", cuFuncGetParamInfo, nullptr, 0, &offset, &size);
}

void attributes(Run& run) {
  const Kernels kernels = load_kernels(run);
  for (int attribute = 0; attribute <= 16; ++attribute) {
    int value = 77;
    CALL(cat("attribute ", attribute), cuFuncGetAttribute, &value,
         as_enum<CUfunction_attribute>(attribute), kernels.fill);
    // What the compiler makes of the PTX is its own affair: registers, local memory, binary
    // version.
    const bool by_compiler = attribute == CU_FUNC_ATTRIBUTE_NUM_REGS;
    run.show(cat("attribute ", attribute), by_compiler ? cat("positive: ", value > 0) : cat(value));
  }
  int value = 0;
  CALL("attribute -1", cuFuncGetAttribute, &value, as_enum<CUfunction_attribute>(-1), kernels.fill);
  CALL("null result", cuFuncGetAttribute, nullptr, CU_FUNC_ATTRIBUTE_NUM_REGS, kernels.fill);
  CALL("null function", cuFuncGetAttribute, &value, CU_FUNC_ATTRIBUTE_NUM_REGS, nullptr);
  constexpr auto kShared = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
  for (const int bytes : {0, 1024, 49152, 49153, 100000, 232448, 232449, 1000000, -1}) {
    CALL(cat("shared ", bytes), cuFuncSetAttribute, kernels.fill, kShared, bytes);
    SETUP(cuFuncGetAttribute, &value, kShared, kernels.fill);
    run.show(cat("shared after ", bytes), value);
  }
  CALL("registers", cuFuncSetAttribute, kernels.fill, CU_FUNC_ATTRIBUTE_NUM_REGS, 8);
  for (const int percent : {-1, 0, 50, 100, 101, -2})
    CALL(cat("carveout ", percent), cuFuncSetAttribute, kernels.fill,
         CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, percent);
  for (const int config : {0, 1, 2, 3, 4})
    CALL(cat("config ", config), cuFuncSetCacheConfig, kernels.fill, as_enum<CUfunc_cache>(config));
  CUfunctionLoadingState state{};
  CALL("", cuFuncIsLoaded, &state, kernels.fill);
  run.show("loaded", state);
  CALL("", cuFuncLoad, kernels.fill);
}

void globals(Run& run) {
  CUmodule module = nullptr;
  SETUP(cuModuleLoadData, &module, kGlobalPtx);
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  CALL("word", cuModuleGetGlobal_v2, &address, &bytes, module, "nvs_word");
  run.show("size of the word", bytes);
  run.show("value of the word", static_cast<int>(read_bytes(run, address, 4)[0]));
  CALL("into a global", cuMemsetD32_v2, address, 7, 1);
  run.show("value set", static_cast<int>(read_bytes(run, address, 4)[0]));
  CALL("bytes", cuModuleGetGlobal_v2, &address, &bytes, module, "nvs_bytes");
  run.show("size of the bytes", bytes);
  CALL("null address", cuModuleGetGlobal_v2, nullptr, &bytes, module, "nvs_word");
  CALL("null size", cuModuleGetGlobal_v2, &address, nullptr, module, "nvs_word");
  CALL("both null", cuModuleGetGlobal_v2, nullptr, nullptr, module, "nvs_word");
  CALL("no such name", cuModuleGetGlobal_v2, &address, &bytes, module, "nvs_none");
  CALL("null name", cuModuleGetGlobal_v2, &address, &bytes, module, nullptr);
  CALL("a global", cuMemFree_v2, address);
}

void library(Run& run) {
  CUlibrary lib = nullptr;
  const auto load_library = [&](const char* text) {
    return run.driver().cuLibraryLoadData(&lib, text, nullptr, nullptr, 0, nullptr, nullptr, 0);
  };
  run.show("cuLibraryLoadData(broken PTX)", load_library(kBrokenPtx));
  run.show("cuLibraryLoadData(no PTX)", load_library("nothing"));
  run.show("cuLibraryLoadData(null)", load_library(nullptr));
  run.show("cuLibraryLoadData(kernels)", load_library(ptx()));
  CUkernel kernel = nullptr;
  CALL("nvs_fill", cuLibraryGetKernel, &kernel, lib, "nvs_fill");
  CALL("no such name", cuLibraryGetKernel, &kernel, lib, "nvs_none");
  CALL("null result", cuLibraryGetKernel, nullptr, lib, "nvs_fill");
  CUfunction function = nullptr;
  CALL("", cuKernelGetFunction, &function, kernel);
  CALL("null", cuKernelGetFunction, nullptr, kernel);
  const CUdeviceptr address = allocate(run, 4096);
  run.show("launch of the function", launch_fill(run, function, address, 2, 16, nullptr));
  run.show("launch of the kernel",
           launch_fill(run, reinterpret_cast<CUfunction>(kernel), address, 3, 16, nullptr));
  run.show("value", static_cast<int>(read_float(run, address, 3)));
  CUmodule module = nullptr;
  CALL("", cuLibraryGetModule, &module, lib);
  CUfunction by_module = nullptr;
  CALL("of a library", cuModuleGetFunction, &by_module, module, "nvs_fill");
  run.show("same function", by_module == function);
  unsigned count = 0;
  CALL("", cuLibraryGetKernelCount, &count, lib);
  run.show("at least four kernels", count >= 4);
  CUlibrary owner = nullptr;
  CALL("", cuKernelGetLibrary, &owner, kernel);
  run.show("its library", owner == lib);
  const char* name = nullptr;
  CALL("", cuKernelGetName, &name, kernel);
  run.show("name", name == nullptr ? "null" : name);
  int value = 77;
  CALL("threads", cuKernelGetAttribute, &value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, 0);
  run.show("threads", value);
  CALL("device 99", cuKernelGetAttribute, &value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel,
       99);
  std::size_t size = 77;
  CALL("1", cuKernelGetParamInfo, kernel, 1, &size, nullptr);
  CALL("a library's", cuModuleUnload, module);
  CALL("", cuLibraryUnload, lib);
  CALL("null", cuLibraryUnload, nullptr);
  CALL("no such file", cuLibraryLoadFromFile, &lib, "/nonexistent", nullptr, nullptr, 0, nullptr,
       nullptr, 0);
}

}  // namespace

Section module_section() {
  return {"module",
          Start::kContext,
          {
              {"load", load},
              {"options", options},
              {"functions", functions},
              {"parameters", parameters},
              {"attributes", attributes},
              {"globals", globals},
              {"library", library},
          }};
}

}  // namespace nvs::conformance
