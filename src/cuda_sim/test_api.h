// SPDX-License-Identifier: Apache-2.0
// What a test may ask of the simulated driver beyond CUDA: find out that it is one, read its books,
// and make it fail. The simulated libcuda.so.1 exports these C functions beside the driver API; a
// program finds them through nvs::Driver::sim() and never links against them.
#pragma once

#include <stddef.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

// All memory of the simulated machine is this many times smaller than nominal.
unsigned cusimScale(void);

// All modelled times are multiplied by this.
double cusimTimeFactor(void);

// Violations (unmapping under work, touching unmapped memory, ...) recorded on this machine by any
// process. The text has one line each; the return value is the size of the whole text, which may be
// more than fits the buffer.
unsigned long long cusimViolationCount(void);
size_t cusimViolationText(char* buffer, size_t size);

// After `after` more good calls of the named function in this process, the next `times` calls fail
// with `result`; below 0, the process gets the signal of that number instead. FUNCTION@THREAD means
// the calls of threads of that name alone. Returns 0, or -1 for a function that is not known.
int cusimFailCall(const char* function, unsigned after, unsigned times, int result);

// The next kernel of this process never ends until it is released; or it faults, and poisons its
// context.
int cusimHangNextKernel(void);
int cusimReleaseHang(void);
int cusimFaultNextKernel(void);

// How late the simulator was against modelled time, and the modelled time the GPU was busy: totals
// of the machine. A benchmark is valid only while the first is a small part of the second.
int cusimOverrun(int gpu, unsigned long long* overrun_ns, unsigned long long* busy_ns);

// What the machine's ledger holds for a GPU now.
int cusimLedger(int gpu, unsigned long long* bytes_used, unsigned* processes, unsigned* contexts);

// Managed memory on a GPU, in blocks of 2 MiB of the card modelled: how many are there now, and how
// many ever came and were carried away again. Totals of the machine.
int cusimManaged(int gpu, unsigned long long* resident, unsigned long long* moved_in,
                 unsigned long long* moved_out);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#ifdef __cplusplus
// Each function of this header, for whoever has to list them.
#define NVS_CUSIM_FUNCTIONS(row)                                                                  \
  row(cusimScale) row(cusimTimeFactor) row(cusimViolationCount) row(cusimViolationText)           \
      row(cusimFailCall) row(cusimHangNextKernel) row(cusimReleaseHang) row(cusimFaultNextKernel) \
          row(cusimOverrun) row(cusimLedger) row(cusimManaged)

struct CusimApi {
#define NVS_CUSIM_MEMBER(symbol) decltype(&::symbol) symbol = nullptr;
  NVS_CUSIM_FUNCTIONS(NVS_CUSIM_MEMBER)
#undef NVS_CUSIM_MEMBER
};
#endif
