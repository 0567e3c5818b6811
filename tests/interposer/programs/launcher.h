// SPDX-License-Identifier: Apache-2.0
// A thread's use of the fake driver: initialised, a context current, kernels launched by number.
#pragma once

#include "tests/interposer/programs/program.h"

namespace nvs::program {

struct Launcher {
  decltype(&cuLaunchKernel) launch_kernel = NVS_FIND(cuLaunchKernel);
  decltype(&cuCtxSetCurrent) set_current = NVS_FIND(cuCtxSetCurrent);
  decltype(&fake_launches) launches = NVS_FIND(fake_launches);
  decltype(&fake_launched) launched = NVS_FIND(fake_launched);
  decltype(&fake_on_launch) on_launch = NVS_FIND(fake_on_launch);
  decltype(&fake_inside) inside = NVS_FIND(fake_inside);
  CUcontext contexts[2] = {};

  Launcher() {
    NVS_DO(NVS_FIND(cuInit)(0));
    for (int device = 0; device < 2; ++device) {
      NVS_DO(NVS_FIND(cuCtxCreate_v2)(&contexts[device], 0, device));
    }
    use(0);
  }
  void use(int device) const { NVS_DO(set_current(contexts[device])); }
  CUresult launch(unsigned number, CUstream stream = nullptr) const {
    return launch_kernel(nullptr, number, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
  }
};

/// One for the process; it is never destroyed, because exit handlers use it too.
inline const Launcher& gpu() {
  static const Launcher& the_launcher = *new Launcher;
  return the_launcher;
}

}  // namespace nvs::program
