// SPDX-License-Identifier: Apache-2.0
#include <map>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/test_folder.h"
#include "daemon/limits.h"
#include "daemon/node.h"
#include "daemon/test_files.h"
#include "wire/memory_account.h"

namespace nvs::daemon {
namespace {

class NodeLimitsTest : public ::testing::Test {
 protected:
  static constexpr Instant kStart = Instant::from_ns(1'000'000'000'000);
  static constexpr core::GpuId kGpu{0};

  NodeLimitsTest() { options_.folder = folder_.path(); }

  Node& start(SavedState saved = {}) {
    node_ = std::make_unique<Node>(options_, std::move(saved), kStart);
    add_gpu(1);
    return *node_;
  }
  void add_gpu(std::uint8_t number) {
    Gpu gpu = unknown_gpu({number});
    gpu.memory_bytes = 1000U * number;
    node_->add_gpu(kStart, gpu, Node::Origin::found, effects_);
  }
  const Tenant& join(int client, const std::string& key, const std::string& memory,
                     const std::string& cores, LimitSource source = LimitSource::environment) {
    Tenant tenant;
    tenant.key = tenant.name = key;
    return node_->join(kStart, core::ClientId{static_cast<std::uint64_t>(client)}, 100, tenant,
                       {core::Priority::normal, memory, cores, source, source}, effects_);
  }
  void leave(int client) {
    node_->leave(kStart, core::ClientId{static_cast<std::uint64_t>(client)}, effects_);
  }
  // As the client reads it from its account.
  std::uint64_t limit_of(const TenantAccounts::Place& place, std::size_t gpu = 0) {
    const auto mapping = *os::SharedMapping::create(place.file, 0, sizeof(wire::AccountFile));
    return reinterpret_cast<wire::AccountFile*>(mapping.data())->limit[gpu];
  }
  TenantAccounts::Place account(int client) {
    return *node_->open_account(core::ClientId{static_cast<std::uint64_t>(client)});
  }
  bool status_has(const std::string& text) {
    return node_->status(kStart, {}).find(text) != std::string::npos;
  }

  TestFolder folder_;
  Options options_;
  Effects effects_;
  std::unique_ptr<Node> node_;
};

TEST_F(NodeLimitsTest, ThePeriodOfCapsIsTheDaemonsOwn) {
  options_.policy.quota_period = Duration::from_ms(500);
  SavedState saved;
  saved.gpus[unknown_gpu({1}).uuid] = {};
  start(saved);
  EXPECT_EQ(node_->gpus().at(kGpu).policy.quota_period, Duration::from_ms(500));
}

TEST_F(NodeLimitsTest, TheEnvironmentOfAClientReachesItsTenant) {
  start();
  const Tenant& tenant = join(1, "container:/a", "40%", "30");
  EXPECT_EQ(tenant.limits.cores(), (EffectiveLimit<std::uint32_t>{30, LimitSource::environment}));
  const auto place = account(1);
  EXPECT_EQ(limit_of(place), 400U);
  EXPECT_EQ(limit_of(place, 1), wire::kUnlimited);
  add_gpu(2);
  EXPECT_EQ(limit_of(place, 1), 800U) << "of a GPU that came later";
  join(2, "container:/a", "200", "50");
  EXPECT_EQ(limit_of(place), 200U) << "lowered for all";
  EXPECT_EQ(tenant.limits.cores().value, 30U);
  EXPECT_TRUE(status_has(R"("limits":{"memory":{"value":"200 and 40%","source":"environment"},)"
                         R"("cores":{"value":"30","source":"environment"}},"limit_errors":[])"))
      << node_->status(kStart, {});
}

TEST_F(NodeLimitsTest, WhatIsNotUnderstoodIsSaidAndChangesNothing) {
  options_.limits.say(LimitSource::defaults, CoresWord::of(70));
  start();
  const Tenant& tenant = join(1, "container:/a", "4 GB", "0", LimitSource::run);
  EXPECT_EQ(limit_of(account(1)), wire::kUnlimited);
  EXPECT_EQ(tenant.limits.cores(), (EffectiveLimit<std::uint32_t>{70, LimitSource::defaults}));
  ASSERT_EQ(tenant.limit_errors.size(), 2U);
  EXPECT_EQ(tenant.limit_errors[0],
            "the memory limit '4 GB' of the run is not understood: write 4Gi, 4096Mi, 4G, 512MiB, "
            "bytes, or 25%");
  EXPECT_EQ(tenant.limit_errors[1],
            "the core limit '0' of the run is not understood: write a number from 1 to 100");
  for (int client = 2; client < 20; ++client) {
    join(client, "container:/a", "4 GB", std::to_string(1000 + client));
  }
  EXPECT_EQ(tenant.limit_errors.size(), kLimitErrorsMax) << "nobody fills the daemon with them";
}

TEST_F(NodeLimitsTest, AnAdministratorsWordCountsMostAndOutlivesTheDaemon) {
  options_.limits.say(LimitSource::defaults, MemoryWord::of({900, 0}));
  start();
  const Tenant& tenant = join(1, "container:/a", "500", "30");
  const auto place = account(1);
  EXPECT_EQ(limit_of(place), 500U);
  node_->set_limits(kStart, tenant.id, {MemoryWord::of({700, 0}), CoresWord::none()}, effects_);
  EXPECT_EQ(limit_of(place), 700U) << "raised while it runs";
  EXPECT_EQ(tenant.limits.cap(), core::kNoCap);
  node_->set_limits(kStart, tenant.id, {MemoryWord::none(), std::nullopt}, effects_);
  EXPECT_EQ(limit_of(place), wire::kUnlimited);
  EXPECT_EQ(tenant.limits.cores().source, LimitSource::admin) << "not mentioned";

  std::string remark;
  const SavedState saved = *load_state(options_.folder, remark);
  EXPECT_EQ(remark, "");
  start(saved);
  const Tenant& again = join(1, "container:/a", "500", "30");
  EXPECT_EQ(again.limits.memory().source, LimitSource::admin);
  EXPECT_EQ(limit_of(account(1)), wire::kUnlimited);
  EXPECT_EQ(again.limits.cap(), core::kNoCap);
  node_->set_limits(kStart, again.id, {MemoryWord{}, CoresWord{}}, effects_);
  EXPECT_EQ(again.limits.memory().value, (MemoryAmount{500, 0})) << "its own word counts again";
  EXPECT_EQ(again.limits.cap(), 300'000U);
  EXPECT_TRUE(load_state(options_.folder, remark)->tenants.empty());
  join(2, "container:/b", "", "");
  EXPECT_EQ(limit_of(account(2)), 900U) << "the daemon's default";
}

TEST_F(NodeLimitsTest, WhoComesBackHasItsLimitsAgain) {
  start();
  join(1, "container:/a", "500", "");
  join(2, "process:1:2", "500", "");
  leave(1);
  leave(2);
  join(3, "container:/a", "800", "");  // as if it had been raised by hand
  EXPECT_EQ(limit_of(account(3)), 500U);
  join(4, "process:1:2", "800", "");
  EXPECT_EQ(limit_of(account(4)), 800U) << "another process";
}

TEST_F(NodeLimitsTest, CapsReachTheCore) {
  start();
  const Tenant& tenant = join(1, "container:/a", "", "");
  node_->step(kStart, core::Wanted{core::ClientId{1}, kGpu}, effects_);
  EXPECT_TRUE(status_has(R"("cap_percent":null,)"));
  join(2, "container:/a", "", "40");
  EXPECT_TRUE(status_has(R"("cap_percent":40,)")) << "of a process that came later";
  node_->set_limits(kStart, tenant.id, {{}, CoresWord::of(70)}, effects_);
  EXPECT_TRUE(status_has(R"("cap_percent":70,)"));
  node_->set_limits(kStart, tenant.id, {{}, CoresWord::none()}, effects_);
  EXPECT_TRUE(status_has(R"("cap_percent":null,)"));
}

// A program that runs for 100 ms, in a container that may have a tenth of the GPU.
TEST_F(NodeLimitsTest, WhoComesBackOwesWhatItOwed) {
  start();
  join(1, "container:/a", "", "10");
  node_->step(kStart, core::Wanted{core::ClientId{1}, kGpu}, effects_);
  EXPECT_TRUE(status_has(R"("state":"running")"));
  EXPECT_TRUE(status_has(R"("cap_percent":10,"cap_in_force_percent":10,)"));
  const Instant end = kStart + Duration::from_ms(100);
  node_->leave(end, core::ClientId{1}, effects_);
  const auto comes = [&](int client, const std::string& key, Instant now) {
    const core::ClientId id{static_cast<std::uint64_t>(client)};
    Tenant tenant;
    tenant.key = tenant.name = key;
    node_->join(now, id, 100, tenant, {}, effects_);
    node_->step(now, core::Wanted{id, kGpu}, effects_);
    return node_->status(now, {});
  };
  // Its environment says nothing any more: the cap holds all the same.
  std::string status = comes(2, "container:/a", end + Duration::from_ms(10));
  EXPECT_NE(status.find(R"("state":"throttled")"), std::string::npos) << status;
  status = comes(3, "container:/b", end + Duration::from_ms(10));
  EXPECT_NE(status.find(R"("state":"running")"), std::string::npos) << status;
  node_->leave(end + Duration::from_ms(20), core::ClientId{2}, effects_);
  node_->leave(end + Duration::from_ms(20), core::ClientId{3}, effects_);
  status = comes(4, "container:/a", end + Duration::from_s(2));
  EXPECT_NE(status.find(R"("state":"running")"), std::string::npos) << "it is paid " << status;
}

TEST_F(NodeLimitsTest, StatusSaysWhatIsUsed) {
  start();
  const Tenant& tenant = join(1, "container:/a", "500", "");
  node_->step(kStart, core::Wanted{core::ClientId{1}, kGpu}, effects_);
  const auto place = account(1);
  {
    const auto mapping = *os::SharedMapping::create(place.file, 0, sizeof(wire::AccountFile));
    reinterpret_cast<wire::AccountFile*>(mapping.data())->slot[place.slot].used[0] = 123;
  }
  EXPECT_TRUE(status_has(R"("memory_limit_bytes":500,"memory_used_bytes":123,)"))
      << node_->status(kStart, {});
  EXPECT_EQ(tenant.clients.size(), 1U);
}

TEST_F(NodeLimitsTest, WithoutADescriptorAClientGoesOnWithoutAnAccount) {
  start();
  join(1, "container:/a", "500", "");
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  const rlimit none{0, files.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto place = node_->open_account(core::ClientId{1});
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
  EXPECT_FALSE(place);
  EXPECT_TRUE(status_has(R"("value":"500")"));
  EXPECT_EQ(limit_of(account(1)), 500U) << "later there is one";
  leave(1);
}

// Books are at zero when everybody has left, in whatever order a hundred tenants came, were resized
// and went.
class ManyTenantsTest : public NodeLimitsTest {
 protected:
  static constexpr int kTenants = 100;
  static constexpr int kClients = 400;  // one for each tenant, and then of any of them
  static constexpr std::size_t kAtOnce = 50;
  static constexpr std::uint64_t kUsed = 7;  // by each client

  struct Living {
    core::TenantId tenant;
    TenantAccounts::Place place;
  };
  std::uint32_t draw(std::uint32_t below) {
    seed_ = seed_ * 1664525 + 1013904223;
    return (seed_ >> 8U) % below;
  }
  std::map<int, Living>::iterator draw_living() {
    return std::next(living_.begin(), draw(static_cast<std::uint32_t>(living_.size())));
  }
  void come(int client) {
    const auto number = client <= kTenants ? static_cast<std::uint32_t>(client) : draw(kTenants);
    const Tenant& tenant = join(client, "container:/" + std::to_string(number),
                                std::to_string(1 + draw(999)), std::to_string(1 + draw(100)));
    const auto place = account(client);
    EXPECT_LT(place.slot, tenant.clients.size()) << "those of others who left are taken first";
    const auto mapping = *os::SharedMapping::create(place.file, 0, sizeof(wire::AccountFile));
    std::uint64_t& used =
        reinterpret_cast<wire::AccountFile*>(mapping.data())->slot[place.slot].used[0];
    EXPECT_EQ(used, 0U) << "what somebody else had";
    used = kUsed;
    living_[client] = {tenant.id, place};
    node_->step(kStart, core::Wanted{core::ClientId(static_cast<std::uint64_t>(client)), kGpu},
                effects_);
  }
  // Also to less than it uses.
  void resize(const Living& one) {
    const std::uint64_t bytes = 1 + draw(3 * kUsed);
    const bool is_none = draw(4) == 0;
    const MemoryWord word = is_none ? MemoryWord::none() : MemoryWord::of({bytes, 0});
    node_->set_limits(kStart, one.tenant, {word, CoresWord::of(1 + draw(100))}, effects_);
    for (const auto& [client, other] : living_) {
      if (other.tenant != one.tenant) continue;
      EXPECT_EQ(limit_of(other.place), is_none ? wire::kUnlimited : bytes);
    }
  }
  void go(std::map<int, Living>::iterator one) {
    leave(one->first);
    living_.erase(one);
  }
  void expect_books() {
    std::map<core::TenantId, std::uint64_t> used;
    for (const auto& [client, one] : living_) used[one.tenant] += kUsed;
    EXPECT_EQ(node_->accounts().count(), used.size());
    for (const auto& [tenant, bytes] : used) EXPECT_EQ(node_->accounts().used(tenant, kGpu), bytes);
  }
  std::map<int, Living> living_;
  std::uint32_t seed_ = 12345;
};

TEST_F(ManyTenantsTest, LeaveNothingBehind) {
  start();
  const std::ptrdiff_t at_first = open_files();
  for (int client = 1; client <= kClients; ++client) {
    come(client);
    while (draw(2) == 0) resize(draw_living()->second);
    expect_books();
    while (living_.size() > kAtOnce || (living_.size() > 1 && draw(3) == 0)) {
      go(draw_living());
      expect_books();
    }
  }
  while (!living_.empty()) {
    go(draw_living());
    expect_books();
  }
  EXPECT_TRUE(status_has(R"("caps_percent":0,)"));
  EXPECT_TRUE(status_has(R"("tenants":[]})"));
  EXPECT_EQ(open_files(), at_first);
}

}  // namespace
}  // namespace nvs::daemon
