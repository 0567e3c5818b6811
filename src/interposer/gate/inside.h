// SPDX-License-Identifier: Apache-2.0
// For hooks that do more at the gate than call the driver once: as long as their work runs, the
// gate of no GPU closes, so all memory of the process is there and stays. They wait at a closed
// gate as a submission does.
#pragma once

#include "interposer/gate/gate.h"

namespace nvs::interposer::gate {

// A function of its own, so that its return address lies under the mark: it tells calls that are
// nested in this one from those that come after it.
template <class Work>
[[gnu::noinline]] CUresult run_marked(Work& work) {
  return work();
}

template <class Work>
[[gnu::noinline]] CUresult inside(Work work) {
  std::uintptr_t frame;
#if defined(__x86_64__)
  __asm__("movq %%rsp, %0" : "=r"(frame));
#else
  __asm__("mov %0, sp" : "=r"(frame));
#endif
  Slot* slot = enter({.frame = frame,
                      .stream = nullptr,
                      .on_stream = false,
                      .on_all_gpus = true,
                      .kind = 0,
                      .submits = false});
  const CUresult result = run_marked(work);
  if (slot == nullptr) {
    leave();
  } else {
    slot->inside.store(0, std::memory_order_release);
  }
  return result;
}

}  // namespace nvs::interposer::gate
