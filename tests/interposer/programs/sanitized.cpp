// SPDX-License-Identifier: Apache-2.0
// A program that is built with a sanitizer, uses the driver from several threads, and, in the other
// case, makes the mistake that its sanitizer looks for.
#include <memory>
#include <thread>
#include <vector>

#include "tests/interposer/programs/launcher.h"

namespace nvs::program {
namespace {

int use_driver() {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      gpu().use(static_cast<int>(i % 2));
      for (unsigned j = 0; j < 200; ++j) NVS_DO(gpu().launch(j));
      CUdeviceptr address = 0;
      NVS_DO(NVS_FIND(cuMemAlloc_v2)(&address, 4096));
      const std::vector<char> bytes(4096);
      NVS_DO(NVS_FIND(cuMemcpyHtoD_v2)(address, bytes.data(), bytes.size()));
      NVS_DO(NVS_FIND(cuMemFree_v2)(address));
    });
  }
  for (std::thread& thread : threads) thread.join();
  void* asked = nullptr;
  NVS_DO(NVS_FIND(cuGetProcAddress_v2)("cuLaunchKernel", &asked, 13000, 0, nullptr));
  std::printf("%u launches, %s\n", gpu().launches(),
              asked == reinterpret_cast<void*>(gpu().launch_kernel) ? "the same" : "another");
  std::printf("no such thing: %s\n",
              ::dlsym(RTLD_DEFAULT, "cuNoSuchThing") == nullptr ? "null" : "");
  evidence_of("launch", gpu().launch_kernel);
  return 0;
}

int make_a_mistake() {
  gpu().launch(1);
#if defined(__SANITIZE_ADDRESS__)
  const auto memory = std::make_unique<char[]>(16);
  volatile std::size_t one_too_far = 16;
  std::printf("%d\n", memory[one_too_far]);
#else
  int shared = 0;
  std::thread other([&shared] { shared = 1; });
  shared = 2;
  other.join();
  std::printf("%d\n", shared > 0);
#endif
  return 0;
}

constexpr Case kCases[] = {{"use_driver", use_driver}, {"make_a_mistake", make_a_mistake}};

}  // namespace
}  // namespace nvs::program

int main(int argc, char** argv) { return nvs::program::run_case(argc, argv, nvs::program::kCases); }
