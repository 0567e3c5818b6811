// SPDX-License-Identifier: Apache-2.0
// What single calls cost the thread that makes them: launches and events, which a gate must not
// make dearer, and the calls of memory management.
#include <vector>

#include "bench/cases/driver_part.h"
#include "bench/measure.h"

namespace nvs::bench::driver_case {
namespace {

constexpr int kCallsPerRepetition = 2000;
constexpr std::size_t kEvents = 64;
constexpr int kMemoryCalls = 200;

struct SubmitTimes {
  std::vector<double> launch_us;
  std::vector<double> launches_per_ms;
  std::vector<double> record_us;
  std::vector<double> query_us;
};

// Microseconds a call, over many.
template <class Call>
double cost_us(const Part& part, const Call& call) {
  const Stopwatch watch(part.machine());
  for (int i = 0; i < kCallsPerRepetition; ++i) call(static_cast<std::size_t>(i));
  return watch.seconds() * 1e6 / kCallsPerRepetition;
}

SubmitTimes time_submissions(const Part& part) {
  const Stream stream(part.gpu);
  const DeviceBuffer data(part.gpu, Gpu::kTinyCount * sizeof(float));
  part.gpu.fill(stream.get(), data.address(), 0, Gpu::kTinyCount);
  std::vector<Event> events;
  for (std::size_t i = 0; i < kEvents; ++i) events.emplace_back(part.gpu);
  SubmitTimes times;
  for (int i = 0; i < part.repetitions; ++i) {
    stream.synchronize();
    const Stopwatch watch(part.machine());
    times.launch_us.push_back(
        cost_us(part, [&](std::size_t) { part.gpu.tiny(stream.get(), data.address()); }));
    stream.synchronize();
    times.launches_per_ms.push_back(kCallsPerRepetition / (watch.seconds() * 1e3));
    times.record_us.push_back(
        cost_us(part, [&](std::size_t k) { events[k % kEvents].record(stream.get()); }));
    stream.synchronize();
    times.query_us.push_back(cost_us(
        part, [&](std::size_t) { NVS_CALL(part.driver(), cuEventQuery, events[0].get()); }));
  }
  return times;
}

struct MemoryTimes {
  std::vector<double> create_us;
  std::vector<double> map_us;
  std::vector<double> access_us;
  std::vector<double> unmap_us;
  std::vector<double> release_us;
  std::vector<double> alloc_us;
  std::vector<double> free_us;
};

template <class Call>
void time_call(const Part& part, std::vector<double>& times_us, const Call& call) {
  const Stopwatch watch(part.machine());
  call();
  times_us.push_back(watch.seconds() * 1e6);
}

void time_vmm_calls(const Part& part, std::uint64_t bytes, MemoryTimes& times) {
  const Driver& driver = part.driver();
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, part.gpu.device()};
  const CUmemAccessDesc access{properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUdeviceptr address = 0;
  NVS_CALL(driver, cuMemAddressReserve, &address, bytes, 0, 0, 0);
  for (int i = 0; i < kMemoryCalls; ++i) {
    CUmemGenericAllocationHandle handle = 0;
    time_call(part, times.create_us,
              [&] { NVS_CALL(driver, cuMemCreate, &handle, bytes, &properties, 0); });
    time_call(part, times.map_us,
              [&] { NVS_CALL(driver, cuMemMap, address, bytes, 0, handle, 0); });
    time_call(part, times.access_us,
              [&] { NVS_CALL(driver, cuMemSetAccess, address, bytes, &access, 1); });
    time_call(part, times.unmap_us, [&] { NVS_CALL(driver, cuMemUnmap, address, bytes); });
    time_call(part, times.release_us, [&] { NVS_CALL(driver, cuMemRelease, handle); });
  }
  NVS_CALL(driver, cuMemAddressFree, address, bytes);
}

MemoryTimes time_memory_calls(const Part& part) {
  const Driver& driver = part.driver();
  const std::uint64_t bytes = part.machine().scaled(2 * kMiB);
  MemoryTimes times;
  time_vmm_calls(part, bytes, times);
  for (int i = 0; i < kMemoryCalls; ++i) {
    CUdeviceptr address = 0;
    time_call(part, times.alloc_us, [&] { NVS_CALL(driver, cuMemAlloc_v2, &address, bytes); });
    time_call(part, times.free_us, [&] { NVS_CALL(driver, cuMemFree_v2, address); });
  }
  return times;
}

}  // namespace

void measure_calls(const Part& part) {
  part.progress.step("launches and events");
  const auto [submit, submit_overrun] =
      measure_on_time(part.bench, part.progress, [&] { return time_submissions(part); });
  Section submissions(part, "Submitting, tiny kernels");
  submissions.set_overrun(submit_overrun);
  submissions.add("cuLaunchKernel", submit.launch_us, "us", 3.4);
  submissions.add("launched and completed", submit.launches_per_ms, "1/ms");
  submissions.add("cuEventRecord", submit.record_us, "us", 0.26);
  submissions.add("cuEventQuery", submit.query_us, "us", 0.18);

  part.progress.step("calls of memory management");
  const auto [memory, memory_overrun] =
      measure_on_time(part.bench, part.progress, [&] { return time_memory_calls(part); });
  Section calls(part, "Memory calls, 2 MiB");
  calls.set_overrun(memory_overrun);
  calls.add("cuMemCreate", memory.create_us, "us", 9.0);
  calls.add("cuMemMap", memory.map_us, "us", 0.8);
  calls.add("cuMemSetAccess", memory.access_us, "us", 22.7);
  calls.add("cuMemUnmap", memory.unmap_us, "us", 15.6);
  calls.add("cuMemRelease", memory.release_us, "us", 10.3);
  calls.add("cuMemAlloc", memory.alloc_us, "us", 35);
  calls.add("cuMemFree", memory.free_us, "us", 30);
}

}  // namespace nvs::bench::driver_case
