// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_sim/gpu.h"

#include <time.h>

#include "tests/cuda_sim/sim_fixture.h"
#include "workloads/kernels/ptx.h"

namespace nvs::sim_test {

const Driver& loaded_driver() {
  static const Driver* driver = [] {
    auto loaded = Driver::load(library_path());
    if (!loaded) throw std::runtime_error(loaded.error());
    if (!loaded->is_simulator()) throw std::runtime_error("this is no simulator");
    return new Driver(std::move(*loaded));
  }();
  return *driver;
}

const Driver& initialised_driver() {
  NVS_MUST(loaded_driver().cuInit(0));
  return loaded_driver();
}

CallFailed::CallFailed(CUresult result, const char* call)
    : std::runtime_error(std::string(call) + " returned " +
                         std::to_string(static_cast<int>(result))),
      result_(result) {}

void must(CUresult result, const char* call) {
  if (result != CUDA_SUCCESS) throw CallFailed(result, call);
}

std::string violation_text(const Driver& driver) {
  std::string text(driver.sim()->cusimViolationText(nullptr, 0), '\0');
  // One more for the zero that ends it.
  text.resize(text.size() + 1);
  driver.sim()->cusimViolationText(text.data(), text.size());
  text.resize(text.size() - 1);
  return text;
}

CUmemAllocationProp vmm_prop(int device, CUmemAllocationHandleType type) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.requestedHandleTypes = type;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  return prop;
}

Gpu::Gpu(int device) : driver_(initialised_driver()), device_(device) {
  NVS_MUST(driver_.cuCtxCreate_v2(&context_, 0, device));
  NVS_MUST(driver_.cuModuleLoadData(&module_, workloads::kernels::ptx()));
}

Gpu::Gpu(int device, CUcontext current)
    : driver_(initialised_driver()), device_(device), context_(current) {
  NVS_MUST(driver_.cuModuleLoadData(&module_, workloads::kernels::ptx()));
}

CUdeviceptr Gpu::alloc(std::size_t bytes) const {
  CUdeviceptr address = 0;
  NVS_MUST(driver_.cuMemAlloc_v2(&address, bytes));
  return address;
}

CUdeviceptr Gpu::filled(std::size_t floats, float value) const {
  const CUdeviceptr address = alloc(floats * sizeof(float));
  NVS_MUST(fill(address, value, floats));
  NVS_MUST(driver_.cuCtxSynchronize());
  return address;
}

std::vector<float> Gpu::read(CUdeviceptr from, std::size_t floats) const {
  std::vector<float> values(floats);
  NVS_MUST(driver_.cuMemcpyDtoH_v2(values.data(), from, floats * sizeof(float)));
  return values;
}

std::size_t Gpu::free_bytes() const {
  std::size_t free = 0;
  std::size_t total = 0;
  NVS_MUST(driver_.cuMemGetInfo_v2(&free, &total));
  return free;
}

std::size_t Gpu::granularity() const {
  const CUmemAllocationProp prop = vmm_prop(device_);
  std::size_t bytes = 0;
  NVS_MUST(
      driver_.cuMemGetAllocationGranularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
  return bytes;
}

unsigned long long Gpu::busy_ns() const {
  unsigned long long late = 0;
  unsigned long long busy = 0;
  if (sim().cusimOverrun(device_, &late, &busy) != 0) throw std::runtime_error("no such GPU");
  return busy;
}

CUstream Gpu::stream(unsigned flags) const {
  CUstream made = nullptr;
  NVS_MUST(driver_.cuStreamCreate(&made, flags));
  return made;
}

CUevent Gpu::event() const {
  CUevent made = nullptr;
  NVS_MUST(driver_.cuEventCreate(&made, CU_EVENT_DEFAULT));
  return made;
}

Gpu::Chunk Gpu::map_chunk(std::size_t bytes, CUmemAllocationHandleType type) const {
  Chunk chunk{.address = 0, .bytes = bytes, .handle = 0};
  const CUmemAllocationProp prop = vmm_prop(device_, type);
  NVS_MUST(driver_.cuMemCreate(&chunk.handle, bytes, &prop, 0));
  chunk.address = map_handle(chunk.handle, bytes);
  return chunk;
}

CUdeviceptr Gpu::map_handle(CUmemGenericAllocationHandle handle, std::size_t bytes) const {
  CUdeviceptr address = 0;
  NVS_MUST(driver_.cuMemAddressReserve(&address, bytes, 0, 0, 0));
  NVS_MUST(driver_.cuMemMap(address, bytes, 0, handle, 0));
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, device_},
                               CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  NVS_MUST(driver_.cuMemSetAccess(address, bytes, &access, 1));
  return address;
}

void Gpu::unmap_chunk(const Chunk& chunk) const {
  NVS_MUST(driver_.cuMemUnmap(chunk.address, chunk.bytes));
  NVS_MUST(driver_.cuMemAddressFree(chunk.address, chunk.bytes));
  NVS_MUST(driver_.cuMemRelease(chunk.handle));
}

CUfunction Gpu::function(const char* kernel) const {
  CUfunction found = nullptr;
  NVS_MUST(driver_.cuModuleGetFunction(&found, module_, kernel));
  return found;
}

CUresult Gpu::launch_with(const char* kernel, CUstream stream, void** parameters) const {
  CUfunction found = nullptr;
  if (const CUresult result = driver_.cuModuleGetFunction(&found, module_, kernel);
      result != CUDA_SUCCESS) {
    return result;
  }
  return driver_.cuLaunchKernel(found, 1, 1, 1, 256, 1, 1, 0, stream, parameters, nullptr);
}

// A kernel that hangs takes time piece by piece: it runs for sure once it has taken a second one.
void Gpu::wait_until_busy(unsigned long long before) const {
  for (int pieces = 0, tries = 0; pieces < 2; ++tries) {
    if (tries == 40'000) throw std::runtime_error("the kernel does not start");
    const timespec pause{.tv_sec = 0, .tv_nsec = 500'000};
    ::nanosleep(&pause, nullptr);
    if (const unsigned long long now = busy_ns(); now != before) {
      before = now;
      ++pieces;
    }
  }
}

}  // namespace nvs::sim_test
