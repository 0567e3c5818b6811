// SPDX-License-Identifier: Apache-2.0
// Linked to functions of which some drivers have only half. Prints what a call of each says, one of
// each way in which a function may be hooked.
//
// usage: lacking own|gate|jump
#include "tests/interposer/programs/program.h"

namespace nvs::program {
namespace {

int print(CUresult result) { return std::printf("%d\n", result) > 0 ? 0 : 1; }

int call_own() {
  CUdeviceptr address = 0;
  print(cuMemAlloc_v2(&address, 1));
  return print(cuMemAllocManaged(&address, 1, 1));
}
int call_gate() {
  print(cuMemsetD8_v2(1, 2, 3));
  return print(cuMemsetD16_v2(2, 3, 4));
}
int call_jump() {
  std::size_t free = 0;
  std::size_t total = 0;
  print(cuMemGetInfo_v2(&free, &total));
  return print(cuDeviceTotalMem_v2(&total, 0));
}

constexpr Case kCases[] = {{"own", call_own}, {"gate", call_gate}, {"jump", call_jump}};

}  // namespace
}  // namespace nvs::program

int main(int argc, char** argv) { return nvs::program::run_case(argc, argv, nvs::program::kCases); }
