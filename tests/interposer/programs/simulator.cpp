// SPDX-License-Identifier: Apache-2.0
// Work on the simulated GPU, and a fork in the middle of it. The driver is where
// NVSHARE_CUDA_LIBRARY says, else where the loader finds it.
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "tests/interposer/programs/program.h"

namespace nvs::program {
namespace {

constexpr std::size_t kWords = 1024;

void* simulator() {
  const char* const path = std::getenv("NVSHARE_CUDA_LIBRARY");
  static void* const library = ::dlopen(path != nullptr ? path : "libcuda.so.1", RTLD_NOW);
  if (library == nullptr) give_up(::dlerror());
  return library;
}
#define NVS_SIM(name) find<decltype(::name)>(#name, simulator())

CUcontext start() {
  NVS_DO(NVS_SIM(cuInit)(0));
  CUcontext context = nullptr;
  NVS_DO(NVS_SIM(cuCtxCreate_v2)(&context, 0, 0));
  return context;
}

void work(unsigned value) {
  CUdeviceptr data = 0;
  std::vector<unsigned> words(kWords);
  NVS_DO(NVS_SIM(cuMemAlloc_v2)(&data, kWords * sizeof(unsigned)));
  NVS_DO(NVS_SIM(cuMemsetD32_v2)(data, value, kWords));
  NVS_DO(NVS_SIM(cuMemcpyDtoH_v2)(words.data(), data, kWords * sizeof(unsigned)));
  NVS_DO(NVS_SIM(cuMemFree_v2)(data));
  unsigned long sum = 0;
  for (const unsigned word : words) sum += word;
  std::printf("sum %lu\n", sum);
  std::fflush(stdout);
}

int compute() {
  CUcontext const context = start();
  work(3);
  work(5);
  evidence("cuMemAlloc_v2", ::dlsym(simulator(), "cuMemAlloc_v2"));
  NVS_DO(NVS_SIM(cuCtxDestroy_v2)(context));
  return 0;
}

// A real driver is not for the children of those who initialised it.
int fork_after_init() {
  CUcontext const context = start();
  work(3);
  const pid_t child = ::fork();
  if (child == 0) {
    CUdeviceptr data = 0;
    CUcontext current = nullptr;
    const int init = NVS_SIM(cuInit)(0);
    const int alloc = NVS_SIM(cuMemAlloc_v2)(&data, 4096);
    const int get = NVS_SIM(cuCtxGetCurrent)(&current);
    const int set = NVS_SIM(cuMemsetD32_v2)(data, 1, 1);
    const int synchronize = NVS_SIM(cuCtxSynchronize)();
    std::printf("child: %d %d %d %d %d\n", init, alloc, get, set, synchronize);
    std::exit(5);
  }
  int status = -1;
  if (::waitpid(child, &status, 0) != child) give_up("waitpid");
  std::printf("child ended: %d\n", status);
  work(7);
  NVS_DO(NVS_SIM(cuCtxDestroy_v2)(context));
  return 0;
}

constexpr Case kCases[] = {{"compute", compute}, {"fork_after_init", fork_after_init}};

}  // namespace
}  // namespace nvs::program

int main(int argc, char** argv) { return nvs::program::run_case(argc, argv, nvs::program::kCases); }
