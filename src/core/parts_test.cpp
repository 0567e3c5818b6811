// SPDX-License-Identifier: Apache-2.0
// The small parts by themselves: lines, deadlines, presence, lengths, books.
#include <algorithm>
#include <optional>

#include <gtest/gtest.h>

#include "core/attendance.h"
#include "core/books.h"
#include "core/deadlines.h"
#include "core/gpu.h"
#include "core/presence.h"
#include "core/quota.h"
#include "core/residency.h"
#include "core/waiting_line.h"

namespace nvs::core {
namespace {

Instant at_ms(int ms) { return Instant{} + Duration::from_ms(ms); }

TEST(Attendance, AMomentAwayNowAndThenIsSteadyAndASleepIsNot) {
  Attendance attendance;
  attendance.add(at_ms(1000), false);
  attendance.add(at_ms(1499), true);
  EXPECT_FALSE(attendance.is_steady());
  attendance.add(at_ms(1500), true);
  EXPECT_TRUE(attendance.is_steady());
  int now = 1500;
  for (int i = 0; i < 100; ++i) {
    attendance.add(at_ms(now += 97), true);
    attendance.add(at_ms(now += 3), false);
  }
  EXPECT_TRUE(attendance.is_steady()) << "3 ms in 100";
  attendance.add(at_ms(now += 30), false);
  EXPECT_FALSE(attendance.is_steady());
  for (int i = 0; i < 100; ++i) {
    attendance.add(at_ms(now += 90), true);
    attendance.add(at_ms(now += 10), false);
  }
  EXPECT_FALSE(attendance.is_steady()) << "10 ms in 100";
}

TEST(WaitingLine, LeastServedFirstThenWhoCameFirstThenById) {
  Tenant tenants[4];
  Seat seats[4];
  const Service service[] = {20, 10, 10, 10};
  const int since[] = {0, 7, 5, 5};
  WaitingLine line;
  for (int i = 0; i < 4; ++i) {
    tenants[i].id = TenantId{static_cast<std::uint64_t>(9 - i)};
    seats[i].tenant = &tenants[i];
    seats[i].service = service[i];
    seats[i].waiting_since = at_ms(since[i]);
    line.add(seats[i]);
  }
  for (int expected : {3, 2, 1, 0}) {
    const LineKey* first = line.first(Priority::normal);
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first->seat, &seats[expected]);
    line.remove(seats[expected]);
  }
  EXPECT_TRUE(line.empty());
  EXPECT_EQ(line.first(Priority::normal), nullptr);
}

TEST(WaitingLine, GangsStandApartButInTheSameOrder) {
  Tenant tenants[2];
  Seat seats[2];
  WaitingLine line;
  for (int i = 0; i < 2; ++i) {
    tenants[i].id = TenantId{static_cast<std::uint64_t>(i)};
    seats[i].tenant = &tenants[i];
    seats[i].service = 10 - i;
    line.add(seats[i]);
  }
  line.move_to_gangs(seats[1]);
  EXPECT_EQ(line.first(Priority::normal)->seat, &seats[1]);
  EXPECT_EQ(line.singles(Priority::normal).size(), 1U);
  EXPECT_EQ(line.gangs(Priority::normal).size(), 1U);
  EXPECT_EQ(line.size_of(Priority::normal), 2U);
  EXPECT_EQ(line.size_of(Priority::high), 0U);
}

TEST(Deadlines, ComeInOrderAndCanBeMoved) {
  Deadlines deadlines;
  std::optional<Instant> gpu;
  std::optional<Instant> gate;
  deadlines.move(gpu, at_ms(20), GpuId{0});
  deadlines.move(gate, at_ms(10), GpuId{0}, ClientId{7});
  EXPECT_EQ(deadlines.next(), at_ms(10));
  deadlines.move(gate, at_ms(30), GpuId{0}, ClientId{7});
  EXPECT_EQ(deadlines.next(), at_ms(20));
  EXPECT_EQ(deadlines.take_due(at_ms(19)), std::nullopt);
  EXPECT_EQ(deadlines.take_due(at_ms(20))->of, Deadline::Of::gpu);
  deadlines.move(gate, std::nullopt, GpuId{0}, ClientId{7});
  EXPECT_EQ(deadlines.next(), std::nullopt);
  EXPECT_EQ(gate, std::nullopt);
}

TEST(Presence, LastsForAWhileAfterTheLastOneLeft) {
  Presence presence;
  EXPECT_EQ(presence.until(at_ms(0)), std::nullopt);
  presence.left(TenantId{1}, at_ms(5));
  presence.left(TenantId{2}, at_ms(9));
  EXPECT_EQ(presence.until(at_ms(10)), at_ms(9) + kPresence);
  presence.forget(TenantId{2}, at_ms(9));
  EXPECT_EQ(presence.until(at_ms(10)), at_ms(5) + kPresence);
  EXPECT_EQ(presence.until(at_ms(5) + kPresence), std::nullopt);
  presence.expect(at_ms(7));
  EXPECT_EQ(presence.until(at_ms(10)), at_ms(7) + kPresence);
  presence.left(TenantId{3}, at_ms(8));
  EXPECT_EQ(presence.until(at_ms(10)), at_ms(8) + kPresence);
}

TEST(Residency, TurnsAreForSerialModeOnly) {
  GpuPolicy policy;
  EXPECT_EQ(stay_of(policy), Stay::shared);
  EXPECT_EQ(span_of(policy), policy.window);
  policy.mode = Mode::serial;
  EXPECT_EQ(stay_of(policy), Stay::turn);
  EXPECT_EQ(span_of(policy), kSerialTurn);
  policy.turn = Duration::from_s(5);
  EXPECT_EQ(span_of(policy), Duration::from_s(5));
}

TEST(Residency, LengthsAreKeptWithinLimits) {
  const GpuPolicy least = within_limits({Mode::serial, Duration{}, Duration::from_ms(1)});
  EXPECT_EQ(least.window, kWindowMin);
  EXPECT_EQ(least.turn, kTurnMin);
  const GpuPolicy most =
      within_limits({Mode::serial, Duration::from_s(9), Duration::from_s(100'000)});
  EXPECT_EQ(most.window, kWindowMax);
  EXPECT_EQ(most.turn, kTurnMax);
  EXPECT_EQ(within_limits({}).turn, std::nullopt);
  for (const Duration period : {Duration{}, Duration::from_s(100'000)}) {
    const GpuPolicy policy = within_limits({Mode::serial, {}, {}, period});
    EXPECT_EQ(policy.quota_period, std::clamp(period, kQuotaPeriodMin, kQuotaPeriodMax));
  }
}

TEST(Books, ATenantComesWithItsFirstClientAndGoesWithItsLast) {
  Books books;
  books.join(ClientId{5}, TenantId{1}, Priority::high, 50);
  books.join(ClientId{3}, TenantId{1}, Priority::low, 70);
  books.join(ClientId{3}, TenantId{2}, Priority::low, 70);
  EXPECT_EQ(books.tenant(TenantId{2}), nullptr) << "the client was there already";
  const Tenant* tenant = books.tenant(TenantId{1});
  ASSERT_NE(tenant, nullptr);
  EXPECT_EQ(tenant->priority, Priority::high) << "later clients do not change it";
  EXPECT_EQ(tenant->weight, 50U);
  ASSERT_EQ(tenant->clients.size(), 2U);
  EXPECT_EQ(tenant->clients[0]->id, ClientId{3});
  books.leave(*books.client(ClientId{3}));
  EXPECT_NE(books.tenant(TenantId{1}), nullptr);
  books.leave(*books.client(ClientId{5}));
  EXPECT_EQ(books.tenant(TenantId{1}), nullptr);
}

TEST(Books, GatesAndSeatsAreMadeOnce) {
  Books books;
  Gpu gpu;
  gpu.id = GpuId{2};
  books.join(ClientId{1}, TenantId{1}, Priority::normal, 100);
  Client& client = *books.client(ClientId{1});
  EXPECT_EQ(Books::gate(client, GpuId{2}), nullptr);
  Gate& gate = Books::need_gate(client, gpu);
  EXPECT_EQ(&Books::need_gate(client, gpu), &gate);
  EXPECT_EQ(Books::gate(client, GpuId{2}), &gate);
  EXPECT_EQ(gate.seat->closed, 1U);
  EXPECT_EQ(Books::gate(client, GpuId{0}), nullptr);
}

}  // namespace
}  // namespace nvs::core
