// SPDX-License-Identifier: Apache-2.0
#include "daemon/effects.h"

#include <gtest/gtest.h>

#include "core/policy.h"
#include "daemon/test_client.h"

namespace nvs::daemon {
namespace {

constexpr core::ClientId kClient{9};
constexpr core::GpuId kGpu{3};
constexpr core::GrantId kGrant{77};

class EffectsTest : public ::testing::Test {
 protected:
  EffectsTest() { session_.declare(12, kGpu); }

  void send(const core::Effect& effect) {
    EXPECT_EQ(client_of(effect), kClient);
    EXPECT_EQ(send_effect(effect, session_), Session::Output::flowing);
  }

  UniqueFd daemon_end_;
  TestClient client_{daemon_end_};
  Session session_{kClient, std::move(daemon_end_), Instant{}};
};

TEST_F(EffectsTest, OpenTellsTheTermsUnderTheClientsNumber) {
  const core::WindowTerms terms{.queue_bound = Duration::from_ms(5), .awaited = false};
  send(core::OpenWindow{kClient, kGpu, kGrant, terms});
  const auto open = client_.expect<wire::Open>();
  EXPECT_EQ(open.ordinal, 12U);
  EXPECT_EQ(open.grant, 77U);
  EXPECT_EQ(open.flags, wire::kBounded);
  EXPECT_EQ(open.queue_bound_ns, 5'000'000U);
}

TEST_F(EffectsTest, OpenTellsWhetherAnotherHadTheGpu) {
  send(core::OpenWindow{kClient, kGpu, kGrant, {}, true});
  EXPECT_EQ(client_.expect<wire::Open>().flags, wire::kTookOver);
}

TEST_F(EffectsTest, NewTermsAreAnOpenWithTheSameGrant) {
  send(core::ChangeTerms{kClient, kGpu, kGrant, {.queue_bound = {}, .awaited = true}});
  const auto open = client_.expect<wire::Open>();
  EXPECT_EQ(open.grant, 77U);
  EXPECT_EQ(open.flags, wire::kAwaited);
  EXPECT_EQ(open.queue_bound_ns, 0U);
}

TEST_F(EffectsTest, CloseAndLetInNameTheGrant) {
  send(core::CloseWindow{kClient, kGpu, kGrant});
  const auto close = client_.expect<wire::Close>();
  EXPECT_EQ(close.ordinal, 12U);
  EXPECT_EQ(close.grant, 77U);
  send(core::LetOneIn{kClient, kGpu, kGrant});
  const auto let_in = client_.expect<wire::LetIn>();
  EXPECT_EQ(let_in.ordinal, 12U);
  EXPECT_EQ(let_in.grant, 77U);
}

TEST_F(EffectsTest, AnAllowanceIsToldWithItsNumber) {
  send(core::SetAllowance{.client = kClient, .gpu = kGpu, .number = 5, .bytes = 900});
  const auto alone = client_.expect<wire::Allow>();
  EXPECT_EQ(alone.ordinal, 12U);
  EXPECT_EQ(alone.flags, 0U);
  EXPECT_EQ(alone.number, 5U);
  EXPECT_EQ(alone.bytes, 900U);
  send(core::SetAllowance{.client = kClient, .gpu = kGpu, .number = 6, .bytes = 0, .shared = true});
  const auto shared = client_.expect<wire::Allow>();
  EXPECT_EQ(shared.flags, wire::kShared);
  EXPECT_EQ(shared.number, 6U);
  EXPECT_EQ(shared.bytes, 0U);
}

TEST_F(EffectsTest, GetReadyTellsHowSoon) {
  send(core::GetReady{kClient, kGpu, Duration::from_us(1500)});
  const auto ready = client_.expect<wire::GetReady>();
  EXPECT_EQ(ready.ordinal, 12U);
  EXPECT_EQ(ready.in_ns, 1'500'000U);
}

}  // namespace
}  // namespace nvs::daemon
