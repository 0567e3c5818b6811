// SPDX-License-Identifier: Apache-2.0
#include "daemon/web.h"

#include <gtest/gtest.h>

#include "daemon/limits.h"
#include "daemon/metrics.h"

namespace nvs::daemon {
namespace {

TEST(Web, MakesMetricsOnceASecondHoweverManyAsk) {
  Instant now = Instant::from_ns(1);
  int made = 0;
  Web web([&] { return now; }, [&] { return std::to_string(++made); });
  const HttpPage first = web.page("/metrics");
  EXPECT_EQ(first.type, kMetricsType);
  EXPECT_EQ(*first.body, "1");
  now += kMetricsAge - Duration::from_ns(1);
  EXPECT_EQ(*web.page("/metrics").body, "1");
  now += Duration::from_ns(1);
  EXPECT_EQ(*web.page("/metrics").body, "2");
  EXPECT_EQ(*first.body, "1") << "as long as it is being sent";
}

TEST(Web, HasAPageForProbesAndNoOthers) {
  Web web([] { return Instant{}; }, [] { return ""; });
  EXPECT_EQ(*web.page("/healthz").body, "ok\n");
  for (const char* path : {"/", "", "/metrics/", "/metrics2", "/../metrics", "/healthz/x"}) {
    EXPECT_FALSE(web.page(path).body) << path;
  }
}

}  // namespace
}  // namespace nvs::daemon
