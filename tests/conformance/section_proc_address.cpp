// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/fixture.h"
#include "tests/conformance/sections.h"

namespace nvs::conformance {
namespace {

// The exported symbol behind an address that the driver answered with: the one that a look-up of
// that symbol leads to as well.
std::string symbol_at(Run& run, void* function) {
  if (function == nullptr) return "null";
  for (const char* symbol : {
#define NVS_CUDA_ENTRY(symbol, name, since, streams) #symbol,
#include "spec/cuda_entry_points.def"
#undef NVS_CUDA_ENTRY
       }) {
    if (run.driver().symbol(symbol) == function) return symbol;
  }
  return "no symbol";
}

void ask(Run& run, const char* name, int version, cuuint64_t flags) {
  void* function = run.driver().symbol("cuInit");
  CUdriverProcAddressQueryResult status = as_enum<CUdriverProcAddressQueryResult>(77);
  const std::string label = cat(name, ", ", version, ", flags ", flags);
  CALL(label, cuGetProcAddress_v2, name, &function, version, flags, &status);
  run.show(cat("answer to ", label), cat(symbol_at(run, function), ", status ", status));
}

void versions(Run& run) {
  for (const int version :
       {0, 1000, 2000, 3010, 3020, 4000, 7000, 11000, 12000, 13000, 13010, 99990}) {
    ask(run, "cuMemAlloc", version, 0);
    ask(run, "cuCtxCreate", version, 0);
  }
  for (const int version : {-1, 10000, 10010, 11010, 11020, 11030, 12030})
    ask(run, "cuStreamGetCaptureInfo", version, 0);
  for (const int version : {10020, 11030, 12000, 13000}) ask(run, "cuGetProcAddress", version, 0);
  for (const int version : {9020, 10000, 12000, 13000})
    ask(run, "cuStreamBeginCapture", version, 0);
  for (const int version : {11000, 12000, 13000}) ask(run, "cuEventElapsedTime", version, 0);
  for (const int version : {11050, 11060, 11070}) ask(run, "cuLaunchKernelEx", version, 0);
}

void flags(Run& run) {
  for (const cuuint64_t flag : {0U, 1U, 2U, 3U, 4U, 8U}) {
    ask(run, "cuMemcpy", 13000, flag);
    ask(run, "cuLaunchKernel", 13000, flag);
    ask(run, "cuMemAlloc", 13000, flag);
  }
  ask(run, "cuMemcpy", 6050, 2);
  ask(run, "cuMemcpy", 7000, 2);
  ask(run, "cuMemcpyHtoDAsync", 3000, 2);
}

void names(Run& run) {
  ask(run, "cuMemAlloc_v2", 13000, 0);
  ask(run, "cuMemcpy_ptds", 13000, 0);
  ask(run, "cuLaunchKernel_ptsz", 13000, 0);
  ask(run, "cuNoSuchFunction", 13000, 0);
  ask(run, "", 13000, 0);
  ask(run, "malloc", 13000, 0);
  ask(run, "cumemalloc", 13000, 0);
  ask(run, "cuMemAlloc ", 13000, 0);
  ask(run, "cuGetProcAddress_v2", 13000, 0);
  ask(run, "cuGetExportTable", 13000, 0);
  ask(run, "nvmlInit", 13000, 0);
}

void old_form(Run& run) {
  void* function = nullptr;
  CALL("cuMemAlloc, 13000", cuGetProcAddress, "cuMemAlloc", &function, 13000, 0);
  run.show("answer", symbol_at(run, function));
  CALL("no such name", cuGetProcAddress, "cuNoSuchFunction", &function, 13000, 0);
  run.show("answer for no such name", symbol_at(run, function));
  CALL("too old", cuGetProcAddress, "cuLaunchKernelEx", &function, 10000, 0);
  run.show("answer when too old", symbol_at(run, function));
  CALL("without status", cuGetProcAddress_v2, "cuMemAlloc", &function, 13000, 0, nullptr);
  run.show("answer without status", symbol_at(run, function));
  CALL("without status, no such name", cuGetProcAddress_v2, "cuNoSuchFunction", &function, 13000, 0,
       nullptr);
}

void through_pointer(Run& run) {
  void* function = nullptr;
  SETUP(cuGetProcAddress_v2, "cuDeviceGetCount", &function, 13000, 0, nullptr);
  int count = 0;
  const auto get_count = reinterpret_cast<CUresult (*)(int*)>(function);
  run.show("cuDeviceGetCount through its pointer", get_count(&count));
  run.show("at least one", count >= 1);
}

}  // namespace

Section proc_address_section() {
  return {"proc_address",
          Start::kInit,
          {
              {"versions", versions},
              {"flags", flags},
              {"names", names},
              {"old_form", old_form},
              {"through_pointer", through_pointer},
          }};
}

}  // namespace nvs::conformance
