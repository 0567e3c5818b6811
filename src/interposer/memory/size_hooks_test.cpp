// SPDX-License-Identifier: Apache-2.0
#include "cuda_api/nvml.h"
#include "interposer/memory/fake_account.h"
#include "interposer/memory/movable_fixture.h"
#include "interposer/session/client.h"

namespace nvs::interposer::memory {
namespace {

constexpr std::uint64_t kCard = std::uint64_t{100} << 30U;
constexpr std::uint64_t kSeen = std::uint64_t{10} << 30U;
constexpr const char* kName = "GPU-07000000-0000-0000-0000-000000000000";

CUresult get_info(size_t* free, size_t* total) {
  if (free != nullptr) *free = 5;
  if (total != nullptr) *total = kCard;
  return mock_driver().answer;
}
CUresult get_total(size_t* bytes, CUdevice) {
  if (mock_driver().answer == CUDA_SUCCESS) *bytes = kCard;
  return mock_driver().answer;
}
nvmlReturn_t get_memory(nvmlDevice_t, nvmlMemory_t* memory) {
  *memory = {kCard, 5, kCard - 5};
  return NVML_SUCCESS;
}
nvmlReturn_t get_memory_v2(nvmlDevice_t, nvmlMemory_v2_t* memory) {
  *memory = {nvmlMemory_v2, kCard, 1, 5, kCard - 6};
  return NVML_SUCCESS;
}
nvmlReturn_t get_uuid(nvmlDevice_t device, char* text, unsigned) {
  std::string(device == nullptr ? "GPU-0" : kName).copy(text, 90);
  return NVML_SUCCESS;
}

class SizeHooksTest : public MovableFixture {
 protected:
  void SetUp() override {
    MovableFixture::SetUp();
    set_real_for_test<Row::cuMemGetInfo_v2>(&get_info);
    set_real_for_test<Row::cuDeviceTotalMem_v2>(&get_total);
    set_real_for_test<Row::nvmlDeviceGetMemoryInfo>(&get_memory);
    set_real_for_test<Row::nvmlDeviceGetMemoryInfo_v2>(&get_memory_v2);
    set_real_for_test<Row::nvmlDeviceGetUUID>(&get_uuid);
    session::gpus[0].phase = session::Phase::closed;
    session::gpus[0].uuid[0] = 7;
    swap::rooms[0].total = swap::rooms[0].limit = kSeen;
  }
  void TearDown() override {
    session::gpus[0] = {};
    MovableFixture::TearDown();
  }
  // All that say it, about the GPU that is in use.
  void ask() {
    EXPECT_EQ(hooks::cuMemGetInfo_v2(&free_, &total_), CUDA_SUCCESS);
    EXPECT_EQ(hooks::cuDeviceTotalMem_v2(&device_, 0), CUDA_SUCCESS);
    hooks::nvmlDeviceGetMemoryInfo(handle_of<nvmlDevice_t>(1), &nvml_);
    hooks::nvmlDeviceGetMemoryInfo_v2(handle_of<nvmlDevice_t>(1), &nvml_v2_);
  }
  void expect_all(std::uint64_t total, std::uint64_t free) {
    ask();
    EXPECT_EQ(total_, total);
    EXPECT_EQ(device_, total);
    EXPECT_EQ(nvml_.total, total);
    EXPECT_EQ(nvml_v2_.total, total);
    EXPECT_EQ(free_, free);
    EXPECT_EQ(nvml_.free, free);
    EXPECT_EQ(nvml_v2_.free, free);
    EXPECT_EQ(nvml_.used, total - free);
    EXPECT_EQ(nvml_v2_.used, total - free);
    EXPECT_EQ(nvml_v2_.reserved, 0U);
    EXPECT_EQ(nvml_v2_.version, nvmlMemory_v2);
  }

  static constexpr std::uint64_t kRegions = vmm::kChunkBytes + 2 * kUnit;
  size_t free_ = 0;
  size_t total_ = 0;
  size_t device_ = 0;
  nvmlMemory_t nvml_ = {};
  nvmlMemory_v2_t nvml_v2_ = {};
};

TEST_F(SizeHooksTest, AllSayTheSameWhereverTheMemoryIs) {
  expect_all(kSeen, kSeen - kRegions);
  bring(region_);
  expect_all(kSeen, kSeen - kRegions);
  ASSERT_TRUE(swap::pin(kRegion));
  expect_all(kSeen, kSeen - kRegions);
}

TEST_F(SizeHooksTest, WhatTheDriverAllocatedCountsToo) {
  constexpr std::uint64_t kManaged = 12345;
  CUdeviceptr address = 0;
  hooks::cuMemAllocManaged(&address, kManaged, 1);
  expect_all(kSeen, kSeen - kRegions - kManaged);
}

TEST_F(SizeHooksTest, NoneIsMoreThanTheTenantsLimitLeaves) {
  constexpr std::uint64_t kLimit = std::uint64_t{1} << 30U;
  constexpr std::uint64_t kAsked = kRegionBytes + 100;
  account::FakeAccount tenant;
  tenant.lend();
  account::gpu_numbered(0, 0);
  expect_all(kSeen, kSeen - kRegions);
  EXPECT_EQ(tenant.used(), kAsked);
  tenant.set_limit(kLimit);
  expect_all(kLimit, kLimit - kAsked);
  tenant.set_used(12345, 1);  // another process
  expect_all(kLimit, kLimit - kAsked - 12345);
  tenant.set_limit(kAsked);  // less than there is
  expect_all(kAsked, 0);
  tenant.set_limit(kSeen - 1);  // rounding is not the program's
  expect_all(kSeen - 1, kSeen - kRegions);
  tenant.set_limit(kSeen * 2);
  expect_all(kSeen, kSeen - kRegions);
}

TEST_F(SizeHooksTest, WhatOtherProcessesOfTheTenantHaveIsNotFree) {
  constexpr std::uint64_t kOwn = kRegionBytes + 100;
  constexpr std::uint64_t kPiece = kSeen / 8;
  account::FakeAccount tenant;
  tenant.lend();
  account::gpu_numbered(0, 0);
  tenant.set_used(kSeen / 4 * 3, 1);
  expect_all(kSeen, kSeen / 4 - kOwn);
  // Both have it open, and it is there once.
  tenant.pieces().used = 1;
  tenant.pieces().piece[0] = {77, kPiece, 0, {3}};
  expect_all(kSeen, kSeen / 4 - kOwn - kPiece);
  tenant.set_used(2 * kSeen, 1);
  expect_all(kSeen, 0);
}

TEST_F(SizeHooksTest, NorIsWhatTheDaemonSaysIsNotToBeHad) {
  swap::rooms[0].limit = kSeen / 4;
  expect_all(kSeen, kSeen / 4 - kRegions);
  swap::rooms[0].limit = kUnit;
  expect_all(kSeen, 0);
}

TEST_F(SizeHooksTest, ALimitHoldsWhereTheDriverSaysTheRest) {
  account::FakeAccount tenant(kSeen);
  tenant.lend();
  account::gpu_numbered(0, 0);
  swap::rooms[0].total = 0;
  ask();
  EXPECT_EQ(total_, kSeen);
  EXPECT_EQ(free_, 5U);
  EXPECT_EQ(device_, kSeen);
  EXPECT_EQ(nvml_.total, kSeen);
  EXPECT_EQ(nvml_.free, 5U);
  EXPECT_EQ(nvml_.used, kSeen - 5);
}

TEST_F(SizeHooksTest, FreeIsNeverBelowNothing) {
  swap::rooms[0].total = kUnit;
  expect_all(kUnit, 0);
}

TEST_F(SizeHooksTest, ADaemonThatSaysNothingLeavesTheDriversAnswers) {
  swap::rooms[0].total = 0;
  ask();
  EXPECT_EQ(total_, kCard);
  EXPECT_EQ(free_, 5U);
  EXPECT_EQ(device_, kCard);
  EXPECT_EQ(nvml_.free, 5U);
  EXPECT_EQ(nvml_v2_.reserved, 1U);
}

TEST_F(SizeHooksTest, SoDoesItsAbsence) {
  session::memory_start_over_in_child();
  swap::rooms[0].total = swap::rooms[0].limit = kSeen;
  ask();
  EXPECT_EQ(total_, kCard);
  EXPECT_EQ(device_, kCard);
  EXPECT_EQ(nvml_.total, kCard);
}

TEST_F(SizeHooksTest, OtherDevicesOfNvmlAreAsTheyAreWhereNobodyCanBeAsked) {
  hooks::nvmlDeviceGetMemoryInfo(nullptr, &nvml_);
  EXPECT_EQ(nvml_.total, kCard);
}

TEST_F(SizeHooksTest, ErrorsAreTheDriversAndNobodyNeedsBothAnswers) {
  EXPECT_EQ(hooks::cuMemGetInfo_v2(nullptr, &total_), CUDA_SUCCESS);
  EXPECT_EQ(total_, kSeen);
  EXPECT_EQ(hooks::cuMemGetInfo_v2(nullptr, nullptr), CUDA_SUCCESS);
  driver_.answer = CUDA_ERROR_INVALID_DEVICE;
  device_ = 77;
  EXPECT_EQ(hooks::cuDeviceTotalMem_v2(&device_, 5), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(device_, 77U);
}

}  // namespace
}  // namespace nvs::interposer::memory
