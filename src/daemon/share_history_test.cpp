// SPDX-License-Identifier: Apache-2.0
#include "daemon/share_history.h"

#include <gtest/gtest.h>

namespace nvs::daemon {
namespace {

constexpr Instant kBegin = Instant::from_ns(7'000'000'000);
constexpr core::TenantId kSeenTenant{3};
constexpr core::GpuId kSeenGpu{1};

core::NodeView seen_with(Duration had) {
  core::NodeView view;
  core::TenantView& tenant = view.tenants.emplace_back();
  tenant.tenant = kSeenTenant;
  tenant.gpus.push_back({});
  tenant.gpus[0].gpu = kSeenGpu;
  tenant.gpus[0].had = had;
  return view;
}

TEST(ShareHistory, SharesOfTheLastSecondsAndOfTheLastMinute) {
  ShareHistory history;
  EXPECT_FALSE(history.next_deadline());
  history.begin(kBegin);
  EXPECT_EQ(history.next_deadline(), kBegin);
  Duration had;
  Instant now = kBegin;
  const auto share = [&](int seconds) {
    return history.share(kSeenTenant, kSeenGpu, now, had, Duration::from_s(seconds));
  };
  EXPECT_FALSE(share(10)) << "never seen";
  // A minute and more at 20 %, then 10 s at 80 %.
  for (int second = 0; second < 100; ++second) {
    history.sample(now, seen_with(had));
    EXPECT_EQ(history.next_deadline(), now + kSharePoll);
    if (second == 0) {
      EXPECT_FALSE(share(10)) << "just now";
    } else if (second == 5) {
      EXPECT_DOUBLE_EQ(share(10).value(), 0.2);
    }
    now += Duration::from_s(1);
    had += Duration::from_ms(second < 90 ? 200 : 800);
  }
  EXPECT_DOUBLE_EQ(share(10).value(), 0.8);
  EXPECT_DOUBLE_EQ(share(60).value(), (50 * 0.2 + 10 * 0.8) / 60);
  now += Duration::from_ms(500);  // between two samples: the oldest ones reach back far enough
  EXPECT_DOUBLE_EQ(share(10).value(), 0.8 * 10 / 10.5);
  had -= Duration::from_s(20);
  EXPECT_EQ(share(10), 0.0) << "it had less than was known";
  EXPECT_FALSE(history.share(kSeenTenant, core::GpuId{0}, now, had, Duration::from_s(10)));
}

// Nobody asks one that is alone whether it has work. The GPU knows.
TEST(ShareHistory, OneThatIsAloneIsAsBusyAsTheGpuSays) {
  ShareHistory history;
  Duration had;
  Instant now = kBegin;
  core::Share cap = core::kNoCap;
  const auto pass = [&](int seconds, std::optional<double> busy) {
    for (int i = 0; i < seconds; ++i) {
      now += Duration::from_s(1);
      had += Duration::from_s(1);
      history.note_busy(kSeenGpu, busy);
      core::NodeView view = seen_with(had);
      view.tenants[0].gpus[0].cap = cap;
      history.sample(now, view);
    }
  };
  const auto share = [&] {
    return history.share(kSeenTenant, kSeenGpu, now, had, Duration::from_s(10)).value();
  };
  pass(12, 0.1);
  EXPECT_NEAR(share(), 0.1, 1e-6);
  pass(10, std::nullopt);
  EXPECT_NEAR(share(), 1, 1e-6) << "a GPU that does not say it";
  cap = core::kWholeGpu / 2;
  pass(10, 0.1);
  EXPECT_NEAR(share(), 1, 1e-6) << "whoever has a cap tells of its pauses";
}

TEST(ShareHistory, WhoHasACapAndNoWorkLeavesTheOtherAlone) {
  ShareHistory history;
  Instant now = kBegin;
  core::NodeView view = seen_with({});
  view.tenants.push_back(view.tenants[0]);
  view.tenants[1].tenant = core::TenantId{4};
  view.tenants[1].gpus[0].cap = core::kWholeGpu / 2;
  core::TenantOnGpu& use = view.tenants[0].gpus[0];
  for (int second = 0; second < 12; ++second) {
    now += Duration::from_s(1);
    use.had += Duration::from_s(1);
    history.note_busy(kSeenGpu, 0.1);
    history.sample(now, view);
  }
  const auto share = history.share(kSeenTenant, kSeenGpu, now, use.had, Duration::from_s(10));
  EXPECT_NEAR(share.value(), 0.1, 1e-6);
}

// 0.6 s of each second at once, and one of them alone for the rest: the bills say 1 and 0.6.
TEST(ShareHistory, ThoseThatRunAtOnceHaveTheirPartOfTheTime) {
  ShareHistory history;
  Instant now = kBegin;
  core::NodeView view = seen_with({});
  view.tenants.push_back(view.tenants[0]);
  view.tenants[1].tenant = core::TenantId{4};
  const auto pass = [&](std::size_t who, int used_ms, int had_ms) {
    view.tenants[who].gpus[0].used += Duration::from_ms(used_ms);
    view.tenants[who].gpus[0].had += Duration::from_ms(had_ms);
  };
  const auto pass_both = [&](int had_ms, int other_had_ms) {
    for (int second = 0; second < 12; ++second) {
      now += Duration::from_s(1);
      pass(0, 1000, had_ms);
      pass(1, 600, other_had_ms);
      history.sample(now, view);
    }
  };
  const auto share = [&](std::size_t who) {
    const core::TenantView& seen = view.tenants[who];
    return history.share(seen.tenant, kSeenGpu, now, seen.gpus[0].had, Duration::from_s(10))
        .value();
  };
  pass_both(700, 300);
  EXPECT_NEAR(share(0), 0.7, 1e-6);
  EXPECT_NEAR(share(1), 0.3, 1e-6);
  pass_both(1000, 600);
  EXPECT_NEAR(share(0), 1 / 1.6, 1e-6) << "one ran beside the other's windows";
  EXPECT_NEAR(share(1), 0.6 / 1.6, 1e-6);
}

TEST(ShareHistory, WhoIsGoneIsForgotten) {
  ShareHistory history;
  history.sample(kBegin, seen_with({}));
  EXPECT_EQ(history.size(), 1U);
  history.sample(kBegin + kSharePoll, {});
  EXPECT_EQ(history.size(), 0U);
  EXPECT_FALSE(history.next_deadline());
}

}  // namespace
}  // namespace nvs::daemon
