// SPDX-License-Identifier: Apache-2.0
// What is bound to a multicast object is bound where it is, and stays there.
#include "interposer/gate/gate.h"
#include "interposer/memory/movable_fixture.h"
#include "interposer/memory/view_fixture.h"

namespace nvs::interposer::memory::multicast_hooks {
namespace {

constexpr CUmemGenericAllocationHandle kObject = 0x3c;
constexpr std::uint64_t kOffset = 4 * vmm::kMiB;

// What the driver was told to bind: a handle or an address.
struct Bound {
  std::uint64_t what;
  std::uint64_t bytes;
  bool operator==(const Bound&) const = default;
};
std::vector<Bound> all_bound;

CUresult note(CUmemGenericAllocationHandle object, std::uint64_t offset, const Bound& bound) {
  EXPECT_EQ(object, kObject);
  EXPECT_EQ(offset, kOffset);
  all_bound.push_back(bound);
  return mock_driver().answer;
}
CUresult bind_handle(CUmemGenericAllocationHandle object, size_t offset,
                     CUmemGenericAllocationHandle handle, size_t, size_t size, unsigned long long) {
  return note(object, offset, {handle, size});
}
CUresult bind_address(CUmemGenericAllocationHandle object, size_t offset, CUdeviceptr address,
                      size_t size, unsigned long long) {
  return note(object, offset, {address, size});
}

template <class Fixture>
class Multicast : public Fixture {
 protected:
  void SetUp() override {
    Fixture::SetUp();
    all_bound.clear();
    set_real_for_test<Row::cuMulticastBindMem>(&bind_handle);
    set_real_for_test<Row::cuMulticastBindAddr>(&bind_address);
  }
  void TearDown() override {
    Fixture::template forget<Row::cuMulticastBindMem, Row::cuMulticastBindAddr>();
    Fixture::TearDown();
  }
  static CUresult bind_at(std::uint64_t address, std::uint64_t size) {
    return hooks::cuMulticastBindAddr(kObject, kOffset, address, size, 0);
  }
};

class MulticastAllocatedTest : public Multicast<MovableFixture> {
 protected:
  static constexpr std::uint64_t kPool = 0x600d;
  static constexpr std::uint64_t kBlock = std::uint64_t{1} << 42U;

  // As cuMemAllocAsync gives it.
  vmm::Region* make_block() {
    vmm::Region* const region =
        swap::regions.insert({kBlock, kUnit, kUnit, kContext, 0, vmm::RegionKind::plain});
    vmm::HeapPool* const pool = swap::stream_heap.add_pool(kPool, 0, 0);
    swap::stream_heap.add(kBlock, kUnit, kUnit, {kContext, 0}, pool);
    bring(region);
    return region;
  }
};

TEST_F(MulticastAllocatedTest, MemoryOfCuMemAllocIsRefusedAsTheDriverDoes) {
  bring(region_);
  for (const std::uint64_t address : {kRegion, kRegion + kUnit, small_, small_ + 100}) {
    EXPECT_EQ(bind_at(address, kUnit), CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_TRUE(all_bound.empty());
  EXPECT_FALSE(region_->is_pinned());
}

TEST_F(MulticastAllocatedTest, MemoryOfPoolsStaysFromThenOn) {
  const vmm::Region* const block = make_block();
  driver_.answer = CUDA_ERROR_NOT_SUPPORTED;
  EXPECT_EQ(bind_at(kBlock, kUnit), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_FALSE(block->is_pinned());
  driver_.answer = CUDA_SUCCESS;
  EXPECT_EQ(bind_at(kBlock, kUnit), CUDA_SUCCESS);
  EXPECT_EQ(all_bound.back(), (Bound{kBlock, kUnit}));
  EXPECT_TRUE(block->is_pinned());
  EXPECT_FALSE(region_->is_pinned());
  EXPECT_EQ(gate::threads_inside(), 0);
}

TEST_F(MulticastAllocatedTest, WhatIsTheDriversPassesThrough) {
  EXPECT_EQ(bind_at(kForeign, 100), CUDA_SUCCESS);
  EXPECT_EQ(hooks::cuMulticastBindMem(kObject, kOffset, 0x77, 0, 200, 0), CUDA_SUCCESS);
  EXPECT_EQ(all_bound, (std::vector<Bound>{{kForeign, 100}, {0x77, 200}}));
}

class MulticastCreatedTest : public Multicast<view_hooks::ViewFixture> {};

TEST_F(MulticastCreatedTest, ByItsHandleItIsBoundAsTheDriverKnowsIt) {
  const auto token = make(view_hooks::kBytes);
  EXPECT_EQ(hooks::cuMulticastBindMem(kObject, kOffset, token, 0, 100, 0), CUDA_SUCCESS);
  EXPECT_EQ(std::set<std::uint64_t>{all_bound.back().what}, view_hooks::pages.handles);
  EXPECT_EQ(bytes(MemoryKind::vmm), view_hooks::kBytes) << "it stays";
  hooks::cuMemRelease(token);
  EXPECT_EQ(hooks::cuMulticastBindMem(kObject, kOffset, token, 0, 100, 0),
            CUDA_ERROR_INVALID_VALUE);
  expect_nothing_left();
}

TEST_F(MulticastCreatedTest, ByItsAddressToo) {
  const auto token = make(view_hooks::kBytes);
  hooks::cuMemMap(view_hooks::kFirst, view_hooks::kBytes, 0, token, 0);
  EXPECT_EQ(bind_at(view_hooks::kFirst, view_hooks::kBytes), CUDA_SUCCESS);
  EXPECT_EQ(all_bound, (std::vector<Bound>{{view_hooks::kFirst, view_hooks::kBytes}}));
  EXPECT_EQ(bytes(MemoryKind::vmm), view_hooks::kBytes) << "it stays";
  EXPECT_EQ(swap::regions.size(), 0U);
  hooks::cuMemUnmap(view_hooks::kFirst, view_hooks::kBytes);
  hooks::cuMemRelease(token);
  expect_nothing_left();
}

}  // namespace
}  // namespace nvs::interposer::memory::multicast_hooks
