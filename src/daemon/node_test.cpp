// SPDX-License-Identifier: Apache-2.0
#include "daemon/node.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "daemon/limits.h"

namespace nvs::daemon {
namespace {

const UuidBytes kUuid{1, 2, 3};

class NodeTest : public ::testing::Test {
 protected:
  static constexpr Instant kStart = Instant::from_ns(1'000'000'000'000);
  static constexpr core::ClientId kClient{1};

  NodeTest() {
    options_.folder = ::testing::TempDir() + "nvshare_node_test_" + std::to_string(::getpid());
    std::filesystem::create_directories(options_.folder);
  }
  ~NodeTest() override { std::filesystem::remove_all(options_.folder); }

  static Gpu gpu_with(const UuidBytes& uuid, std::uint64_t memory_bytes = 0) {
    Gpu gpu = unknown_gpu(uuid);
    gpu.memory_bytes = memory_bytes;
    return gpu;
  }
  static Tenant tenant_with(const std::string& key) {
    Tenant tenant;
    tenant.key = key;
    tenant.name = key;
    return tenant;
  }
  // The core's answer to a client that wants the GPU.
  bool opens(Node& node, core::ClientId client, core::GpuId gpu) {
    effects_.clear();
    node.step(kStart, core::Wanted{client, gpu}, effects_);
    return !effects_.empty() && std::holds_alternative<core::OpenWindow>(effects_.back());
  }

  Options options_;
  Effects effects_;
};

TEST_F(NodeTest, WhatCannotBeSavedIsInForceAndSaysWhy) {
  Node node(options_, {}, kStart);
  const auto gpu = node.add_gpu(kStart, gpu_with(kUuid), Node::Origin::found, effects_);
  ASSERT_TRUE(gpu);
  const std::string file = options_.folder + "/state.json";
  std::filesystem::create_directory(file + ".new");  // in the way of what is to be written
  node.set_policy(kStart, *gpu, {.mode = core::Mode::serial, .turn = {}}, effects_);
  EXPECT_EQ(node.gpus().at(*gpu).policy.mode, core::Mode::serial);
  ASSERT_TRUE(node.unsaved());
  EXPECT_EQ(node.unsaved()->file, file);
  EXPECT_EQ(node.unsaved()->error, "Is a directory");
  std::filesystem::remove(file + ".new");
  node.set_policy(kStart, *gpu, {.mode = core::Mode::serial, .turn = {}}, effects_);
  EXPECT_FALSE(node.unsaved());
  EXPECT_TRUE(std::filesystem::exists(file));
}

TEST_F(NodeTest, AGpuThatDoesNotAnswerIsShown) {
  Node node(options_, {}, kStart);
  const auto gpu = node.add_gpu(kStart, gpu_with(kUuid), Node::Origin::found, effects_);
  ASSERT_TRUE(gpu);
  const auto shows = [&node](const std::string& text) {
    return node.status(kStart, {}).find("\"nvml_error\":" + text) != std::string::npos;
  };
  EXPECT_TRUE(shows("null"));
  node.note_answer(kStart, *gpu, "GPU is lost");
  EXPECT_TRUE(shows("\"GPU is lost\""));
  node.note_answer(kStart, *gpu, std::nullopt);
  EXPECT_TRUE(shows("null"));
}

// They would add up until nothing could be saved any more.
TEST_F(NodeTest, SettingsOfTenantsThatEndedAreNotKept) {
  SavedState saved;
  for (std::size_t i = 0; i <= kSavedTenantsMax; ++i) {
    saved.tenants["run:4294967294:" + std::to_string(i)].paused = true;
  }
  saved.tenants["process:" + std::to_string(::getpid()) + ":1"].paused = true;
  Node node(options_, saved, kStart);
  const Tenant& tenant =
      node.join(kStart, core::ClientId{1}, 1, tenant_with("run:4294967294:7"), {}, effects_);
  node.set_weight(kStart, tenant.id, 50, effects_);
  std::string remark;
  const auto kept = load_state(options_.folder, remark);
  ASSERT_TRUE(kept);
  EXPECT_EQ(remark, "");
  ASSERT_EQ(kept->tenants.size(), 1U);
  EXPECT_EQ(kept->tenants.at("run:4294967294:7").weight, 50U);
}

TEST_F(NodeTest, AGpuCanBeTreatedAsSmallerThanItIs) {
  options_.gpu_memory.each = 1000;
  options_.gpu_memory.by_uuid[{4}] = 2000;
  Node node(options_, {}, kStart);
  const auto large = node.add_gpu(kStart, gpu_with({1}, 5000), Node::Origin::found, effects_);
  const auto small = node.add_gpu(kStart, gpu_with({2}, 500), Node::Origin::found, effects_);
  const auto unknown = node.add_gpu(kStart, gpu_with({3}, 0), Node::Origin::learnt, effects_);
  const auto own = node.add_gpu(kStart, gpu_with({4}, 5000), Node::Origin::found, effects_);
  EXPECT_EQ(node.gpus().at(*own).gpu.memory_bytes, 2000U);
  EXPECT_EQ(node.gpus().at(*large).gpu.memory_bytes, 1000U);
  EXPECT_EQ(node.gpus().at(*small).gpu.memory_bytes, 500U);
  EXPECT_EQ(node.gpus().at(*unknown).gpu.memory_bytes, 1000U);
}

TEST_F(NodeTest, GpusAreKnownByTheirUuidAndBounded) {
  Node node(options_, {}, kStart);
  for (std::uint8_t i = 1; i <= kGpusMax; ++i) {
    ASSERT_TRUE(node.add_gpu(kStart, gpu_with({i}), Node::Origin::learnt, effects_));
  }
  EXPECT_EQ(node.gpus().find({2}), core::GpuId{1});
  EXPECT_FALSE(node.add_gpu(kStart, gpu_with({2}), Node::Origin::found, effects_)) << "twice";
  EXPECT_FALSE(node.add_gpu(kStart, gpu_with({200}), Node::Origin::learnt, effects_)) << "full";
}

TEST_F(NodeTest, ThereAreNoWindowsUnderMps) {
  options_.policy.mode = core::Mode::serial;
  Node node(options_, {}, kStart);
  Gpu gpu = gpu_with(kUuid);
  gpu.mps_active = true;
  const auto id = node.add_gpu(kStart, gpu, Node::Origin::found, effects_);
  EXPECT_EQ(node.gpus().at(*id).policy.mode, core::Mode::concurrent);
  node.set_policy(kStart, *id, {.mode = core::Mode::automatic, .turn = {}}, effects_);
  EXPECT_EQ(node.gpus().at(*id).policy.mode, core::Mode::concurrent);
}

TEST_F(NodeTest, WhatAnAdministratorSetIsThereAfterARestart) {
  {
    Node node(options_, {}, kStart);
    const auto gpu = node.add_gpu(kStart, gpu_with(kUuid), Node::Origin::found, effects_);
    const Tenant& tenant =
        node.join(kStart, kClient, 100, tenant_with("t"), {core::Priority::normal}, effects_);
    node.set_policy(kStart, *gpu, {.mode = core::Mode::serial, .turn = {}}, effects_);
    node.set_paused(kStart, tenant.id, true, effects_);
  }
  std::string remark;
  Node node(options_, *load_state(options_.folder, remark), kStart);
  EXPECT_EQ(remark, "");
  const auto gpu = node.add_gpu(kStart, gpu_with(kUuid), Node::Origin::found, effects_);
  EXPECT_EQ(node.gpus().at(*gpu).policy.mode, core::Mode::serial);
  const Tenant& tenant =
      node.join(kStart, kClient, 100, tenant_with("t"), {core::Priority::normal}, effects_);
  EXPECT_TRUE(tenant.paused);
  EXPECT_FALSE(opens(node, kClient, *gpu));
  effects_.clear();
  node.set_paused(kStart, tenant.id, false, effects_);
  ASSERT_EQ(effects_.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<core::OpenWindow>(effects_[0]));
}

TEST_F(NodeTest, TheFirstClientDescribesItsTenant) {
  Node node(options_, {}, kStart);
  const auto gpu = node.add_gpu(kStart, gpu_with(kUuid), Node::Origin::found, effects_);
  node.join(kStart, kClient, 100, tenant_with("t"), {core::Priority::normal}, effects_);
  Tenant second = tenant_with("t");
  second.name = "another name";
  second.paused = true;
  const Tenant& tenant =
      node.join(kStart, core::ClientId{2}, 101, second, {core::Priority::high}, effects_);
  EXPECT_EQ(tenant.name, "t");
  EXPECT_FALSE(tenant.paused);
  EXPECT_TRUE(opens(node, kClient, *gpu));
}

TEST_F(NodeTest, StatusAddsUpWhatTheClientsOfATenantHold) {
  Node node(options_, {}, kStart);
  const auto gpu = node.add_gpu(kStart, gpu_with(kUuid, 18 << 20U), Node::Origin::found, effects_);
  const core::ClientId second{2};
  const core::ClientId silent{3};  // tells nothing but its sum
  for (const core::ClientId client : {kClient, second, silent}) {
    node.join(kStart, client, 100, tenant_with("t"), {core::Priority::normal}, effects_);
    ASSERT_TRUE(opens(node, client, *gpu));
    node.memory().use(client, core::TenantId{1}, *gpu);
    node.clients().client(client).memory_bytes[*gpu] = 1000;
  }
  node.memory().hold(kClient, *gpu,
                     {.resident = 10, .away = 20, .fixed = 5, .clean = 4, .copied_in = 6});
  node.memory().hold(second, *gpu,
                     {.resident = 1, .away = 2, .host = 3, .copied_in = 1, .managed = 6});
  const std::string status = node.status(kStart, {});
  EXPECT_NE(status.find(R"("memory_bytes":1038,"resident_bytes":11,"swapped_bytes":22,)"
                        R"("clean_bytes":4,"fixed_bytes":5,"host_bytes":3,"copied_out_bytes":0,)"
                        R"("copied_in_bytes":7,"managed_bytes":6,)"),
            std::string::npos)
      << status;
  EXPECT_NE(status.find(R"("memory_bytes":18874368,"capacity_bytes":18874368,)"
                        R"("visible_bytes":15728640,"other_bytes":0,)"),
            std::string::npos)
      << status;
  node.leave(kStart, kClient, effects_);
  EXPECT_NE(node.status(kStart, {}).find("\"resident_bytes\":1,"), std::string::npos);
  EXPECT_FALSE(node.memory().held(kClient, *gpu));
}

TEST_F(NodeTest, StatusShowsWhatTheDriverHasForATenant) {
  Node node(options_, {}, kStart);
  const auto gpu = node.add_gpu(kStart, gpu_with(kUuid, 18 << 20U), Node::Origin::found, effects_);
  const core::ClientId silent{2};  // tells nothing but its sum
  pid_t pid = 100;
  for (const core::ClientId client : {kClient, silent}) {
    node.join(kStart, client, pid++, tenant_with("t"), {core::Priority::normal}, effects_);
    ASSERT_TRUE(opens(node, client, *gpu));
    node.memory().use(client, core::TenantId{1}, *gpu);
    node.clients().client(client).memory_bytes[*gpu] = 1000;
  }
  const auto shows = [&](const std::string& word) {
    return node.status(kStart, {}).find("\"driver_bytes\":" + word + ",") != std::string::npos;
  };
  const auto poll = [&](const std::optional<std::vector<ProcessMemory>>& processes) {
    for (int i = 0; i <= kStillPollsForMore; ++i) node.note_processes(*gpu, processes);
  };
  EXPECT_TRUE(shows("null")) << node.status(kStart, {});
  node.memory().hold(kClient, *gpu, {.resident = 10, .away = 20, .fixed = 5});
  poll({{{7, 9999}, {100, 315}, {101, 1200}}});
  EXPECT_TRUE(shows("500")) << node.status(kStart, {});
  node.memory().hold(kClient, *gpu, {.resident = 10, .managed = 1});  // wherever that is
  poll({{{7, 9999}, {100, 315}, {101, 1200}}});
  EXPECT_TRUE(shows("null")) << node.status(kStart, {});
  node.leave(kStart, kClient, effects_);
  poll({{{7, 9999}, {101, 1200}}});
  EXPECT_TRUE(shows("200")) << node.status(kStart, {});
  poll(std::nullopt);
  EXPECT_TRUE(shows("null")) << node.status(kStart, {});
}

TEST_F(NodeTest, TheTimelineShowsNoMoreMemoryThanTheStatusDoes) {
  Node node(options_, {}, kStart);
  const auto gpu = node.add_gpu(kStart, gpu_with(kUuid, 1000), Node::Origin::found, effects_);
  node.join(kStart, kClient, 100, tenant_with("t"), {core::Priority::normal}, effects_);
  ASSERT_TRUE(opens(node, kClient, *gpu));
  node.memory().use(kClient, core::TenantId{1}, *gpu);
  node.hold(kStart, kClient, *gpu, {.resident = 900, .away = 5000, .fixed = 60, .clean = 901});
  const std::string levels = R"("resident_bytes":900,"swapped_bytes":40,"clean_bytes":900,)"
                             R"("fixed_bytes":60)";
  const std::string trace = node.trace(kStart, Duration::from_s(1));
  EXPECT_NE(trace.find(levels), std::string::npos) << trace;
  const std::string status = node.status(kStart, {});
  EXPECT_NE(status.find(levels), std::string::npos) << status;
}

TEST_F(NodeTest, AGpuThatWasLearntGetsItsSizeWhenNvmlKnowsIt) {
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;
  options_.gpu_memory.each = 6 * kGiB;
  Node node(options_, {}, kStart);
  const auto gpu = node.add_gpu(kStart, unknown_gpu(kUuid), Node::Origin::learnt, effects_);
  Gpu known = gpu_with(kUuid, 8 * kGiB);
  known.name = "a real one";
  node.describe_gpu(kStart, *gpu, known, effects_);
  const auto shows = [&](const std::string& words) {
    const std::string status = node.status(kStart, {});
    EXPECT_NE(status.find(words), std::string::npos) << words << "\n" << status;
  };
  const std::string bytes = std::to_string(6 * kGiB);
  shows("\"name\":\"a real one\"");
  shows("\"memory_bytes\":" + bytes);
  shows("\"capacity_bytes\":" + bytes);
  known.mps_active = true;
  node.describe_gpu(kStart, *gpu, known, effects_);
  shows("\"mode\":\"concurrent\"");
}

TEST_F(NodeTest, WhatIsMeasuredReachesTheCore) {
  constexpr std::uint64_t kGiB = std::uint64_t{1} << 30U;
  Node node(options_, {}, kStart);
  const auto gpu = node.add_gpu(kStart, gpu_with(kUuid, 8 * kGiB), Node::Origin::found, effects_);
  for (int poll = 0; poll <= kStillPollsForMore; ++poll)
    node.measure(kStart, *gpu, 5 * kGiB, effects_);
  const std::string status = node.status(kStart, {});
  EXPECT_NE(status.find("\"capacity_bytes\":" + std::to_string(5 * kGiB)), std::string::npos)
      << status;
  EXPECT_NE(status.find("\"other_bytes\":" + std::to_string(3 * kGiB)), std::string::npos);
}

TEST_F(NodeTest, WhoComesWithAnOpenGateIsInTimeUntilAllAreBack) {
  Node node(options_, {}, kStart);
  const core::FoundOpen last = node.found_open(kStart + kReadoption, kClient, core::GpuId{2});
  EXPECT_EQ(last.client, kClient);
  EXPECT_EQ(last.gpu, core::GpuId{2});
  EXPECT_TRUE(last.in_time);
  const Instant late = kStart + kReadoption + Duration::from_ns(1);
  EXPECT_FALSE(node.found_open(late, kClient, core::GpuId{2}).in_time);
}

TEST_F(NodeTest, StatusAddsWhatEarlierDaemonsBilled) {
  Node node(options_, {}, kStart);
  const auto gpu = node.add_gpu(kStart, gpu_with(kUuid), Node::Origin::found, effects_);
  const Tenant& tenant =
      node.join(kStart, kClient, 100, tenant_with("t"), {core::Priority::normal}, effects_);
  ASSERT_TRUE(opens(node, kClient, *gpu));
  node.bill_earlier(kStart, tenant.id, *gpu, 7'000'000'000);
  EXPECT_NE(node.status(kStart, {}).find("\"used_s\":7"), std::string::npos)
      << node.status(kStart, {});
  node.bill_earlier(kStart, tenant.id, *gpu, 5'000'000'000);  // another client, in its windows
  EXPECT_NE(node.status(kStart, {}).find("\"used_s\":7"), std::string::npos)
      << node.status(kStart, {});
  const Instant late = kStart + kReadoption + Duration::from_ns(1);
  node.bill_earlier(late, tenant.id, *gpu, 9'000'000'000);
  EXPECT_NE(node.status(kStart, {}).find("\"used_s\":7"), std::string::npos)
      << node.status(kStart, {});
  node.bill_earlier(kStart, tenant.id, *gpu, UINT64_MAX);  // no more than the machine's age
  EXPECT_NE(node.status(kStart, {}).find("\"used_s\":1000"), std::string::npos)
      << node.status(kStart, {});
}

}  // namespace
}  // namespace nvs::daemon
