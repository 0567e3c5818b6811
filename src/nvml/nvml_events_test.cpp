// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <string>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/test_folder.h"
#include "nvml/gpus.h"
#include "nvml/nvml.h"

namespace nvs {
namespace {

TEST(NvmlEvents, AnXidComesWithTheGpuThatHadIt) {
  const TestFolder folder;
  const std::string file = folder.write("events", "");
  ::setenv("NVSHARE_SIM_NVML_EVENTS_FILE", file.c_str(), 1);
  ::setenv("NVSHARE_SIM_MACHINE", ("nvml_events_" + std::to_string(::getpid())).c_str(), 1);
  ::setenv("NVSHARE_SIM_GPUS", "2", 1);
  for (const char* library : {NVS_SIM_NVML, NVS_SIM_NVML_418}) {
    ASSERT_NE(::dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE), nullptr);
    auto nvml = Nvml::open(library);
    ASSERT_TRUE(nvml) << nvml.error();
    std::string remarks;
    const auto gpus = find_gpus(*nvml, remarks);
    ASSERT_TRUE(gpus) << remarks;
    ASSERT_EQ(gpus->size(), 2U);
    EXPECT_EQ(gpus->at(1).parent_uuid, gpus->at(1).uuid);

    folder.write("events", "");
    const auto set = nvml->make_event_set();
    ASSERT_TRUE(set) << set.error();
    for (const Gpu& gpu : *gpus) {
      ASSERT_TRUE(nvml->listen(*set, *nvml->gpu_of(gpu.uuid)));
    }
    const auto nothing = nvml->wait_for_event(*set, 1);
    ASSERT_TRUE(nothing) << nothing.error();
    EXPECT_FALSE(*nothing);
    folder.write("events", "1 79\n");
    const auto event = nvml->wait_for_event(*set, 60'000);
    ASSERT_TRUE(event) << event.error();
    ASSERT_TRUE(*event);
    EXPECT_EQ((*event)->xid, 79U);
    EXPECT_EQ((*event)->uuid, gpus->at(1).uuid);
    EXPECT_FALSE((*event)->gpu_instance);
    EXPECT_FALSE((*event)->compute_instance);
    nvml->free_event_set(*set);
  }
}

TEST(NvmlEvents, AnInstanceIsNamedWhereTheDriverCan) {
  const TestFolder folder;
  ::setenv("NVSHARE_FAKE_NVML_EVENTS", folder.write("events", "").c_str(), 1);
  const auto nvml = Nvml::open(NVS_FAKE_NVML_LIBRARY);
  ASSERT_TRUE(nvml) << nvml.error();
  const auto set = nvml->make_event_set();
  ASSERT_TRUE(set) << set.error();
  ASSERT_TRUE(nvml->listen(*set, *nvml->gpu(1)));
  folder.write("events", "0 1 2 3\n1 48 9 2\n1 63 9 -1\n1 79 -1 -1\n");
  const auto next = [&]() -> XidEvent {
    const auto event = nvml->wait_for_event(*set, 60'000);
    return event && *event ? **event : XidEvent{};
  };
  XidEvent event = next();  // of GPU 0 nobody wants to know
  EXPECT_EQ(event.xid, 48U);
  EXPECT_EQ(event.uuid, "GPU-00000001-1122-3344-5566-778899aabbcc");
  EXPECT_EQ(event.gpu_instance, 9U);
  EXPECT_EQ(event.compute_instance, 2U);
  event = next();
  EXPECT_EQ(event.gpu_instance, 9U);
  EXPECT_FALSE(event.compute_instance);
  event = next();
  EXPECT_EQ(event.xid, 79U);
  EXPECT_FALSE(event.gpu_instance);
  nvml->free_event_set(*set);
  ::unsetenv("NVSHARE_FAKE_NVML_EVENTS");
}

TEST(NvmlEvents, ALibraryWithoutThemSaysSo) {
  const auto nvml = Nvml::open(NVS_FAKE_NVML_OLD_LIBRARY);
  ASSERT_TRUE(nvml);
  EXPECT_FALSE(nvml->make_event_set());
  EXPECT_FALSE(nvml->wait_for_event(nullptr, 1));
}

}  // namespace
}  // namespace nvs
