// SPDX-License-Identifier: Apache-2.0
// A program that knows nothing of the driver and opens a plug-in that does, over and over.
#include "tests/interposer/programs/program.h"

int main(int argc, char** argv) {
  if (argc != 2) nvs::program::give_up("one argument");
  for (int round = 0; round < 3; ++round) {
    void* const plugin = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) nvs::program::give_up(::dlerror());
    nvs::program::find<int()>("run_plugin", plugin)();
    std::printf("outside: %s\n", ::dlsym(RTLD_DEFAULT, "cuInit") != nullptr ? "there" : "null");
    std::printf("closed: %d\n", ::dlclose(plugin));
  }
  return 0;
}
