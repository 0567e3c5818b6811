// SPDX-License-Identifier: Apache-2.0
#include "cuda_api/driver.h"

#include <cstdlib>

#include <dlfcn.h>

namespace nvs {
namespace {

std::optional<CusimApi> find_simulator(void* library) {
  CusimApi api;
#define NVS_CUSIM_FIND(name) api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, #name));
  NVS_CUSIM_FUNCTIONS(NVS_CUSIM_FIND)
#undef NVS_CUSIM_FIND
  if (api.cusimScale == nullptr) return std::nullopt;
  return api;
}

}  // namespace

void Driver::CloseLibrary::operator()(void* library) const { dlclose(library); }

Driver::Driver(void* library, Find find) : library_(library), sim_(find_simulator(library)) {
#define NVS_CUDA_FUNCTION(name, ...) name = reinterpret_cast<decltype(name)>(find(library, #name));
#define NVS_CUDA_VARIANT(name, base) NVS_CUDA_FUNCTION(name)
#include "spec/cuda_functions.def"
#undef NVS_CUDA_FUNCTION
#undef NVS_CUDA_VARIANT
}

tl::expected<Driver, std::string> Driver::load(const char* path, Find find) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): programs load their driver before they have threads
  if (path == nullptr) path = std::getenv("NVSHARE_CUDA_LIBRARY");
  if (path == nullptr || *path == '\0') path = "libcuda.so.1";
  // A driver has threads of its own, which must not lose their code when the last user closes it.
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* why = dlerror();  // NOLINT(concurrency-mt-unsafe): glibc keeps it per thread
    return tl::unexpected(std::string(why != nullptr ? why : path));
  }
  return Driver(library, find != nullptr ? find : &dlsym);
}

void* Driver::symbol(const char* name) const { return dlsym(library_.get(), name); }

}  // namespace nvs
