// SPDX-License-Identifier: Apache-2.0
// A plug-in of two parts. It needs the driver, for the other one.
#include "tests/interposer/programs/program.h"

extern "C" int run_part();

extern "C" [[gnu::visibility("default")]] int run_plugin() {
  NVS_DO(cuInit(0));
  CUcontext context = nullptr;
  NVS_DO(cuCtxCreate_v2(&context, 0, 0));
  return run_part();
}
