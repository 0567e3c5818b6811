// SPDX-License-Identifier: Apache-2.0
// Entry points: what was advised of a range of managed memory, and where it was last sent.
#include <algorithm>

#include "cuda_sim/api/call.h"
#include "cuda_sim/objects/managed_memory.h"

using namespace nvs::sim;

namespace {

using Blocks = std::span<const ManagedBlock>;

// What all the blocks agree on, or kAnywhere.
int common(Blocks blocks, int ManagedBlock::*place) {
  const int first = blocks.front().*place;
  const bool same = std::all_of(blocks.begin(), blocks.end(),
                                [&](const ManagedBlock& block) { return block.*place == first; });
  return same ? first : kAnywhere;
}

int device_at(const Driver& d, int place) {
  if (place == kAnywhere) return CU_DEVICE_INVALID;
  return place == kOnHost ? CU_DEVICE_CPU : d.device_of(static_cast<unsigned>(place));
}

int type_at(int place) {
  if (place == kAnywhere) return CU_MEM_LOCATION_TYPE_INVALID;
  return place == kOnHost ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
}

// An identifier means something only for a device.
int id_at(const Driver& d, int place) { return place >= 0 ? device_at(d, place) : 0; }

CUresult answer(void* out, std::size_t size, int value) {
  if (size != sizeof value) return CUDA_ERROR_INVALID_VALUE;
  *static_cast<int*>(out) = value;
  return CUDA_SUCCESS;
}

// As many devices as fit, of those that all blocks are mapped for.
CUresult answer_mapped(const Driver& d, void* out, std::size_t size, Blocks blocks) {
  if (size == 0 || size % sizeof(int) != 0) return CUDA_ERROR_INVALID_VALUE;
  const auto all = [&](auto&& mapped) { return std::all_of(blocks.begin(), blocks.end(), mapped); };
  std::vector<int> devices;
  if (all([](const ManagedBlock& block) { return block.host_maps_it; })) {
    devices.push_back(CU_DEVICE_CPU);
  }
  for (unsigned gpu = 0; gpu < d.machine->gpus(); ++gpu) {
    if (all([&](const ManagedBlock& block) { return block.gpus_that_map_it.test(gpu); })) {
      devices.push_back(d.device_of(gpu));
    }
  }
  devices.resize(size / sizeof(int), CU_DEVICE_INVALID);
  std::copy(devices.begin(), devices.end(), static_cast<int*>(out));
  return CUDA_SUCCESS;
}

CUresult attribute_of(const Driver& d, void* out, std::size_t size, CUmem_range_attribute attribute,
                      Blocks blocks) {
  const int preferred = common(blocks, &ManagedBlock::preferred);
  const int last = common(blocks, &ManagedBlock::last_prefetch);
  switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY: {
      const bool all = std::all_of(blocks.begin(), blocks.end(),
                                   [](const ManagedBlock& block) { return block.read_mostly; });
      return answer(out, size, all ? 1 : 0);
    }
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
      return answer(out, size, device_at(d, preferred));
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
      return answer_mapped(d, out, size, blocks);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
      return answer(out, size, device_at(d, last));
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
      return answer(out, size, type_at(preferred));
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
      return answer(out, size, id_at(d, preferred));
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
      return answer(out, size, type_at(last));
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
      return answer(out, size, id_at(d, last));
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult attributes(void** out, const std::size_t* sizes, const CUmem_range_attribute* wanted,
                    std::size_t wanted_count, CUdeviceptr address, std::size_t count) {
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  ManagedRange* range = count != 0 ? managed_range(d, address, count) : nullptr;
  if (range == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Blocks blocks = blocks_in(d, *range, address, count);
  for (std::size_t i = 0; i < wanted_count; ++i) {
    if (out[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult result = attribute_of(d, out[i], sizes[i], wanted[i], blocks);
        result != CUDA_SUCCESS) {
      return result;
    }
  }
  return CUDA_SUCCESS;
}

}  // namespace

NVS_SIM(cuMemRangeGetAttribute,
        (void* out, size_t size, CUmem_range_attribute attribute, CUdeviceptr address,
         size_t count),
        out, size, attribute, address, count) {
  return attributes(&out, &size, &attribute, 1, address, count);
}

NVS_SIM(cuMemRangeGetAttributes,
        (void** out, size_t* sizes, CUmem_range_attribute* wanted, size_t wanted_count,
         CUdeviceptr address, size_t count),
        out, sizes, wanted, wanted_count, address, count) {
  if (out == nullptr || sizes == nullptr || wanted == nullptr || wanted_count == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return attributes(out, sizes, wanted, wanted_count, address, count);
}
