// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "cuda_sim/config/settings.h"
#include "cuda_sim/machine/machine.h"
#include "cuda_sim/nvml/test_library.h"
#include "cuda_sim/nvml/test_process.h"

namespace nvs::nvml {
namespace {

class ProcessesTest : public NvmlTest {
 protected:
  /// Memory by pid.
  std::map<unsigned, unsigned long long> list(unsigned gpu = 0) {
    std::array<nvmlProcessInfo_t, 16> infos{};
    unsigned count = infos.size();
    EXPECT_EQ(nvml.nvmlDeviceGetComputeRunningProcesses_v3(device(gpu), &count, infos.data()),
              NVML_SUCCESS);
    std::map<unsigned, unsigned long long> found;
    for (unsigned i = 0; i < count; ++i) found[infos[i].pid] = infos[i].usedGpuMemory;
    return found;
  }
};

TEST_F(ProcessesTest, ListsThoseWithAContextAndTheirMemory) {
  start("h200", 2);
  EXPECT_TRUE(list().empty()) << "NVML itself has no context";
  TestProcess first{{.bytes = 10 * kMiB}};
  const TestProcess second{{.bytes = 20 * kMiB}};
  const TestProcess elsewhere{{.gpu = 1, .bytes = 30 * kMiB}};
  const std::map<unsigned, unsigned long long> both = {{first.pid(), 10 * kMiB},
                                                       {second.pid(), 20 * kMiB}};
  EXPECT_EQ(list(0), both);
  EXPECT_EQ(list(1), (std::map<unsigned, unsigned long long>{{elsewhere.pid(), 30 * kMiB}}));
  first.end();
  EXPECT_EQ(list(0), (std::map<unsigned, unsigned long long>{{second.pid(), 20 * kMiB}}));
}

TEST_F(ProcessesTest, AKilledProcessVanishesAtOnce) {
  start();
  TestProcess victim{{.bytes = 10 * kMiB}};
  const TestProcess survivor{{.bytes = 20 * kMiB}};
  ASSERT_EQ(list().size(), 2U);
  victim.kill();  // and not waited for: a zombie holds nothing
  EXPECT_EQ(list(), (std::map<unsigned, unsigned long long>{{survivor.pid(), 20 * kMiB}}));
}

TEST_F(ProcessesTest, ProcessesSeeEachOther) {
  start();
  const TestProcess other{{.bytes = 20 * kMiB}};
  auto machine = sim::Machine::attach(*sim::read_settings());
  ASSERT_TRUE(machine);
  ASSERT_TRUE((*machine)->charge(0, 10 * kMiB));
  (*machine)->own_slot().gpu[0].contexts.fetch_add(1);
  const auto parent = static_cast<unsigned>(::getpid());
  const std::map<unsigned, unsigned long long> both = {{parent, 10 * kMiB},
                                                       {other.pid(), 20 * kMiB}};
  EXPECT_EQ(list(), both);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(nvml.nvmlInit_v2() == NVML_SUCCESS && list() == both ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(ProcessesTest, SharedMemoryCountsOnce) {
  start();
  std::vector<std::unique_ptr<sim::Machine>> places;
  for (int i = 0; i < 70; ++i) places.push_back(*sim::Machine::attach(*sim::read_settings()));
  sim::Machine& owner = *places.front();
  sim::Machine& user = *places.back();
  for (sim::Machine* machine : {&owner, &user}) machine->own_slot().gpu[0].contexts.fetch_add(1);
  ASSERT_TRUE(owner.charge(0, 30 * kMiB));
  const std::uint64_t id = owner.share(0, 10 * kMiB);
  ASSERT_TRUE(user.hold_shared(id));
  std::array<nvmlProcessInfo_t, 4> infos{};
  unsigned count = infos.size();
  ASSERT_EQ(nvml.nvmlDeviceGetComputeRunningProcesses_v3(device(), &count, infos.data()),
            NVML_SUCCESS);
  ASSERT_EQ(count, 2U);
  EXPECT_EQ(infos[0].usedGpuMemory, 30 * kMiB);
  EXPECT_EQ(infos[1].usedGpuMemory, 0U);
}

TEST_F(ProcessesTest, ManagedMemoryCountsWhileItIsOnTheGpu) {
  start();
  auto machine = sim::Machine::attach(*sim::read_settings());
  ASSERT_TRUE(machine);
  (*machine)->own_slot().gpu[0].contexts.fetch_add(1);
  std::array<sim::BlockPlace, 3> places{};
  std::array<sim::BlockTouch, 3> touches{};
  std::uint64_t name = (*machine)->name_blocks(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    places[i].name = name++;
    touches[i].place = &places[i];
  }
  (*machine)->touch_blocks(0, touches);
  const auto self = static_cast<unsigned>(::getpid());
  EXPECT_EQ(list()[self], 3 * (*machine)->managed_block_bytes());
  sim::BlockPlace* home[] = {&places[1]};
  EXPECT_EQ((*machine)->send_home(home, sim::Content::kept), 1U);
  EXPECT_EQ(list()[self], 2 * (*machine)->managed_block_bytes());
}

TEST_F(ProcessesTest, AsksForABufferThatIsLargeEnough) {
  start();
  const auto ask = [&](unsigned room, nvmlProcessInfo_t* infos) {
    unsigned count = room;
    const nvmlReturn_t result =
        nvml.nvmlDeviceGetComputeRunningProcesses_v3(device(), &count, infos);
    return std::pair{result, count};
  };
  std::array<nvmlProcessInfo_t, 4> infos{};
  EXPECT_EQ(ask(0, nullptr), (std::pair{NVML_SUCCESS, 0U}));
  const TestProcess first{{}};
  const TestProcess second{{}};
  EXPECT_EQ(ask(0, nullptr), (std::pair{NVML_ERROR_INSUFFICIENT_SIZE, 2U}));
  EXPECT_EQ(ask(1, infos.data()), (std::pair{NVML_ERROR_INSUFFICIENT_SIZE, 2U}));
  EXPECT_EQ(infos[0].pid, 0U);
  EXPECT_EQ(ask(2, nullptr), (std::pair{NVML_ERROR_INVALID_ARGUMENT, 2U}));
  EXPECT_EQ(ask(4, infos.data()), (std::pair{NVML_SUCCESS, 2U}));
  EXPECT_EQ(nvml.nvmlDeviceGetComputeRunningProcesses_v3(device(), nullptr, nullptr),
            NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(ProcessesTest, EachVersionHasItsOwnStruct) {
  start();
  const TestProcess first{{.bytes = 10 * kMiB}};
  const TestProcess second{{.bytes = 20 * kMiB}};
  std::array<nvmlProcessInfo_v1_t, 2> small{};
  std::array<nvmlProcessInfo_v2_t, 2> large{};
  unsigned count = 2;
  ASSERT_EQ(nvml.nvmlDeviceGetComputeRunningProcesses(device(), &count, small.data()),
            NVML_SUCCESS);
  EXPECT_EQ(small[1].pid, second.pid());
  EXPECT_EQ(small[1].usedGpuMemory, 20 * kMiB);
  ASSERT_EQ(nvml.nvmlDeviceGetComputeRunningProcesses_v2(device(), &count, large.data()),
            NVML_SUCCESS);
  EXPECT_EQ(large[1].pid, second.pid());
  EXPECT_EQ(large[1].usedGpuMemory, 20 * kMiB);
  EXPECT_EQ(large[1].gpuInstanceId, ~0U);
  EXPECT_EQ(large[1].computeInstanceId, ~0U);
}

TEST_F(ProcessesTest, NobodyDrawsOrUsesMps) {
  start();
  const TestProcess tenant{{}};
  const auto nobody = [&](auto function) {
    unsigned count = 4;
    EXPECT_EQ(function(device(), &count, nullptr), NVML_SUCCESS);
    EXPECT_EQ(count, 0U);
  };
  nobody(nvml.nvmlDeviceGetGraphicsRunningProcesses);
  nobody(nvml.nvmlDeviceGetGraphicsRunningProcesses_v2);
  nobody(nvml.nvmlDeviceGetGraphicsRunningProcesses_v3);
  nobody(nvml.nvmlDeviceGetMPSComputeRunningProcesses);
  nobody(nvml.nvmlDeviceGetMPSComputeRunningProcesses_v2);
  nobody(nvml.nvmlDeviceGetMPSComputeRunningProcesses_v3);
}

TEST_F(ProcessesTest, DetailsComeByMode) {
  start();
  const TestProcess tenant{{.bytes = 10 * kMiB}};
  std::array<nvmlProcessDetail_v1_t, 4> details{};
  nvmlProcessDetailList_t query{};
  EXPECT_EQ(nvml.nvmlDeviceGetRunningProcessDetailList(device(), &query),
            NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  query = {.version = nvmlProcessDetailList_v1,
           .mode = 0,
           .numProcArrayEntries = 4,
           .procArray = details.data()};
  EXPECT_EQ(nvml.nvmlDeviceGetRunningProcessDetailList(device(), &query), NVML_SUCCESS);
  EXPECT_EQ(query.numProcArrayEntries, 1U);
  EXPECT_EQ(details[0].pid, tenant.pid());
  EXPECT_EQ(details[0].usedGpuMemory, 10 * kMiB);
  query.mode = 2;
  EXPECT_EQ(nvml.nvmlDeviceGetRunningProcessDetailList(device(), &query), NVML_SUCCESS);
  EXPECT_EQ(query.numProcArrayEntries, 0U);
  query.mode = 3;
  EXPECT_EQ(nvml.nvmlDeviceGetRunningProcessDetailList(device(), &query),
            NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(ProcessesTest, NamesAnyProcess) {
  start();
  const TestProcess tenant{{}};
  std::array<char, 512> name{};
  EXPECT_EQ(nvml.nvmlSystemGetProcessName(tenant.pid(), name.data(), name.size()), NVML_SUCCESS);
  EXPECT_STREQ(name.data(), NVS_NVML_TENANT);
  EXPECT_EQ(nvml.nvmlSystemGetProcessName(tenant.pid(), name.data(), 4), NVML_SUCCESS);
  EXPECT_EQ(std::string{name.data()}, std::string{NVS_NVML_TENANT}.substr(0, 3)) << "cut off";
  EXPECT_EQ(nvml.nvmlSystemGetProcessName(0, name.data(), name.size()), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(nvml.nvmlSystemGetProcessName(tenant.pid(), name.data(), 0),
            NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvml.nvmlSystemGetProcessName(tenant.pid(), nullptr, 9), NVML_ERROR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace nvs::nvml
