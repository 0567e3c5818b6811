// SPDX-License-Identifier: Apache-2.0
// The test API: what a test may ask of the simulated driver beyond CUDA.
#include "cuda_sim/test_api.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "cuda_sim/objects/driver.h"

using namespace nvs::sim;

namespace {

GpuShare* share_of(int gpu) {
  Driver& d = driver();
  if (!d.machine || gpu < 0 || static_cast<unsigned>(gpu) >= d.machine->gpus()) return nullptr;
  return &d.machine->gpu(static_cast<unsigned>(gpu));
}

}  // namespace

// Before cuInit the environment says what it will be; programs size their data by it.
unsigned cusimScale(void) {
  Driver& d = driver();
  if (d.machine) return d.machine->scale();
  const auto settings = read_settings();
  return settings ? settings->NVSHARE_SIM_SCALE : 1;
}

double cusimTimeFactor(void) {
  Driver& d = driver();
  if (d.machine) return d.machine->time_factor();
  const auto settings = read_settings();
  return settings ? settings->NVSHARE_SIM_TIME : 1;
}

unsigned long long cusimViolationCount(void) {
  Driver& d = driver();
  return d.machine ? d.machine->segment().violations.load() : 0;
}

size_t cusimViolationText(char* buffer, size_t size) {
  std::string text;
  if (Driver& d = driver(); d.machine) {
    const Segment& segment = d.machine->segment();
    const auto count = std::min<unsigned long long>(segment.violations.load(), kViolationsMax);
    for (unsigned long long i = 0; i < count; ++i) {
      text += segment.violation_text[i].data();
      text += '\n';
    }
  }
  if (buffer != nullptr && size > 0) {
    const std::size_t fits = std::min(text.size(), size - 1);
    std::memcpy(buffer, text.data(), fits);
    buffer[fits] = '\0';
  }
  return text.size();
}

int cusimFailCall(const char* function, unsigned after, unsigned times, int result) {
  if (function == nullptr || !is_caller(function) || times == 0) return -1;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  d.faults.fail_call(function, after, times, result);
  return 0;
}

int cusimHangNextKernel(void) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  d.faults.hang_kernel = "*";
  return 0;
}

int cusimReleaseHang(void) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  for (const auto& [handle, context] : d.contexts.all()) context->engine->release_hangs();
  return 0;
}

int cusimFaultNextKernel(void) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  d.faults.fault_kernel = "*";
  return 0;
}

int cusimOverrun(int gpu, unsigned long long* overrun_ns, unsigned long long* busy_ns) {
  const GpuShare* share = share_of(gpu);
  if (share == nullptr || overrun_ns == nullptr || busy_ns == nullptr) return -1;
  *overrun_ns = share->overrun_ns.load();
  *busy_ns = share->compute.busy_ns() + share->copied_ns.load() + share->called_ns.load();
  return 0;
}

int cusimLedger(int gpu, unsigned long long* bytes_used, unsigned* processes, unsigned* contexts) {
  if (share_of(gpu) == nullptr) return -1;
  Driver& d = driver();
  const auto index = static_cast<unsigned>(gpu);
  const std::uint64_t used = d.machine->used(index);
  unsigned process_count = 0;
  unsigned context_count = 0;
  for (const ProcessSlot& slot : d.machine->segment().processes) {
    if (slot.pid.load() == 0) continue;
    ++process_count;
    context_count += slot.gpu[index].contexts.load();
  }
  if (bytes_used != nullptr) *bytes_used = used;
  if (processes != nullptr) *processes = process_count;
  if (contexts != nullptr) *contexts = context_count;
  return 0;
}

int cusimManaged(int gpu, unsigned long long* resident, unsigned long long* moved_in,
                 unsigned long long* moved_out) {
  const GpuShare* share = share_of(gpu);
  if (share == nullptr) return -1;
  Driver& d = driver();
  d.machine->reclaim();
  unsigned long long blocks = 0;
  for (const ProcessSlot& slot : d.machine->segment().processes) {
    if (slot.pid.load() != 0) blocks += slot.gpu[static_cast<unsigned>(gpu)].managed_blocks.load();
  }
  if (resident != nullptr) *resident = blocks;
  if (moved_in != nullptr) *moved_in = share->managed_in.load();
  if (moved_out != nullptr) *moved_out = share->managed_out.load();
  return 0;
}
