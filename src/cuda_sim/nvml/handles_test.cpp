// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <set>
#include <string>
#include <string_view>

#include "cuda_sim/config/gpu_identity.h"
#include "cuda_sim/config/model.h"
#include "cuda_sim/nvml/test_library.h"

namespace nvs::nvml {
namespace {

/// Whether `text` is like `form`, in which x stands for a small hexadecimal digit.
bool has_form(std::string_view text, std::string_view form) {
  return std::equal(text.begin(), text.end(), form.begin(), form.end(), [](char letter, char mark) {
    const bool digit = (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f');
    return mark == 'x' ? digit : letter == mark;
  });
}

class HandlesTest : public NvmlTest {
 protected:
  std::string uuid(nvmlDevice_t gpu) {
    std::array<char, 96> text{};
    EXPECT_EQ(nvml.nvmlDeviceGetUUID(gpu, text.data(), 96), NVML_SUCCESS);
    return text.data();
  }

  nvmlReturn_t by_uuid(const std::string& text) {
    return nvml.nvmlDeviceGetHandleByUUID(text.c_str(), &found_);
  }

  nvmlReturn_t by_pci(const char* text) {
    return nvml.nvmlDeviceGetHandleByPciBusId_v2(text, &found_);
  }

  nvmlDevice_t found_ = nullptr;
};

TEST_F(HandlesTest, CountsGpus) {
  start("t4", 3);
  unsigned count = 0;
  EXPECT_EQ(nvml.nvmlDeviceGetCount(&count), NVML_SUCCESS);
  EXPECT_EQ(count, 3U);
  EXPECT_EQ(nvml.nvmlDeviceGetCount_v2(&count), NVML_SUCCESS);
  EXPECT_EQ(count, 3U);
  EXPECT_EQ(nvml.nvmlDeviceGetCount_v2(nullptr), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(HandlesTest, FindsByIndex) {
  start("h200", 2);
  EXPECT_NE(device(0), device(1));
  for (unsigned i = 0; i < 2; ++i) {
    unsigned index = 9;
    EXPECT_EQ(nvml.nvmlDeviceGetIndex(device(i), &index), NVML_SUCCESS);
    EXPECT_EQ(index, i);
    EXPECT_EQ(nvml.nvmlDeviceGetMinorNumber(device(i), &index), NVML_SUCCESS);
    EXPECT_EQ(index, i);
  }
  EXPECT_EQ(nvml.nvmlDeviceGetHandleByIndex_v2(2, &found_), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvml.nvmlDeviceGetHandleByIndex(0, nullptr), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(HandlesTest, RefusesStrangeHandles) {
  start();
  unsigned index = 0;
  int nothing = 0;
  for (void* strange : {static_cast<void*>(nullptr), static_cast<void*>(&nothing)}) {
    const auto gpu = static_cast<nvmlDevice_t>(strange);
    EXPECT_EQ(nvml.nvmlDeviceGetIndex(gpu, &index), NVML_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(nvml.nvmlDeviceGetPowerUsage(gpu, &index), NVML_ERROR_INVALID_ARGUMENT);
  }
  EXPECT_EQ(nvml.nvmlDeviceGetIndex(device(), nullptr), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(HandlesTest, UuidsAreTheSameInEveryRun) {
  start("h200", 2);
  EXPECT_EQ(uuid(device(0)), "GPU-79c7990a-b8a8-9466-22a9-543d96e4764a");
  std::set<std::string> all;
  for (const char* preset : {"h200", "t4"}) {
    for (unsigned i = 0; i < sim::kGpusMax; ++i) {
      const std::string text = sim::uuid_text(sim::gpu_uuid(preset, i));
      EXPECT_TRUE(has_form(text, "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx")) << text;
      all.insert(text);
    }
  }
  EXPECT_EQ(all.size(), std::size_t{2} * sim::kGpusMax);
  std::array<char, 96> text{};
  EXPECT_EQ(nvml.nvmlDeviceGetUUID(device(0), text.data(), 40), NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(nvml.nvmlDeviceGetUUID(device(0), text.data(), 41), NVML_SUCCESS);
}

TEST_F(HandlesTest, FindsByUuid) {
  start("h200", 2);
  const std::string good = uuid(device(1));
  EXPECT_EQ(by_uuid(good), NVML_SUCCESS);
  EXPECT_EQ(found_, device(1));
  EXPECT_EQ(by_uuid(good.substr(4)), NVML_SUCCESS) << "the prefix may be left out";
  std::string large = good;
  std::transform(large.begin(), large.end(), large.begin(), [](char c) {
    return static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  });
  for (const std::string& bad : {large, good + "0", good.substr(0, 20), std::string{},
                                 std::string{"MIG-00000000-0000-0000-0000-000000000000"}}) {
    EXPECT_EQ(by_uuid(bad), NVML_ERROR_NOT_FOUND) << bad;
  }
  EXPECT_EQ(nvml.nvmlDeviceGetHandleByUUID(nullptr, &found_), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(HandlesTest, FindsByUuidOfEitherKind) {
  start("h200", 2);
  nvmlUUID_t asked{};
  EXPECT_EQ(nvml.nvmlDeviceGetHandleByUUIDV(&asked, &found_), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  asked.version = nvmlUUID_v1;
  EXPECT_EQ(nvml.nvmlDeviceGetHandleByUUIDV(&asked, &found_), NVML_ERROR_INVALID_ARGUMENT);
  asked.type = 1;
  std::snprintf(asked.value.str, sizeof asked.value.str, "%s", uuid(device(1)).c_str());
  EXPECT_EQ(nvml.nvmlDeviceGetHandleByUUIDV(&asked, &found_), NVML_SUCCESS);
  EXPECT_EQ(found_, device(1));
  asked.type = 2;
  const sim::Uuid bytes = sim::gpu_uuid("h200", 0);
  std::copy(bytes.begin(), bytes.end(), asked.value.bytes);
  EXPECT_EQ(nvml.nvmlDeviceGetHandleByUUIDV(&asked, &found_), NVML_SUCCESS);
  EXPECT_EQ(found_, device(0));
  asked.value.bytes[3] ^= 1;
  EXPECT_EQ(nvml.nvmlDeviceGetHandleByUUIDV(&asked, &found_), NVML_ERROR_NOT_FOUND);
}

TEST_F(HandlesTest, FindsByPciBusIdAsTheCardDoes) {
  start("h200", 2);
  for (const char* good :
       {"00000000:11:00.0", "0000:11:00.0", "0:11:0.0", "0000:11:00", "11:00.0", "0:11:0.0x"}) {
    found_ = nullptr;
    EXPECT_EQ(by_pci(good), NVML_SUCCESS) << good;
    EXPECT_EQ(found_, device(1)) << good;
  }
  for (const char* absent : {"00000000:FE:00.0", "0:0:0.0", "1:11:0.0"}) {
    EXPECT_EQ(by_pci(absent), NVML_ERROR_NOT_FOUND) << absent;
  }
  for (const char* bad : {"11:00", "nonsense", "", "0000:11:00.1"}) {
    EXPECT_EQ(by_pci(bad), NVML_ERROR_INVALID_ARGUMENT) << bad;
  }
  EXPECT_EQ(by_pci(nullptr), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(HandlesTest, FindsBySerialNumber) {
  start("h200", 2);
  std::array<char, NVML_DEVICE_SERIAL_BUFFER_SIZE> serial{};
  ASSERT_EQ(nvml.nvmlDeviceGetSerial(device(1), serial.data(), serial.size()), NVML_SUCCESS);
  EXPECT_EQ(std::strlen(serial.data()), 13U);
  EXPECT_EQ(nvml.nvmlDeviceGetHandleBySerial(serial.data(), &found_), NVML_SUCCESS);
  EXPECT_EQ(found_, device(1));
  EXPECT_EQ(nvml.nvmlDeviceGetHandleBySerial("123", &found_), NVML_ERROR_NOT_FOUND);
}

// Programs built for an older version have a shorter struct.
TEST_F(HandlesTest, PciInfoWritesNoMoreThanItsVersionHas) {
  start("t4", 2);
  nvmlPciInfo_t pci;
  std::memset(&pci, 0xee, sizeof pci);
  const nvmlPciInfo_t blank = pci;
  ASSERT_EQ(nvml.nvmlDeviceGetPciInfo(device(1), &pci), NVML_SUCCESS);
  EXPECT_STREQ(pci.busIdLegacy, "0000:11:00.0");
  EXPECT_EQ(pci.domain, 0U);
  EXPECT_EQ(pci.bus, 0x11U);
  EXPECT_EQ(pci.device, 0U);
  EXPECT_EQ(pci.pciDeviceId, 0x1eb810deU);
  EXPECT_EQ(pci.pciSubSystemId, blank.pciSubSystemId);
  ASSERT_EQ(nvml.nvmlDeviceGetPciInfo_v2(device(1), &pci), NVML_SUCCESS);
  EXPECT_EQ(pci.pciSubSystemId, 0x12a210deU);
  EXPECT_EQ(std::memcmp(pci.busId, blank.busId, sizeof pci.busId), 0);
  ASSERT_EQ(nvml.nvmlDeviceGetPciInfo_v3(device(1), &pci), NVML_SUCCESS);
  EXPECT_STREQ(pci.busId, "00000000:11:00.0");

  nvmlPciInfoExt_t extended{};
  EXPECT_EQ(nvml.nvmlDeviceGetPciInfoExt(device(1), &extended),
            NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  extended.version = nvmlPciInfoExt_v1;
  EXPECT_EQ(nvml.nvmlDeviceGetPciInfoExt(device(1), &extended), NVML_SUCCESS);
  EXPECT_STREQ(extended.busId, pci.busId);
}

TEST_F(HandlesTest, TellsWhatKindOfCardItIs) {
  start("t4");
  std::array<char, NVML_DEVICE_NAME_BUFFER_SIZE> name{};
  EXPECT_EQ(nvml.nvmlDeviceGetName(device(), name.data(), 8), NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(nvml.nvmlDeviceGetName(device(), name.data(), name.size()), NVML_SUCCESS);
  EXPECT_STREQ(name.data(), "Tesla T4");
  int major = 0;
  int minor = 0;
  EXPECT_EQ(nvml.nvmlDeviceGetCudaComputeCapability(device(), &major, &minor), NVML_SUCCESS);
  EXPECT_EQ(major, 7);
  EXPECT_EQ(minor, 5);
  unsigned value = 0;
  EXPECT_EQ(nvml.nvmlDeviceGetNumGpuCores(device(), &value), NVML_SUCCESS);
  EXPECT_EQ(value, 2560U);
  EXPECT_EQ(nvml.nvmlDeviceGetArchitecture(device(), &value), NVML_SUCCESS);
  EXPECT_EQ(value, static_cast<unsigned>(NVML_DEVICE_ARCH_TURING));
  EXPECT_EQ(nvml.nvmlDeviceGetBoardId(device(), &value), NVML_SUCCESS);
  EXPECT_EQ(value, 0x1000U);
}

}  // namespace
}  // namespace nvs::nvml
