// SPDX-License-Identifier: Apache-2.0
#include "daemon/messages.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "daemon/limits.h"
#include "daemon/test_client.h"

namespace nvs::daemon {
namespace {

constexpr Instant kNow = Instant::from_ns(1'000'000'000);

class MessagesTest : public ::testing::Test {
 protected:
  MessagesTest() {
    peer_.uid = 1000;
    Tenant tenant;
    tenant.key = "t";
    tenant_ = node_.join(kNow, session_.id(), 100, tenant, {core::Priority::normal}, effects_).id;
    host_.join(session_.id(), tenant_);
  }

  template <class Message>
  Verdict take(const Message& message, Messages::Teachers teachers = Messages::Teachers::anybody) {
    wire::Packet<Message> packet;
    packet.message = message;
    Messages messages(node_, host_, teachers, self_);
    std::optional<wire::Type> type;
    const Verdict verdict = check_packet(&packet, sizeof packet, type);
    if (verdict || !type) return verdict;
    effects_.clear();
    const Messages::Sender sender{session_, tenant_, peer_, budgets_};
    return messages.take(now_, sender, *type, &packet, sizeof packet, effects_);
  }
  static wire::UseGpu use(std::uint32_t ordinal, std::uint8_t uuid, std::uint32_t flags = 0) {
    wire::UseGpu message;
    message.ordinal = ordinal;
    message.flags = flags;
    message.uuid[0] = uuid;
    return message;
  }
  // Its drain goes on, and another process of its tenant stands at a closed gate.
  wire::Stalled stall() {
    EXPECT_FALSE(take(use(4, 1)));
    EXPECT_FALSE(take(wire::Want{4, 0}));
    const auto grant = static_cast<wire::u64>(only_effect<core::OpenWindow>()->grant);
    Tenant tenant;
    tenant.key = "t";
    node_.join(kNow, kSibling, 101, tenant, {core::Priority::normal}, effects_);
    node_.step(kNow, core::TenantPaused{tenant_}, effects_);
    node_.step(kNow, core::Wanted{kSibling, core::GpuId{0}}, effects_);
    return {4, 0, grant};
  }
  template <class Effect>
  const Effect* only_effect() const {
    return effects_.size() == 1 ? std::get_if<Effect>(&effects_[0]) : nullptr;
  }

  static constexpr core::ClientId kSibling{7};
  // The core hears each of those, at twice the rate that the daemon passes on.
  static constexpr Duration kBetweenStalls = core::kLetInEvery;

  Node node_{Options{}, {}, kNow};
  HostPool host_{{}, nullptr, {}, nullptr};
  Peer self_;
  Peer peer_;
  UniqueFd daemon_end_;
  TestClient client_{daemon_end_};
  Session session_{core::ClientId{1}, std::move(daemon_end_), kNow};
  core::TenantId tenant_{};
  OriginBudgets* budgets_ = nullptr;
  Instant now_ = kNow;
  Effects effects_;
};

TEST_F(MessagesTest, AWantOpensAndADrainThatWaitsIsAWantToo) {
  ASSERT_FALSE(take(use(4, 1)));
  EXPECT_EQ(client_.expect<wire::GpuKnown>().known, 1U);
  ASSERT_FALSE(take(wire::Want{4, 0}));
  const auto* open = only_effect<core::OpenWindow>();
  ASSERT_NE(open, nullptr);
  const core::GrantId grant = open->grant;
  effects_.clear();
  node_.step(kNow, core::TenantPaused{tenant_}, effects_);
  ASSERT_NE(only_effect<core::CloseWindow>(), nullptr);
  ASSERT_FALSE(take(wire::Drained{4, 1, static_cast<wire::u64>(grant)}));
  effects_.clear();
  node_.step(kNow, core::TenantResumed{tenant_}, effects_);
  EXPECT_NE(only_effect<core::OpenWindow>(), nullptr) << "it still wants";
}

TEST_F(MessagesTest, AFaultIsShownAndLoggedOnce) {
  ASSERT_FALSE(take(use(4, 1)));
  wire::Holds holds;
  holds.ordinal = 4;
  holds.flags = wire::kFaulted;
  holds.fixed = 1 << 20;
  ::testing::internal::CaptureStderr();
  ASSERT_FALSE(take(holds));
  EXPECT_NE(node_.status(kNow, {}).find(R"("state":"faulted")"), std::string::npos);
  holds.fixed = 2 << 20;
  ASSERT_FALSE(take(holds));
  const std::string log = ::testing::internal::GetCapturedStderr();
  const std::string words = "has lost its contexts";
  const std::size_t first = log.find(words);
  ASSERT_NE(first, std::string::npos) << log;
  EXPECT_EQ(log.find(words, first + 1), std::string::npos) << log;
  holds = {};
  holds.ordinal = 4;
  ASSERT_FALSE(take(holds));
  EXPECT_NE(node_.status(kNow, {}).find(R"("state":"idle")"), std::string::npos);
}

TEST_F(MessagesTest, WhatStaysOrIsReachedIsToldToTheCore) {
  const wire::Holds holds{.flags = wire::kStays, .resident = 5};
  const core::MemoryHeld held = memory_held(core::ClientId{1}, core::GpuId{0}, holds);
  EXPECT_TRUE(held.stays);
  EXPECT_EQ(held.resident, 5U);
  EXPECT_EQ(held.fixed, 0U);
  EXPECT_FALSE(held.reached);
  const wire::Holds reached{.flags = wire::kReached};
  EXPECT_TRUE(memory_held(core::ClientId{1}, core::GpuId{0}, reached).reached);
  EXPECT_FALSE(memory_held(core::ClientId{1}, core::GpuId{0}, reached).stays);
}

// The next one is then told at once that somebody waits, and not a message later.
TEST_F(MessagesTest, ADrainThatWaitsIsAWantFirst) {
  ASSERT_FALSE(take(use(4, 1)));
  ASSERT_FALSE(take(wire::Want{4, 0}));
  const core::GrantId grant = only_effect<core::OpenWindow>()->grant;
  const core::ClientId other{2};
  Tenant tenant;
  tenant.key = "other";
  node_.join(kNow, other, 101, tenant, {core::Priority::normal}, effects_);
  node_.step(kNow, core::Wanted{other, core::GpuId{0}}, effects_);
  effects_.clear();
  node_.step(kNow + Duration::from_s(1), core::Tick{}, effects_);
  ASSERT_NE(only_effect<core::CloseWindow>(), nullptr);
  ASSERT_FALSE(take(wire::Drained{4, 1, static_cast<wire::u64>(grant)}));
  const auto* open = only_effect<core::OpenWindow>();
  ASSERT_NE(open, nullptr) << effects_.size();
  EXPECT_EQ(open->client, other);
  EXPECT_TRUE(open->terms.awaited);
}

TEST_F(MessagesTest, ADrainTellsHowMuchIsLeft) {
  ASSERT_FALSE(take(use(4, 1)));
  ASSERT_FALSE(take(wire::Want{4, 0}));
  const auto grant = static_cast<wire::u64>(only_effect<core::OpenWindow>()->grant);
  const core::ClientId other{2};
  Tenant tenant;
  tenant.key = "other";
  node_.join(kNow, other, 101, tenant, {core::Priority::normal}, effects_);
  node_.step(kNow, core::Wanted{other, core::GpuId{0}}, effects_);
  node_.step(kNow + Duration::from_s(1), core::Tick{}, effects_);
  ASSERT_FALSE(take(wire::Draining{4, 0, grant, 3'000'000}));
  const auto* ready = only_effect<core::GetReady>();
  ASSERT_NE(ready, nullptr);
  EXPECT_EQ(ready->client, other);
  EXPECT_EQ(ready->in, Duration::from_us(3000));
  EXPECT_TRUE(take(wire::Draining{5, 0, grant, 0})) << "of a GPU that it has not named";
}

TEST_F(MessagesTest, WhatIsCalledStalledTooOftenLetsNobodyIn) {
  const wire::Stalled stalled = stall();
  int let_in = 0;
  for (; now_ < kNow + Duration::from_s(1); now_ = now_ + kBetweenStalls) {
    ASSERT_FALSE(take(stalled)) << "it is no fault";
    if (effects_.empty()) continue;
    const auto* one = only_effect<core::LetOneIn>();
    ASSERT_NE(one, nullptr);
    EXPECT_EQ(one->client, kSibling);
    ++let_in;
  }
  EXPECT_GE(let_in, kStallsPerSecond);
  EXPECT_LE(let_in, kStallsPerSecond + kStallsPerSecond / 4);
}

TEST_F(MessagesTest, WhatAnOriginHasUsedUpLetsNobodyIn) {
  OriginBudgets budgets{.let_ins = SharedBudget(2, Duration::from_s(1))};
  budgets_ = &budgets;
  const wire::Stalled stalled = stall();
  ASSERT_FALSE(take(stalled));
  EXPECT_NE(only_effect<core::LetOneIn>(), nullptr) << "it has two, which is what this costs";
  now_ = now_ + kBetweenStalls;
  ASSERT_FALSE(take(stalled));
  EXPECT_NE(only_effect<core::LetOneIn>(), nullptr) << "and may owe the last";
  now_ = now_ + kBetweenStalls;
  ASSERT_FALSE(take(stalled));
  EXPECT_TRUE(effects_.empty());
}

TEST_F(MessagesTest, WordsOfMemoryCostMoreWhereThereAreMany) {
  OriginBudgets budgets{.messages = SharedBudget(1, Duration::from_s(1))};
  budgets_ = &budgets;
  ASSERT_FALSE(take(use(4, 1)));
  const wire::Holds holds{.ordinal = 4, .resident = 5};
  ASSERT_FALSE(take(holds));
  EXPECT_TRUE(budgets.messages.is_full(now_)) << "it is alone";
  for (std::uint32_t i = 0; i < 2 * kTenantsPerMessage; ++i) {
    const core::ClientId client{100 + i};
    Tenant tenant;
    tenant.key = std::to_string(i);
    node_.join(kNow, client, 101, tenant, {core::Priority::normal}, effects_);
    node_.step(kNow, core::Wanted{client, core::GpuId{0}}, effects_);
  }
  ASSERT_FALSE(take(holds));
  EXPECT_FALSE(budgets.messages.is_open(now_)) << "two, and there was one";
}

TEST_F(MessagesTest, AnOpenGateIsAdopted) {
  ASSERT_FALSE(take(use(0, 1, wire::kGateOpen)));
  EXPECT_NE(only_effect<core::OpenWindow>(), nullptr);
  ASSERT_FALSE(take(use(0, 1, wire::kGateOpen)));
  EXPECT_TRUE(effects_.empty()) << "said twice";
}

TEST_F(MessagesTest, GpusAreLearntFromWhoMayTeach) {
  ASSERT_FALSE(take(use(0, 1), Messages::Teachers::administrators));
  EXPECT_EQ(client_.expect<wire::GpuKnown>().known, 0U);
  EXPECT_TRUE(node_.gpus().entries().empty());
  peer_.uid = 0;
  ASSERT_FALSE(take(use(1, 2), Messages::Teachers::administrators));
  EXPECT_EQ(client_.expect<wire::GpuKnown>().known, 1U);
  EXPECT_EQ(node_.gpus().entries().size(), 1U);
}

TEST_F(MessagesTest, OfGpusThatAreNotManagedNothingIsHeard) {
  ASSERT_FALSE(take(use(0, 1), Messages::Teachers::administrators));
  EXPECT_FALSE(take(wire::Want{0, 0}));
  EXPECT_FALSE(take(wire::Usage{0, 0, 5}));
  EXPECT_TRUE(effects_.empty());
  EXPECT_TRUE(node_.clients().client(session_.id()).memory_bytes.empty());
}

TEST_F(MessagesTest, UsageIsKeptByGpu) {
  ASSERT_FALSE(take(use(3, 1)));
  ASSERT_FALSE(take(wire::Usage{3, 0, 500}));
  ASSERT_FALSE(take(wire::Usage{3, 0, 700}));
  const auto& memory = node_.clients().client(session_.id()).memory_bytes;
  EXPECT_EQ(memory, (std::map<core::GpuId, std::uint64_t>{{core::GpuId{0}, 700}}));
}

constexpr wire::Holds kHolds{.ordinal = 3,
                             .flags = wire::kShort,
                             .number = 7,
                             .resident = 10,
                             .away = 20,
                             .fixed = 30,
                             .asked = 40,
                             .clean = 5,
                             .host = 60,
                             .copied_out = 70,
                             .copied_in = 80};

TEST_F(MessagesTest, WhatAClientHoldsReachesTheCoreAndTheBooks) {
  const core::MemoryHeld event = memory_held(session_.id(), core::GpuId{2}, kHolds);
  EXPECT_EQ(event.client, session_.id());
  EXPECT_EQ(event.gpu, core::GpuId{2});
  EXPECT_EQ(event.number, 7U);
  EXPECT_EQ(event.resident, 10U);
  EXPECT_EQ(event.away, 20U);
  EXPECT_EQ(event.fixed, 30U);
  EXPECT_EQ(event.asked, 40U);
  EXPECT_TRUE(event.is_short);
  EXPECT_FALSE(memory_held(session_.id(), core::GpuId{2}, {}).is_short);

  ASSERT_FALSE(take(use(3, 1)));
  ASSERT_FALSE(take(kHolds));
  EXPECT_EQ(node_.memory().held(session_.id(), core::GpuId{0}), (HeldMemory{.resident = 10,
                                                                            .away = 20,
                                                                            .fixed = 30,
                                                                            .asked = 40,
                                                                            .clean = 5,
                                                                            .host = 60,
                                                                            .copied_out = 70,
                                                                            .copied_in = 80}));
  EXPECT_NE(
      node_.trace(kNow, Duration::from_s(1))
          .find(R"("resident_bytes":10,"swapped_bytes":20,"clean_bytes":5,"fixed_bytes":30})"),
      std::string::npos)
      << node_.trace(kNow, Duration::from_s(1));
  EXPECT_TRUE(take(wire::Holds{.ordinal = 4})) << "of a GPU that it has not named";
}

TEST_F(MessagesTest, WhatIsHeldOfGpusThatAreNotManagedIsNobodysBusiness) {
  ASSERT_FALSE(take(use(3, 1), Messages::Teachers::administrators));
  EXPECT_FALSE(take(kHolds));
  EXPECT_TRUE(effects_.empty());
}

TEST_F(MessagesTest, PingIsAnswered) {
  ASSERT_FALSE(take(wire::Ping{42}));
  EXPECT_EQ(client_.expect<wire::Pong>().number, 42U);
}

TEST_F(MessagesTest, WithoutAPoolHostMemoryIsDenied) {
  ASSERT_FALSE(take(wire::NeedHost{7, 100}));
  const auto answers = host_.take_answers();
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].client, session_.id());
  const auto denied = std::get<wire::HostDenied>(answers[0].message);
  EXPECT_EQ(denied.request, 7U);
  EXPECT_EQ(denied.bytes, 100U);
  EXPECT_EQ(denied.reason, static_cast<wire::u32>(wire::HostDenial::no_pool));
}

TEST_F(MessagesTest, FaultsAreFound) {
  ASSERT_FALSE(take(use(0, 1)));
  for (const Verdict& verdict :
       {take(wire::Hello{}), take(wire::Want{1, 0}), take(wire::Idle{2, 0, 0}), take(use(1, 1)),
        take(use(0, 2)), take(use(1, 0)), take(wire::Drained{0, 7, 0}), take(wire::Welcome{}),
        take(wire::NeedHost{1, 0}), take(wire::HostDone{1})}) {
    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->reason, wire::GoodbyeReason::garbage);
  }
  EXPECT_TRUE(effects_.empty());
}

TEST_F(MessagesTest, AMessageOfANewerVersionIsSkipped) {
  wire::Packet<wire::Ping> packet;
  packet.header.type = 63;
  std::optional<wire::Type> type;
  EXPECT_TRUE(check_packet(&packet, sizeof packet, type)) << "of ours it is garbage";
  packet.header.version = wire::kVersion + 1;
  EXPECT_FALSE(check_packet(&packet, sizeof packet, type));
  EXPECT_FALSE(type);
  packet.header.version = wire::kVersion + 2;
  EXPECT_EQ(check_packet(&packet, sizeof packet, type)->reason, wire::GoodbyeReason::version);
}

}  // namespace
}  // namespace nvs::daemon
