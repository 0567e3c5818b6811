// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/gpu_by_uuid.h"

#include <gtest/gtest.h>

#include "interposer/session/client.h"

namespace nvs::interposer::session {
namespace {

TEST(GpuByUuid, NamesAreReadAsTheirBytes) {
  std::uint8_t uuid[16] = {};
  EXPECT_TRUE(read_uuid("GPU-00112233-4455-6677-8899-aabbccddEEFF", uuid));
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(uuid[i], i * 0x11) << i;
  EXPECT_TRUE(read_uuid("MIG-ff112233-4455-6677-8899-aabbccddeeff", uuid));
  EXPECT_EQ(uuid[0], 0xff);
}

TEST(GpuByUuid, OtherNamesAreRefused) {
  std::uint8_t uuid[16] = {};
  EXPECT_FALSE(read_uuid("", uuid));
  EXPECT_FALSE(read_uuid("GPU-", uuid));
  EXPECT_FALSE(read_uuid("GPU-00112233-4455-6677-8899-aabbccddeef", uuid));
  EXPECT_FALSE(read_uuid("GPU-00112233-4455-6677-8899-aabbccddeeff0", uuid));
  EXPECT_FALSE(read_uuid("GPU-00112233-4455-6677-8899-aabbccddeefg", uuid));
  // Of old drivers: the card's name and an instance.
  EXPECT_FALSE(read_uuid("MIG-GPU-00112233-4455-6677-8899-aabbccddeeff/1/0", uuid));
}

TEST(GpuByUuid, OnlyThoseInUseAreFound) {
  const char* const name = "GPU-01000000-0000-0000-0000-000000000000";
  gpus[3].uuid[0] = 1;
  EXPECT_EQ(gpu_by_uuid(name), -1);
  gpus[3].phase = Phase::closed;
  EXPECT_EQ(gpu_by_uuid(name), 3);
  EXPECT_EQ(gpu_by_uuid("GPU-02000000-0000-0000-0000-000000000000"), -1);
  gpus[3] = {};
}

}  // namespace
}  // namespace nvs::interposer::session
