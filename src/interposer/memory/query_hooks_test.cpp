// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/movable_fixture.h"

namespace nvs::interposer::memory {
namespace {

// What the driver says of any memory that it allocated.
constexpr std::uint64_t kDriversId = 17;
std::vector<std::uint64_t> asked;
std::vector<std::uint64_t> set_at;

CUresult get_attribute(void* out, CUpointer_attribute attribute, CUdeviceptr address) {
  asked.push_back(address);
  if (attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER || attribute > 100) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const std::uint64_t value =
      attribute == CU_POINTER_ATTRIBUTE_DEVICE_POINTER ? address : kDriversId;
  if (attribute == CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE) {
    *static_cast<std::uint8_t*>(out) = 1;
  } else {
    *static_cast<std::uint64_t*>(out) = value;
  }
  return CUDA_SUCCESS;
}

CUresult get_attributes(unsigned count, CUpointer_attribute* attributes, void** outs,
                        CUdeviceptr address) {
  asked.push_back(address);
  for (unsigned i = 0; i < count; ++i) {
    if (attributes[i] > 100) return CUDA_ERROR_INVALID_VALUE;
  }
  for (unsigned i = 0; i < count; ++i) {
    if (get_attribute(outs[i], attributes[i], address) != CUDA_SUCCESS) {
      *static_cast<std::uint64_t*>(outs[i]) = 0;
    }
  }
  return CUDA_SUCCESS;
}

CUresult set_attribute(const void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  set_at.push_back(address);
  const bool can = value != nullptr && attribute == CU_POINTER_ATTRIBUTE_SYNC_MEMOPS;
  return can ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult keep_current(CUcontext) { return CUDA_SUCCESS; }
CUresult keep_current_too(CUcontext*) { return CUDA_SUCCESS; }

class QueryHooksTest : public MovableFixture {
 protected:
  void SetUp() override {
    MovableFixture::SetUp();
    asked.clear();
    set_at.clear();
    set_real_for_test<Row::cuPointerGetAttribute>(&get_attribute);
    set_real_for_test<Row::cuPointerGetAttributes>(&get_attributes);
    set_real_for_test<Row::cuPointerSetAttribute>(&set_attribute);
    set_real_for_test<Row::cuCtxPushCurrent_v2>(&keep_current);
    set_real_for_test<Row::cuCtxPopCurrent_v2>(&keep_current_too);
  }

  CUresult ask(CUpointer_attribute attribute, std::uint64_t address) {
    value_ = 0xffff'ffff'ffff'ffff;
    return hooks::cuPointerGetAttribute(&value_, attribute, address);
  }
  std::uint64_t answer(CUpointer_attribute attribute, std::uint64_t address) {
    EXPECT_EQ(ask(attribute, address), CUDA_SUCCESS) << attribute;
    return value_;
  }
  CUresult range(std::uint64_t address) {
    return hooks::cuMemGetAddressRange_v2(&base_, &size_, address);
  }

  std::uint64_t value_ = 0;
  CUdeviceptr base_ = 0;
  size_t size_ = 0;
};

TEST_F(QueryHooksTest, RangesAreThoseOfAllocationsWhereverThePagesAre) {
  for (const bool has_pages : {false, true}) {
    if (has_pages) bring(region_);
    driver_.range_bytes = vmm::kChunkBytes;  // what it thinks of a chunk
    driver_.answer = has_pages ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
    EXPECT_EQ(range(kRegion + vmm::kChunkBytes + 5), CUDA_SUCCESS);
    EXPECT_EQ(base_, kRegion);
    EXPECT_EQ(size_, kRegionBytes);
    EXPECT_EQ(range(kRegion + kRegionBytes), CUDA_ERROR_NOT_FOUND);
    EXPECT_EQ(range(small_ + 99), CUDA_SUCCESS);
    EXPECT_EQ(base_, small_);
    EXPECT_EQ(size_, 100U);
    EXPECT_EQ(range(small_ + 100), CUDA_ERROR_NOT_FOUND);
    EXPECT_EQ(hooks::cuMemGetAddressRange_v2(nullptr, nullptr, kRegion), CUDA_SUCCESS);
  }
}

TEST_F(QueryHooksTest, AContextThatCannotBeAskedSaysSo) {
  driver_.answer = CUDA_ERROR_INVALID_CONTEXT;
  base_ = 1;
  EXPECT_EQ(range(kRegion), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(base_, 1U);
}

TEST_F(QueryHooksTest, OtherAddressesAreTheDrivers) {
  driver_.range_bytes = 40;
  EXPECT_EQ(range(kForeign), CUDA_SUCCESS);
  EXPECT_EQ(base_, kForeign);
  EXPECT_EQ(size_, 40U);
  EXPECT_EQ(answer(CU_POINTER_ATTRIBUTE_RANGE_SIZE, kForeign), kDriversId);
  const int one = 1;
  hooks::cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, kForeign);
  EXPECT_EQ(asked, std::vector<std::uint64_t>{kForeign});
  EXPECT_EQ(set_at, std::vector<std::uint64_t>{kForeign});
}

TEST_F(QueryHooksTest, AttributesOfTheAllocationComeFromTheTables) {
  const std::uint64_t inside = kRegion + vmm::kChunkBytes + 7;
  EXPECT_EQ(answer(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, inside), kRegion);
  EXPECT_EQ(answer(CU_POINTER_ATTRIBUTE_RANGE_SIZE, inside), kRegionBytes);
  EXPECT_EQ(answer(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, inside), kRegion);
  EXPECT_EQ(answer(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, inside), vmm::kChunkBytes + kUnit);
  EXPECT_EQ(answer(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, small_ + 3), small_);
  EXPECT_EQ(answer(CU_POINTER_ATTRIBUTE_RANGE_SIZE, small_ + 3), 100U);
  EXPECT_EQ(answer(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, small_ + 3), kArena);
  EXPECT_TRUE(asked.empty());
  EXPECT_EQ(ask(CU_POINTER_ATTRIBUTE_RANGE_SIZE, kRegion + kRegionBytes), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(hooks::cuPointerGetAttribute(nullptr, CU_POINTER_ATTRIBUTE_RANGE_SIZE, kRegion),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(QueryHooksTest, EachAllocationHasAnIdOfItsOwn) {
  const std::uint64_t first = answer(CU_POINTER_ATTRIBUTE_BUFFER_ID, kRegion);
  EXPECT_EQ(answer(CU_POINTER_ATTRIBUTE_BUFFER_ID, kRegion + 50), first);
  EXPECT_NE(answer(CU_POINTER_ATTRIBUTE_BUFFER_ID, small_), first);
  write_down(kRegion, kRegionBytes);  // freed, and allocated at the same address
  EXPECT_NE(answer(CU_POINTER_ATTRIBUTE_BUFFER_ID, kRegion), first);
}

TEST_F(QueryHooksTest, OtherAttributesAreThoseOfTheDriversMemoryInTheSameContext) {
  EXPECT_EQ(answer(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, kRegion), kDriversId);
  EXPECT_EQ(answer(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, kRegion + 9), kRegion + 9);
  EXPECT_EQ(ask(CU_POINTER_ATTRIBUTE_HOST_POINTER, kRegion), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(asked, (std::vector<std::uint64_t>{kSample, kSample, kSample}));
  EXPECT_EQ(take_calls(), Calls{"cuMemAlloc_v2"});  // one sample, and it stays
}

TEST_F(QueryHooksTest, PagesThatMoveAreNotForOtherDevices) {
  EXPECT_EQ(answer(CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, kRegion) & 0xff, 0U);
}

TEST_F(QueryHooksTest, AFullCardHasNoSampleAndTheAnswersAreKnown) {
  driver_.result = CUDA_ERROR_OUT_OF_MEMORY;
  EXPECT_EQ(answer(CU_POINTER_ATTRIBUTE_CONTEXT, kRegion), kContext);
  EXPECT_EQ(answer(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, kRegion) & 0xffff'ffff, 2U);
  EXPECT_EQ(answer(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, kRegion) & 0xffff'ffff, 0U);
  EXPECT_EQ(answer(CU_POINTER_ATTRIBUTE_IS_MANAGED, kRegion) & 0xff, 0U);
  EXPECT_EQ(answer(CU_POINTER_ATTRIBUTE_MAPPED, kRegion) & 0xff, 1U);
  EXPECT_EQ(answer(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, kRegion) & 0xff, 0U);
  EXPECT_EQ(answer(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, kRegion + 9), kRegion + 9);
  EXPECT_EQ(answer(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, kRegion) & 0xffff'ffff, 3U);
  EXPECT_EQ(ask(CU_POINTER_ATTRIBUTE_HOST_POINTER, kRegion), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(ask(static_cast<CUpointer_attribute>(0), kRegion), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(ask(static_cast<CUpointer_attribute>(99), kRegion), CUDA_ERROR_INVALID_VALUE);
  EXPECT_TRUE(asked.empty());
}

TEST_F(QueryHooksTest, AListIsAnsweredAsTheDriverDoes) {
  CUpointer_attribute wanted[] = {
      CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_HOST_POINTER,
      CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_CONTEXT};
  std::uint64_t values[4] = {7, 7, 7, 7};
  void* outs[] = {&values[0], &values[1], &values[2], &values[3]};
  EXPECT_EQ(hooks::cuPointerGetAttributes(4, wanted, outs, kRegion + 9), CUDA_SUCCESS);
  EXPECT_EQ(values[0], kRegionBytes);
  EXPECT_EQ(values[1], 0U);
  EXPECT_EQ(values[2], kRegion + 9);
  EXPECT_EQ(values[3], kDriversId);
  asked.clear();
  hooks::cuPointerGetAttributes(4, wanted, outs, kRegion + kRegionBytes);
  EXPECT_EQ(asked.front(), 0U) << "the pages behind the end are nobody's";
  wanted[1] = static_cast<CUpointer_attribute>(1000);
  EXPECT_EQ(hooks::cuPointerGetAttributes(4, wanted, outs, kRegion), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(QueryHooksTest, SynchronousMemoryIsSetOnEveryChunkAndStaysWhereItIs) {
  bring(region_);
  const int one = 1;
  EXPECT_EQ(hooks::cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, kRegion + 5),
            CUDA_SUCCESS);
  EXPECT_EQ(set_at, (std::vector<std::uint64_t>{kRegion, kRegion + vmm::kChunkBytes}));
  EXPECT_TRUE(region_->is_pinned());
  EXPECT_EQ(swap::regions.pinned(0).resident, vmm::kChunkBytes + kUnit);
  EXPECT_EQ(answer(CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, kRegion), kDriversId);
  EXPECT_EQ(asked.back(), kRegion) << "the pages themselves are asked from now on";
  EXPECT_EQ(gate::threads_inside(), 0);
}

CUresult get_handle(void* out, CUdeviceptr, size_t, CUmemRangeHandleType, unsigned long long) {
  if (mock_driver().answer == CUDA_SUCCESS) *static_cast<int*>(out) = 7;
  return mock_driver().answer;
}

// A file of a range holds on to the pages of all of it.
TEST_F(QueryHooksTest, WhateverIsGivenOutAsAFileStays) {
  constexpr std::uint64_t kNext = kRegion + vmm::kChunkBytes + kUnit;
  vmm::Region* const next =
      swap::regions.insert({kNext, kUnit, kUnit, kContext, 0, vmm::RegionKind::plain});
  vmm::Region* const other =
      swap::regions.insert({kNext + kUnit, kUnit, kUnit, kContext, 0, vmm::RegionKind::plain});
  for (vmm::Region* region : {region_, next, other}) bring(region);
  set_real_for_test<Row::cuMemGetHandleForAddressRange>(&get_handle);
  const auto give_out = [](std::uint64_t bytes) {
    int file = -1;
    const CUresult result = hooks::cuMemGetHandleForAddressRange(
        &file, kRegion + kUnit, bytes, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
    EXPECT_EQ(file, result == CUDA_SUCCESS ? 7 : -1);
    return result;
  };
  driver_.answer = CUDA_ERROR_NOT_SUPPORTED;
  EXPECT_EQ(give_out(vmm::kChunkBytes + kUnit), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_FALSE(region_->is_pinned());
  driver_.answer = CUDA_SUCCESS;
  EXPECT_EQ(give_out(vmm::kChunkBytes + kUnit), CUDA_SUCCESS);
  EXPECT_TRUE(region_->is_pinned());
  EXPECT_TRUE(next->is_pinned());
  EXPECT_FALSE(other->is_pinned()) << "it is behind the range";
  EXPECT_EQ(gate::threads_inside(), 0);
  forget<Row::cuMemGetHandleForAddressRange>();
}

TEST_F(QueryHooksTest, NothingElseCanBeSet) {
  bring(region_);
  const int one = 1;
  EXPECT_EQ(hooks::cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, kRegion),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(hooks::cuPointerSetAttribute(nullptr, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, kRegion),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(hooks::cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, small_ + 100),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_FALSE(region_->is_pinned());
}

TEST_F(QueryHooksTest, ProgramsCannotTakeItApart) {
  take_calls();
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(hooks::cuMemRetainAllocationHandle(&handle, handle_of<void*>(kRegion)),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(hooks::cuMemUnmap(kRegion, vmm::kChunkBytes), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(hooks::cuMemMap(kRegion, vmm::kChunkBytes, 0, 1, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(hooks::cuMemAddressFree(kRegion, kRegionBytes), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(hooks::cuMemSetAccess(kArena, kUnit, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(take_calls(), Calls{});
}

}  // namespace
}  // namespace nvs::interposer::memory
