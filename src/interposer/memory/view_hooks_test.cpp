// SPDX-License-Identifier: Apache-2.0
// Memory that a program creates and maps itself, on a driver that knows what is mapped where.
#include <chrono>
#include <thread>

#include "interposer/memory/view_fixture.h"

namespace nvs::interposer::memory::view_hooks {
namespace {

class ViewHooksTest : public ViewFixture {};

TEST_F(ViewHooksTest, IsSeenWhereTheProgramMapsIt) {
  const auto handle = make(kBytes);
  EXPECT_EQ(bytes(MemoryKind::movable), kBytes);
  EXPECT_EQ(pages.handles.size(), 2U);
  EXPECT_EQ(pages.mapped.size(), 2U) << "at home";
  EXPECT_EQ(hooks::cuMemMap(kFirst, kBytes, 0, handle, 0), CUDA_SUCCESS);
  EXPECT_EQ(handle_at(kFirst + vmm::kChunkBytes), handle_at(home_of_second()));
  EXPECT_NE(handle_at(kFirst), 0U);
  EXPECT_EQ(pages.mapped[kFirst].access, Access{}) << "nobody was given any";
  EXPECT_EQ(hooks::cuMemUnmap(kFirst, kBytes), CUDA_SUCCESS);
  EXPECT_EQ(hooks::cuMemRelease(handle), CUDA_SUCCESS);
  expect_nothing_left();
}

TEST_F(ViewHooksTest, LivesUntilItsLastView) {
  const auto handle = make(kBytes);
  hooks::cuMemMap(kFirst, kBytes, 0, handle, 0);
  hooks::cuMemMap(kSecond, kBytes, 0, handle, 0);
  EXPECT_EQ(hooks::cuMemRelease(handle), CUDA_SUCCESS);
  EXPECT_EQ(hooks::cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(hooks::cuMemUnmap(kFirst, kBytes), CUDA_SUCCESS);
  CUmemGenericAllocationHandle again = 0;
  EXPECT_EQ(hooks::cuMemRetainAllocationHandle(&again, handle_of<void*>(kSecond + 5)),
            CUDA_SUCCESS);
  EXPECT_EQ(again, handle);
  EXPECT_EQ(hooks::cuMemUnmap(kSecond, kBytes), CUDA_SUCCESS);
  EXPECT_EQ(bytes(MemoryKind::movable), kBytes);
  EXPECT_EQ(hooks::cuMemRelease(handle), CUDA_SUCCESS);
  expect_nothing_left();
}

// As another thread might do it, while the first of them is taken apart.
TEST_F(ViewHooksTest, WhatIsOverIsEndedOnce) {
  const CUmemGenericAllocationHandle tokens[] = {make(kBytes), make(kBytes)};
  std::uint64_t address = kFirst;
  for (const auto token : tokens) {
    hooks::cuMemMap(address, kBytes, 0, token, 0);
    std::uint64_t exported = 0;
    EXPECT_EQ(give_out(token, exported), CUDA_SUCCESS);
    hooks::cuMemRelease(token);
    address += kBytes;
  }
  int releases = 0;
  pages.in_release = [&] {
    ++releases;
    CUmemAllocationProp prop{};
    for (const auto token : tokens) {
      EXPECT_EQ(hooks::cuMemRelease(token), CUDA_ERROR_INVALID_VALUE);
      EXPECT_EQ(hooks::cuMemGetAllocationPropertiesFromHandle(&prop, token),
                CUDA_ERROR_INVALID_VALUE);
    }
  };
  EXPECT_EQ(hooks::cuMemUnmap(kFirst, 2 * kBytes), CUDA_SUCCESS);
  EXPECT_EQ(releases, 2);
  expect_nothing_left();
}

TEST_F(ViewHooksTest, PagesComeBackForWhoeverMayUseThem) {
  hooks::cuMemMap(kFirst, kBytes, 0, make(kBytes), 0);
  EXPECT_EQ(allow(kFirst, kGpu), CUDA_SUCCESS);
  EXPECT_EQ(swap::reached_by(kGpu), 1U << kGpu);
  EXPECT_EQ(allow(kFirst, kPeer), CUDA_SUCCESS);
  EXPECT_EQ(swap::reached_by(kGpu), (1U << kGpu) | (1U << kPeer)) << "both must stand still";
  EXPECT_EQ(swap::users_of(kGpu), 1U << kGpu) << "of other memory, no";
  const Access both{{kGpu, CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
                    {kPeer, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
  EXPECT_EQ(pages.mapped[kFirst + vmm::kChunkBytes].access, both);
  const std::uint64_t home = home_of_second();
  swap::unback(home, kUnit, handle_at(home));
  EXPECT_EQ(handle_at(kFirst + vmm::kChunkBytes), 0U);
  EXPECT_NE(handle_at(kFirst), 0U);
  std::uint64_t handle = 0;
  EXPECT_EQ(swap::back(kGpu, home, kUnit, handle), CUDA_SUCCESS);
  EXPECT_EQ(handle_at(kFirst + vmm::kChunkBytes), handle);
  EXPECT_EQ(pages.mapped[kFirst + vmm::kChunkBytes].access, both);
}

TEST_F(ViewHooksTest, NothingIsLeftOfPagesThatCannotBeShownEverywhere) {
  const auto token = make(kBytes);
  hooks::cuMemMap(kFirst, kBytes, 0, token, 0);
  hooks::cuMemMap(kSecond, kBytes, 0, token, 0);
  const std::uint64_t home = home_of_second();
  swap::unback(home, kUnit, handle_at(home));
  const std::size_t mapped = pages.mapped.size();
  std::uint64_t handle = 0;
  for (int good = 0; good < 3; ++good) {  // at home, and in two views
    pages.maps_left = good;
    EXPECT_EQ(swap::back(kGpu, home, kUnit, handle), CUDA_ERROR_UNKNOWN);
    EXPECT_EQ(pages.mapped.size(), mapped);
    EXPECT_EQ(pages.handles.size(), 1U);
  }
  EXPECT_EQ(swap::back(kGpu, home, kUnit, handle), CUDA_SUCCESS);
  EXPECT_EQ(pages.mapped.size(), mapped + 3);
}

TEST_F(ViewHooksTest, AMapThatFailsHalfWayIsUndone) {
  const auto token = make(kBytes);
  pages.maps_left = 1;
  EXPECT_EQ(hooks::cuMemMap(kFirst, kBytes, 0, token, 0), CUDA_ERROR_UNKNOWN);
  EXPECT_EQ(pages.mapped.size(), 2U);
  EXPECT_EQ(hooks::cuMemMap(kFirst, kBytes, 0, token, 0), CUDA_SUCCESS);
}

TEST_F(ViewHooksTest, OnlyWholeViewsCanBeUnmappedAndAllowed) {
  const auto token = make(kBytes);
  hooks::cuMemMap(kFirst, kBytes, 0, token, 0);
  hooks::cuMemMap(kFirst + kBytes, kBytes, 0, token, 0);
  const CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, kGpu}, CU_MEM_ACCESS_FLAGS_PROT_READ};
  for (const std::uint64_t size : {vmm::kChunkBytes, kBytes + vmm::kChunkBytes}) {
    EXPECT_EQ(hooks::cuMemUnmap(kFirst, size), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(hooks::cuMemSetAccess(kFirst, size, &access, 1), CUDA_ERROR_INVALID_VALUE);
  }
  EXPECT_EQ(hooks::cuMemAddressFree(kFirst, 4 * kBytes), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(hooks::cuMemMap(kFirst + kUnit, kUnit, 0, 77, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(hooks::cuMemSetAccess(kFirst, 2 * kBytes, &access, 1), CUDA_SUCCESS);
  EXPECT_EQ(pages.mapped[kFirst + kBytes].access.at(kGpu), CU_MEM_ACCESS_FLAGS_PROT_READ);
  EXPECT_EQ(hooks::cuMemUnmap(kFirst, 2 * kBytes), CUDA_SUCCESS);
  EXPECT_EQ(pages.mapped.size(), 2U) << "at home";
}

TEST_F(ViewHooksTest, HomesAreNobodysToTouch) {
  make(kBytes);
  const std::uint64_t home = home_of_second();
  EXPECT_EQ(hooks::cuMemUnmap(home, kUnit), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(hooks::cuMemAddressFree(home, kUnit), CUDA_ERROR_INVALID_VALUE);
  std::uint64_t value = 0;
  EXPECT_EQ(hooks::cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, home),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(ViewHooksTest, MoreThanThereWillEverBeIsRefused) {
  swap::rooms[kGpu].total = swap::rooms[kGpu].limit = kBytes;
  make(2 * kBytes, CUDA_ERROR_OUT_OF_MEMORY);
  expect_nothing_left();
}

TEST_F(ViewHooksTest, ACaptureIsWaitedForAndNotBroken) {
  const auto token = make(kBytes);
  hooks::cuMemMap(kFirst, kBytes, 0, token, 0);
  const auto captured = handle_of<CUstream>(0x77);
  captures::begins();
  captures::begun(captured, driver_.current, CUDA_SUCCESS);
  ASSERT_TRUE(captures::is_any());
  broke_a_capture = false;
  std::thread capturing([captured] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    captures::ended(captured);
  });
  std::uint64_t exported = 0;
  EXPECT_EQ(give_out(token, exported), CUDA_SUCCESS);
  capturing.join();
  EXPECT_FALSE(broke_a_capture);
  EXPECT_EQ(handle_at(kFirst), exported);
  hooks::cuMemUnmap(kFirst, kBytes);
  hooks::cuMemRelease(token);
}

TEST_F(ViewHooksTest, AllOfItInOneHandleShowsInEveryView) {
  const auto token = make(kBytes);
  hooks::cuMemMap(kFirst, kBytes, 0, token, 0);
  hooks::cuMemMap(kSecond, kBytes, 0, token, 0);
  allow(kFirst, kGpu);
  const auto before = pages.mapped;
  std::uint64_t exported = 0;
  for (int good = 0; good < 3; ++good) {  // for the copy, and in two views
    pages.maps_left = good;
    EXPECT_EQ(give_out(token, exported), CUDA_ERROR_UNKNOWN);
    EXPECT_TRUE(pages.mapped == before);
    EXPECT_EQ(pages.handles.size(), 2U);
    EXPECT_EQ(bytes(MemoryKind::movable), kBytes);
  }
  EXPECT_EQ(give_out(token, exported), CUDA_SUCCESS);
  EXPECT_GT(pages.copies, 0);
  EXPECT_EQ(pages.handles, std::set<std::uint64_t>{exported});
  EXPECT_EQ(pages.mapped.size(), 2U);
  EXPECT_EQ(handle_at(kFirst), exported);
  EXPECT_EQ(handle_at(kSecond), exported);
  EXPECT_EQ(pages.mapped[kFirst].access.at(kGpu), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  EXPECT_EQ(pages.mapped[kSecond].access, Access{});
  EXPECT_EQ(swap::regions.size(), 0U);
  EXPECT_EQ(bytes(MemoryKind::movable), 0U);
  EXPECT_EQ(bytes(MemoryKind::vmm), kBytes);
  const std::uint64_t first = exported;
  EXPECT_EQ(give_out(token, exported), CUDA_SUCCESS);
  EXPECT_EQ(exported, first) << "there is only one";
  hooks::cuMemRelease(token);
  EXPECT_EQ(give_out(token, exported), CUDA_ERROR_INVALID_VALUE) << "it was released";
  hooks::cuMemUnmap(kFirst, kBytes);
  EXPECT_EQ(bytes(MemoryKind::vmm), kBytes);
  hooks::cuMemUnmap(kSecond, kBytes);
  expect_nothing_left();
}

TEST_F(ViewHooksTest, OneChunkHasItsHandleAlready) {
  const auto token = make(kUnit);
  hooks::cuMemMap(kFirst, kUnit, 0, token, 0);
  std::uint64_t exported = 0;
  EXPECT_EQ(give_out(token, exported), CUDA_SUCCESS);
  EXPECT_EQ(exported, handle_at(kFirst));
  EXPECT_EQ(pages.copies, 0);
  EXPECT_EQ(swap::regions.pinned(kGpu).total(), kUnit);
  hooks::cuMemUnmap(kFirst, kUnit);
  hooks::cuMemRelease(token);
  expect_nothing_left();
}

}  // namespace
}  // namespace nvs::interposer::memory::view_hooks
