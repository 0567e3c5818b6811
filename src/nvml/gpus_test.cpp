// SPDX-License-Identifier: Apache-2.0
#include "nvml/gpus.h"

#include <cstdlib>
#include <string>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace nvs {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;

class GpusTest : public ::testing::Test {
 protected:
  GpusTest() {
    const std::string machine = "daemon_gpus_" + std::to_string(::getpid());
    ::setenv("NVSHARE_SIM_MACHINE", machine.c_str(), 1);
    ::setenv("NVSHARE_SIM_GPUS", "2", 1);
    ::unsetenv("NVSHARE_FAKE_NVML_OPEN");
  }
  ~GpusTest() override {
    ::unsetenv("NVSHARE_FAKE_NVML");
    ::unsetenv("NVSHARE_NVML");
  }

  Result<std::vector<Gpu>> find(const char* library, const char* words = "") {
    ::setenv("NVSHARE_NVML", library, 1);
    ::setenv("NVSHARE_FAKE_NVML", words, 1);
    remarks_.clear();
    return find_gpus(remarks_);
  }

  std::string remarks_;
};

TEST_F(GpusTest, EveryVersionOfTheSimulatedNvmlShowsTheSameGpus) {
  for (const char* library : {NVS_SIM_NVML, NVS_SIM_NVML_470, NVS_SIM_NVML_418}) {
    // It brings a C++ library of its own, whose memory would count as lost once it is unloaded.
    ASSERT_NE(::dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE), nullptr);
    const auto gpus = find(library);
    ASSERT_TRUE(gpus) << library << ": " << remarks_;
    EXPECT_EQ(remarks_, "");
    ASSERT_EQ(gpus->size(), 2U);
    for (const Gpu& gpu : *gpus) {
      EXPECT_EQ(uuid_text("GPU", gpu.uuid_bytes), gpu.uuid);
      EXPECT_EQ(gpu.name, "NVIDIA H200");
      EXPECT_GT(gpu.memory_bytes, 0U);
      EXPECT_FALSE(gpu.is_mig);
      EXPECT_FALSE(gpu.mps_active);
    }
    EXPECT_NE(gpus->at(0).uuid, gpus->at(1).uuid);
  }
}

TEST_F(GpusTest, FirstVersionsOfNvmlWillDo) {
  const auto gpus = find(NVS_FAKE_NVML_OLD_LIBRARY);
  ASSERT_TRUE(gpus) << remarks_;
  EXPECT_EQ(remarks_, "");
  ASSERT_EQ(gpus->size(), 3U);
  EXPECT_EQ(gpus->at(0).name, "Fake 1");
  EXPECT_EQ(gpus->at(1).name, "Fake 0");
  EXPECT_EQ(gpus->at(2).name, "Fake 2");
  EXPECT_EQ(gpus->at(0).index, "1");
  EXPECT_EQ(gpus->at(1).index, "0");
  EXPECT_EQ(gpus->at(0).uuid, "GPU-00000001-1122-3344-5566-778899aabbcc");
  EXPECT_EQ(gpus->at(0).memory_bytes, 16 * kGiB);
  EXPECT_FALSE(gpus->at(0).mps_active);
  EXPECT_STREQ(std::getenv("NVSHARE_FAKE_NVML_OPEN"), "0");
}

TEST_F(GpusTest, WhatTheDriverKeepsIsNotCapacity) {
  auto gpus = find(NVS_FAKE_NVML_LIBRARY);
  ASSERT_TRUE(gpus) << remarks_;
  EXPECT_EQ(gpus->at(0).memory_bytes, 15 * kGiB);
  gpus = find(NVS_FAKE_NVML_LIBRARY, "no_new_memory");
  ASSERT_TRUE(gpus) << remarks_;
  EXPECT_EQ(gpus->at(0).memory_bytes, 16 * kGiB);
  gpus = find(NVS_FAKE_NVML_LIBRARY, "no_memory");
  ASSERT_TRUE(gpus) << remarks_;
  EXPECT_EQ(gpus->at(0).memory_bytes, 0U);
  EXPECT_NE(remarks_.find("memory is not known"), std::string::npos) << remarks_;
}

TEST_F(GpusTest, InstancesReplaceTheirGpu) {
  const auto gpus = find(NVS_FAKE_NVML_LIBRARY, "mig");
  ASSERT_TRUE(gpus) << remarks_;
  ASSERT_EQ(gpus->size(), 4U);
  EXPECT_EQ(gpus->at(0).uuid, "MIG-00000008-1122-3344-5566-778899aabbcc");
  EXPECT_EQ(gpus->at(1).uuid, "MIG-00000010-1122-3344-5566-778899aabbcc");
  EXPECT_EQ(gpus->at(1).uuid_bytes[3], 0x10);
  EXPECT_TRUE(gpus->at(0).is_mig && gpus->at(1).is_mig);
  EXPECT_EQ(gpus->at(0).index, "1:0");
  EXPECT_EQ(gpus->at(1).index, "1:2");
  EXPECT_EQ(gpus->at(0).minor_number, 5U);
  EXPECT_EQ(gpus->at(1).instance, (InstanceIds{.gpu_instance = 9, .compute_instance = 2}));
  EXPECT_EQ(gpus->at(2).name, "Fake 0");
  EXPECT_FALSE(gpus->at(2).is_mig);
  EXPECT_FALSE(gpus->at(2).instance);
  EXPECT_EQ(gpus->at(2).minor_number, 4U);
}

TEST_F(GpusTest, InstancesThatProgramsCannotNameAreOneGpu) {
  const auto gpus = find(NVS_FAKE_NVML_LIBRARY, "mig,old_instance_names");
  ASSERT_TRUE(gpus) << remarks_;
  ASSERT_EQ(gpus->size(), 3U);
  EXPECT_EQ(gpus->at(0).name, "Fake 1");
  EXPECT_FALSE(gpus->at(0).is_mig);
  EXPECT_NE(remarks_.find("GPU 1 is in MIG mode"), std::string::npos) << remarks_;
}

TEST_F(GpusTest, MigModeWithoutInstancesIsSaid) {
  const auto gpus = find(NVS_FAKE_NVML_LIBRARY, "mig,no_instances");
  ASSERT_TRUE(gpus) << remarks_;
  EXPECT_EQ(gpus->size(), 2U);
  EXPECT_NE(remarks_.find("has no instances"), std::string::npos) << remarks_;
}

TEST_F(GpusTest, MpsIsSeenByItsClients) {
  const auto gpus = find(NVS_FAKE_NVML_LIBRARY, "mps_client");
  ASSERT_TRUE(gpus) << remarks_;
  EXPECT_FALSE(gpus->at(0).mps_active);
  EXPECT_TRUE(gpus->at(1).mps_active);  // number 0, second on the bus
  EXPECT_FALSE(gpus->at(2).mps_active);
}

TEST_F(GpusTest, MpsIsSeenByItsServer) {
  char name[16] = {};
  ::prctl(PR_GET_NAME, name);
  ::prctl(PR_SET_NAME, "nvidia-cuda-mps-server");
  const auto gpus = find(NVS_FAKE_NVML_LIBRARY);
  ::prctl(PR_SET_NAME, name);
  ASSERT_TRUE(gpus) << remarks_;
  EXPECT_FALSE(gpus->at(1).mps_active);
  EXPECT_TRUE(gpus->at(2).mps_active);
}

TEST_F(GpusTest, GpusOutOfReachAreLeftOutAndNamed) {
  const auto gpus = find(NVS_FAKE_NVML_LIBRARY, "lost_gpu,bad_uuid");
  ASSERT_TRUE(gpus) << remarks_;
  ASSERT_EQ(gpus->size(), 1U);
  EXPECT_EQ(gpus->at(0).name, "Fake 1");
  EXPECT_EQ(gpus->at(0).index, "1");
  EXPECT_EQ(remarks_,
            "GPU 0 is left out: its UUID is 'GPU-unknown'\nGPU 2 is left out: Fake Error");
}

TEST_F(GpusTest, NoNvmlIsAnErrorInWords) {
  const auto gpus = find("/does/not/exist.so");
  ASSERT_FALSE(gpus);
  EXPECT_EQ(gpus.error().code, Errc::kNotFound);
  EXPECT_NE(gpus.error().message().find("NVML is not usable"), std::string::npos);
  EXPECT_NE(remarks_.find("/does/not/exist.so"), std::string::npos) << remarks_;
}

TEST_F(GpusTest, NoDriverIsAnErrorInNvmlsWords) {
  const auto gpus = find(NVS_FAKE_NVML_LIBRARY, "init_fails");
  ASSERT_FALSE(gpus);
  EXPECT_NE(remarks_.find("Driver Not Loaded"), std::string::npos) << remarks_;
  EXPECT_EQ(std::getenv("NVSHARE_FAKE_NVML_OPEN"), nullptr);  // it was not shut down either
  // An old library has no words; its number is said.
  ASSERT_FALSE(find(NVS_FAKE_NVML_OLD_LIBRARY, "init_fails"));
  EXPECT_NE(remarks_.find("error 9"), std::string::npos) << remarks_;
}

TEST_F(GpusTest, NoGpusAreAnError) {
  EXPECT_FALSE(find(NVS_FAKE_NVML_LIBRARY, "no_gpus"));
  EXPECT_FALSE(find(NVS_FAKE_NVML_LIBRARY, "count_fails"));
  EXPECT_NE(remarks_.find("cannot be counted"), std::string::npos) << remarks_;
  EXPECT_STREQ(std::getenv("NVSHARE_FAKE_NVML_OPEN"), "0");
}

TEST(ParseUuid, TakesBothKindsAndNothingElse) {
  const auto bytes = parse_uuid("GPU-0123ABcd-4567-89ab-cdef-001122334455");
  ASSERT_TRUE(bytes);
  EXPECT_EQ(*bytes, (UuidBytes{0x01, 0x23, 0xab, 0xcd, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x00,
                               0x11, 0x22, 0x33, 0x44, 0x55}));
  EXPECT_EQ(uuid_text("MIG", *bytes), "MIG-0123abcd-4567-89ab-cdef-001122334455");
  EXPECT_TRUE(parse_uuid("MIG-0123abcd-4567-89ab-cdef-001122334455"));
  for (const char* text :
       {"", "GPU-", "0123abcd-4567-89ab-cdef-001122334455",
        "GPU-0123abcd-4567-89ab-cdef-00112233445", "GPU-0123abcd-4567-89ab-cdef-0011223344556",
        "GPU-0123abcd+4567-89ab-cdef-001122334455", "GPU-0123abcg-4567-89ab-cdef-001122334455",
        "MIG-GPU-0123abcd-4567-89ab-cdef-001122334455/1/0"})
    EXPECT_FALSE(parse_uuid(text)) << text;
}

}  // namespace
}  // namespace nvs
