// SPDX-License-Identifier: Apache-2.0
// What the driver is asked when memory is allocated and freed in the order of streams.
#include <functional>
#include <utility>

#include "interposer/memory/fixed.h"
#include "interposer/memory/movable_fixture.h"
#include "interposer/memory/swap/ordered_release.h"
#include "interposer/memory/swap/ordered_streams.h"
#include "interposer/session/captures.h"

namespace nvs::interposer::memory {
namespace {

constexpr std::uint64_t kPool = 0x600d;
constexpr std::uint64_t kExported = 0xbad;
constexpr std::size_t kPieceBytes = 4096;

// The events of the driver: what is recorded is complete when the test says so.
bool events_are_complete = false;
std::uint64_t events_made = 0;
CUresult record_result = CUDA_SUCCESS;
// What other threads do when a stream has just been met.
std::function<void()> when_met;

template <Row row>
void note() {
  mock_driver().calls.emplace_back(row_name(row));
}

CUresult stream_context(CUstream, CUcontext* out) {
  note<Row::cuStreamGetCtx>();
  *out = mock_driver().current;
  return CUDA_SUCCESS;
}
CUcontext pushed = nullptr;
CUresult push(CUcontext context) {
  pushed = context;
  return CUDA_SUCCESS;
}
CUresult pop(CUcontext*) {
  pushed = nullptr;
  if (const auto others = std::exchange(when_met, nullptr)) others();
  return CUDA_SUCCESS;
}
CUresult make_event(CUevent* out, unsigned) {
  *out = handle_of<CUevent>(++events_made);
  return CUDA_SUCCESS;
}
CUresult record_event(CUevent, CUstream) {
  note<Row::cuEventRecord>();
  return record_result;
}
CUresult query_event(CUevent) {
  note<Row::cuEventQuery>();
  return events_are_complete ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
CUresult destroy_event(CUevent) { return CUDA_SUCCESS; }
CUresult destroy_stream(CUstream) { return CUDA_SUCCESS; }
CUresult synchronise_stream(CUstream) { return CUDA_SUCCESS; }
CUresult pool_of_device(CUmemoryPool* out, CUdevice) {
  *out = handle_of<CUmemoryPool>(kPool);
  return CUDA_SUCCESS;
}
CUresult pool_attribute(CUmemoryPool, CUmemPool_attribute, void* value) {
  *static_cast<cuuint64_t*>(value) = 0;
  return CUDA_SUCCESS;
}
CUresult set_pool_attribute(CUmemoryPool, CUmemPool_attribute, void*) { return CUDA_SUCCESS; }
CUresult create_pool(CUmemoryPool* out, const CUmemPoolProps*) {
  *out = handle_of<CUmemoryPool>(kExported);
  return CUDA_SUCCESS;
}
CUresult device_attribute(int* out, CUdevice_attribute, CUdevice) {
  *out = 1;
  return CUDA_SUCCESS;
}
CUresult granularity(size_t* out, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
  *out = 2 * vmm::kMiB;
  return CUDA_SUCCESS;
}
CUresult reserve(CUdeviceptr*, size_t, size_t, CUdeviceptr, unsigned long long) {
  return CUDA_ERROR_OUT_OF_MEMORY;
}
CUresult give_addresses(CUdeviceptr, size_t) { return CUDA_SUCCESS; }
CUresult set_access(CUdeviceptr, size_t, const CUmemAccessDesc*, size_t) { return CUDA_SUCCESS; }

class OrderedHooksTest : public MovableFixture {
 protected:
  void SetUp() override {
    MovableFixture::SetUp();
    events_are_complete = false;
    record_result = CUDA_SUCCESS;
    set_real_for_test<Row::cuStreamGetCtx>(&stream_context);
    set_real_for_test<Row::cuCtxPushCurrent_v2>(&push);
    set_real_for_test<Row::cuCtxPopCurrent_v2>(&pop);
    set_real_for_test<Row::cuEventCreate>(&make_event);
    set_real_for_test<Row::cuEventRecord>(&record_event);
    set_real_for_test<Row::cuEventQuery>(&query_event);
    set_real_for_test<Row::cuEventDestroy_v2>(&destroy_event);
    set_real_for_test<Row::cuStreamDestroy_v2>(&destroy_stream);
    set_real_for_test<Row::cuStreamSynchronize>(&synchronise_stream);
    set_real_for_test<Row::cuDeviceGetMemPool>(&pool_of_device);
    set_real_for_test<Row::cuDeviceGetDefaultMemPool>(&pool_of_device);
    set_real_for_test<Row::cuMemPoolGetAttribute>(&pool_attribute);
    set_real_for_test<Row::cuMemPoolSetAttribute>(&set_pool_attribute);
    set_real_for_test<Row::cuMemPoolCreate>(&create_pool);
    set_real_for_test<Row::cuDeviceGetAttribute>(&device_attribute);
    set_real_for_test<Row::cuMemGetAllocationGranularity>(&granularity);
    set_real_for_test<Row::cuMemAddressReserve>(&reserve);
    set_real_for_test<Row::cuMemAddressFree>(&give_addresses);
    set_real_for_test<Row::cuMemSetAccess>(&set_access);
    set_real_for_test<Row::cuThreadExchangeStreamCaptureMode>(nullptr);
  }

  static CUdeviceptr take(CUstream stream, std::size_t size = kPieceBytes) {
    CUdeviceptr address = 0;
    EXPECT_EQ(hooks::cuMemAllocAsync(&address, size, stream), CUDA_SUCCESS);
    return address;
  }
  // Pieces of the arena and not what the driver hands out.
  static bool is_movable(CUdeviceptr address) {
    return address >= kArena && address < kArena + kUnit;
  }
  static std::uint64_t amount(CUmemPool_attribute attribute) {
    cuuint64_t value = 0;
    hooks::cuMemPoolGetAttribute(handle_of<CUmemoryPool>(kPool), attribute, &value);
    return value;
  }
  static void keep(cuuint64_t size) {
    hooks::cuMemPoolSetAttribute(handle_of<CUmemoryPool>(kPool), CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                 &size);
  }

  CUstream one_ = handle_of<CUstream>(0x7000);
  CUstream two_ = handle_of<CUstream>(0x8000);
};

TEST_F(OrderedHooksTest, ReuseInTheSameStreamAsksTheDriverNothing) {
  const CUdeviceptr first = take(one_);
  ASSERT_TRUE(is_movable(first));
  take_calls();
  EXPECT_EQ(hooks::cuMemFreeAsync(first, one_), CUDA_SUCCESS);
  EXPECT_EQ(take_calls(), Calls{"cuEventRecord"});
  EXPECT_EQ(take(one_), first);
  EXPECT_EQ(take_calls(), Calls{});
}

TEST_F(OrderedHooksTest, OtherStreamsLookFirst) {
  const CUdeviceptr first = take(one_);
  EXPECT_NE(take(two_), first);
  EXPECT_EQ(hooks::cuMemFreeAsync(first, one_), CUDA_SUCCESS);
  take_calls();
  EXPECT_NE(take(two_), first);
  EXPECT_EQ(take_calls(), Calls{"cuEventQuery"});
  events_are_complete = true;
  EXPECT_EQ(take(two_), first);
}

TEST_F(OrderedHooksTest, AHandleOfANewStreamIsNotTheOldOne) {
  const CUdeviceptr first = take(one_);
  EXPECT_EQ(hooks::cuMemFreeAsync(first, one_), CUDA_SUCCESS);
  EXPECT_EQ(hooks::cuStreamDestroy_v2(one_), CUDA_SUCCESS);
  EXPECT_NE(take(one_), first);
  events_are_complete = true;
  EXPECT_EQ(take(one_), first);
}

TEST_F(OrderedHooksTest, WhatIsFreedIsNobodysAnyMore) {
  const CUdeviceptr first = take(one_);
  EXPECT_EQ(counts(MemoryKind::movable).count_now, 3U);
  EXPECT_EQ(hooks::cuMemFreeAsync(first, one_), CUDA_SUCCESS);
  EXPECT_EQ(counts(MemoryKind::movable).count_now, 2U);
  swap::Named named;
  EXPECT_EQ(swap::whose(first, named), swap::Whose::nobodys);
  driver_.result = CUDA_ERROR_INVALID_VALUE;
  take_calls();
  EXPECT_EQ(hooks::cuMemFreeAsync(first, one_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(take_calls(), Calls{"cuMemFreeAsync"});
}

// Nobody tells of the default streams of threads that have ended, so there is an end to those that
// are remembered.
TEST_F(OrderedHooksTest, AStreamThatIsForgottenInBetweenIsMetAgain) {
  const CUdeviceptr first = take(one_);
  when_met = [this] {
    const CUcontext own = driver_.current;
    for (std::uint64_t i = 1; i <= 64; ++i) {
      driver_.current = handle_of<CUcontext>(0x100 * i);
      swap::StreamPlace place;
      EXPECT_EQ(swap::find_stream(CU_STREAM_LEGACY, place), CUDA_SUCCESS);
    }
    driver_.current = own;
    const swap::Looking looking;
    swap::sweep_streams();
  };
  EXPECT_EQ(hooks::cuMemFreeAsync(first, CU_STREAM_LEGACY), CUDA_SUCCESS);
  EXPECT_EQ(when_met, nullptr);
  EXPECT_EQ(take(CU_STREAM_LEGACY), first);
}

TEST_F(OrderedHooksTest, AFreeThatTheDriverCannotRecordIsNone) {
  const CUdeviceptr first = take(one_);
  record_result = CUDA_ERROR_ILLEGAL_ADDRESS;
  EXPECT_EQ(hooks::cuMemFreeAsync(first, one_), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(counts(MemoryKind::movable).count_now, 3U);
  swap::Named named;
  EXPECT_EQ(swap::whose(first, named), swap::Whose::ours);
  EXPECT_EQ(named.allocated.bytes, kPieceBytes);
  EXPECT_EQ(named.allocated.pool, kPool);
}

TEST_F(OrderedHooksTest, ASynchronisationGivesBackWhatIsAboveTheThreshold) {
  const CUdeviceptr first = take(one_);
  keep(kPieceBytes);
  EXPECT_EQ(hooks::cuMemFreeAsync(first, one_), CUDA_SUCCESS);
  events_are_complete = true;
  take_calls();
  EXPECT_EQ(hooks::cuStreamSynchronize(one_), CUDA_SUCCESS);
  EXPECT_EQ(take_calls(), Calls{}) << "it may keep that";
  EXPECT_EQ(amount(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), kPieceBytes);
  EXPECT_EQ(amount(CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0U);
  keep(0);
  events_are_complete = false;
  EXPECT_EQ(hooks::cuStreamSynchronize(one_), CUDA_SUCCESS);
  EXPECT_EQ(amount(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), kPieceBytes) << "a stream is not there";
  events_are_complete = true;
  EXPECT_EQ(hooks::cuStreamSynchronize(one_), CUDA_SUCCESS);
  EXPECT_EQ(amount(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0U);
  EXPECT_EQ(amount(CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH), kPieceBytes);
}

TEST_F(OrderedHooksTest, WhatLacksIsGivenBackAndNoMore) {
  const CUdeviceptr pieces[] = {take(one_), take(one_), take(one_)};
  for (const CUdeviceptr piece : pieces) hooks::cuMemFreeAsync(piece, one_);
  EXPECT_EQ(swap::make_room(0, kPieceBytes), swap::Made::later);
  events_are_complete = true;
  EXPECT_EQ(swap::make_room(0, kPieceBytes + 1), swap::Made::room);
  EXPECT_EQ(amount(CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), kPieceBytes);
  EXPECT_EQ(take(one_), pieces[2]) << "what was freed last is there";
  EXPECT_EQ(swap::make_room(0, kPieceBytes), swap::Made::nothing) << "it is used";
}

TEST_F(OrderedHooksTest, MemoryOfOtherMakingCanBeFreedInOrder) {
  EXPECT_EQ(hooks::cuMemFreeAsync(small_, one_), CUDA_SUCCESS);
  swap::Named named;
  EXPECT_EQ(swap::whose(small_, named), swap::Whose::nobodys);
  EXPECT_NE(take(one_, 100), small_) << "it is of no pool";
  events_are_complete = true;
  EXPECT_EQ(hooks::cuStreamSynchronize(one_), CUDA_SUCCESS);
  EXPECT_EQ(take(two_, 100), small_) << "the arena has it again";
}

TEST_F(OrderedHooksTest, PoolsForOtherProcessesAreTheDrivers) {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemoryPool pool = nullptr;
  CUdeviceptr address = 0;
  EXPECT_EQ(hooks::cuMemPoolCreate(&pool, &props), CUDA_SUCCESS);
  EXPECT_EQ(hooks::cuMemAllocFromPoolAsync(&address, kPieceBytes, pool, one_), CUDA_SUCCESS);
  EXPECT_EQ(address, kSample);
  EXPECT_EQ(counts(MemoryKind::pool).count_now, 1U);
  props.handleTypes = CU_MEM_HANDLE_TYPE_NONE;
  EXPECT_EQ(hooks::cuMemPoolCreate(&pool, &props), CUDA_SUCCESS);
  EXPECT_EQ(hooks::cuMemAllocFromPoolAsync(&address, kPieceBytes, pool, one_), CUDA_SUCCESS);
  EXPECT_TRUE(is_movable(address));
}

// The current pool of the stream's GPU is the driver's, and another GPU is the thread's.
TEST_F(OrderedHooksTest, WhatIsTheDriversCountsOnTheStreamsGpu) {
  static constexpr int kOther = 3;
  static const auto there = handle_of<CUcontext>(0xbeef);
  session::memory_announces(kOther);
  session::memory_known(kOther, true);
  swap::rooms[kOther].is_free = true;
  set_real_for_test<Row::cuStreamGetCtx>([](CUstream, CUcontext* out) {
    *out = there;
    return CUDA_SUCCESS;
  });
  set_real_for_test<Row::cuCtxGetDevice>([](CUdevice* out) {
    *out = pushed == there ? kOther : 0;
    return CUDA_SUCCESS;
  });
  set_real_for_test<Row::cuDeviceGetMemPool>([](CUmemoryPool* out, CUdevice) {
    *out = handle_of<CUmemoryPool>(kExported);
    return CUDA_SUCCESS;
  });
  EXPECT_EQ(take(one_), kSample);
  EXPECT_EQ(fixed_on(kOther), kPieceBytes);
  EXPECT_EQ(fixed_on(0), 0U);
}

TEST_F(OrderedHooksTest, UnderCaptureTheDriverAllocates) {
  captures::begins();
  captures::begun(one_, driver_.current, CUDA_SUCCESS);
  driver_.capture = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  EXPECT_EQ(take(one_), kSample);
  driver_.capture = CU_STREAM_CAPTURE_STATUS_NONE;
  EXPECT_TRUE(is_movable(take(two_))) << "beside one";
  captures::ended(one_);
}

}  // namespace
}  // namespace nvs::interposer::memory
