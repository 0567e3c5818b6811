// SPDX-License-Identifier: Apache-2.0
// Launches a few kernels in one way and prints how often each library in between was passed, and
// the driver reached.
//
// usage: wrapped link|dlsym|default|next|proc_address, or one of the cases at the end
#include <atomic>
#include <thread>
#include <vector>

#include "tests/interposer/programs/program.h"

namespace nvs::program {
namespace {

constexpr unsigned kLaunches = 7;

void print_count(const char* name) {
  using Counter = unsigned();
  auto* const counter = reinterpret_cast<Counter*>(::dlsym(RTLD_DEFAULT, name));
  if (counter != nullptr) std::printf("%s: %u\n", name, counter());
}

template <class Launch>
int launch_by(Launch* launch) {
  NVS_DO(cuInit(0));
  CUcontext context = nullptr;
  NVS_DO(cuCtxCreate_v2(&context, 0, 0));
  for (unsigned i = 0; i < kLaunches; ++i) {
    NVS_DO(launch(nullptr, i, 2, 3, 4, 5, 6, 7, nullptr, nullptr, nullptr));
  }
  print_count("wrapped_launches_next");
  print_count("wrapped_launches_opened");
  std::printf("driver: %u\n", NVS_FIND(fake_launches)());
  for (unsigned i = 0; i < NVS_FIND(fake_launches)(); ++i) {
    std::printf(" %u", NVS_FIND(fake_launched)(i));
  }
  std::puts("");
  evidence_of("launch", launch);
  return 0;
}

int by_link() { return launch_by(&cuLaunchKernel); }
int by_dlsym() { return launch_by(NVS_FIND(cuLaunchKernel)); }
int by_default() {
  return launch_by(find<decltype(cuLaunchKernel)>("cuLaunchKernel", RTLD_DEFAULT));
}
int by_next() { return launch_by(find<decltype(cuLaunchKernel)>("cuLaunchKernel", RTLD_NEXT)); }
int by_proc_address() {
  void* address = nullptr;
  NVS_DO(cuGetProcAddress_v2("cuLaunchKernel", &address, 13000, 0, nullptr));
  return launch_by(reinterpret_cast<decltype(&cuLaunchKernel)>(address));
}

// Allocates in many threads' worth of sizes; a wrapper of malloc must see them all.
int allocations() {
  using Counter = unsigned long();
  auto* const counter = reinterpret_cast<Counter*>(::dlsym(RTLD_DEFAULT, "wrapped_mallocs"));
  if (counter == nullptr) give_up("no wrapper");
  const unsigned long before = counter();
  for (std::size_t i = 1; i < 100; ++i) {
    void* volatile memory = std::malloc(i);
    std::memset(memory, 0, i);
    std::free(memory);
  }
  std::printf("%lu allocations\n", counter() - before);
  std::printf("malloc from %s\n", file_of(::dlsym(RTLD_DEFAULT, "malloc")));
  return by_link();
}

// The first calls of a program, by many threads at once and in every way.
int first_calls_at_once() {
  constexpr unsigned kThreads = 16;
  std::atomic<bool> go{false};
  std::atomic<unsigned> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) {
    threads.emplace_back([&go, &wrong, i] {
      while (!go.load()) {
      }
      void* asked = nullptr;
      decltype(&cuLaunchKernel) launch = &cuLaunchKernel;
      if (i % 4 == 1) launch = NVS_FIND(cuLaunchKernel);
      if (i % 4 == 2) launch = find<decltype(cuLaunchKernel)>("cuLaunchKernel", RTLD_DEFAULT);
      if (i % 4 == 3) {
        NVS_DO(cuGetProcAddress_v2("cuLaunchKernel", &asked, 13000, 0, nullptr));
        launch = reinterpret_cast<decltype(&cuLaunchKernel)>(asked);
      }
      CUdeviceptr address = 0;
      if (cuMemAlloc_v2(&address, 4096) != CUDA_SUCCESS) wrong.fetch_add(1);
      if (launch(nullptr, i, 2, 3, 4, 5, 6, 7, nullptr, nullptr, nullptr) != CUDA_SUCCESS) {
        wrong.fetch_add(1);
      }
    });
  }
  go.store(true);
  for (std::thread& thread : threads) thread.join();
  std::printf("%u launches, %u wrong\n", fake_launches(), wrong.load());
  return 0;
}

constexpr Case kCases[] = {
    {"link", by_link},
    {"dlsym", by_dlsym},
    {"default", by_default},
    {"next", by_next},
    {"proc_address", by_proc_address},
    {"allocations", allocations},
    {"first_calls_at_once", first_calls_at_once},
};

}  // namespace
}  // namespace nvs::program

int main(int argc, char** argv) { return nvs::program::run_case(argc, argv, nvs::program::kCases); }
