// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/account.h"

#include <chrono>
#include <thread>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "interposer/memory/fake_account.h"

namespace nvs::interposer::account {
namespace {

using memory::Allocation;
using memory::books;
using memory::Books;
using memory::MemoryKind;
using memory::Space;

constexpr std::uint64_t kLimit = 1000;
constexpr memory::Owner kContext{memory::OwnerType::context, 0x1000};

Allocation piece(std::uint64_t id, std::uint64_t bytes, memory::Reserved reserved = {}) {
  return {
      .kind = MemoryKind::plain, .id = id, .bytes = bytes, .owner = kContext, .reserved = reserved};
}

class AccountTest : public testing::Test {
 protected:
  void SetUp() override {
    begin_without_account();
    books().context_created(kContext.value, 0);
  }
  void TearDown() override { begin_without_account(); }

  // As after Welcome and GpuKnown.
  static void join(const FakeAccount& account, std::uint32_t slot = 0) {
    account.lend(slot);
    gpu_numbered(0, 0);
  }
};

TEST_F(AccountTest, WithoutOneThereAreNoLimits) {
  Limit limit;
  EXPECT_FALSE(is_any());
  EXPECT_EQ(reserve(0, kLimit), Verdict::unlimited);
  EXPECT_FALSE(find_limit(0, limit));
  EXPECT_EQ(books().charged(0), 0U);
}

TEST_F(AccountTest, WithoutALimitNothingIsReserved) {
  const FakeAccount account;
  join(account);
  EXPECT_EQ(reserve(0, kLimit), Verdict::unlimited);
  EXPECT_EQ(account.used(), 0U);
  books().allocated(piece(1, 70));
  EXPECT_EQ(account.used(), 70U);
  books().take(Space::address, 1);
  EXPECT_EQ(account.used(), 0U);
}

TEST_F(AccountTest, TheLimitHoldsToTheByte) {
  const FakeAccount account(kLimit);
  join(account);
  EXPECT_EQ(reserve(0, kLimit + 1), Verdict::over);
  EXPECT_EQ(reserve(0, ~std::uint64_t{0}), Verdict::over);
  EXPECT_EQ(account.used(), 0U);
  EXPECT_EQ(reserve(0, kLimit), Verdict::reserved);
  EXPECT_EQ(reserve(0, 1), Verdict::over);
  EXPECT_EQ(reserve(0, 0), Verdict::unlimited);
  EXPECT_EQ(account.used(), kLimit);
  books().cancel({0, 1});
  EXPECT_EQ(reserve(0, 1), Verdict::reserved);
  EXPECT_EQ(account.lock(), 0U);
}

TEST_F(AccountTest, WhatOtherProcessesHaveCounts) {
  FakeAccount account(kLimit);
  join(account);
  account.set_used(600, 1);
  EXPECT_EQ(reserve(0, 401), Verdict::over);
  EXPECT_EQ(reserve(0, 400), Verdict::reserved);
  account.set_used(599, 1);
  EXPECT_EQ(reserve(0, 1), Verdict::reserved);
  account.set_used(~std::uint64_t{0}, 1);  // a stranger's word, and no reason to overflow
  EXPECT_EQ(reserve(0, 1), Verdict::over);
  account.set_used(0, 1);
  account.set_used(kLimit, 2);  // nobody's slot
  EXPECT_EQ(reserve(0, 1), Verdict::reserved);
}

TEST_F(AccountTest, ALimitThatChangesCountsAtOnce) {
  FakeAccount account(kLimit);
  join(account);
  Limit limit;
  EXPECT_EQ(reserve(0, kLimit), Verdict::reserved);
  account.set_limit(kLimit + 5);
  ASSERT_TRUE(find_limit(0, limit));
  EXPECT_EQ(limit.bytes, kLimit + 5);
  EXPECT_EQ(limit.left, 5U);
  EXPECT_EQ(reserve(0, 5), Verdict::reserved);
  account.set_limit(10);  // below what there is
  ASSERT_TRUE(find_limit(0, limit));
  EXPECT_EQ(limit.left, 0U);
  EXPECT_EQ(reserve(0, 1), Verdict::over);
  EXPECT_EQ(account.used(), kLimit + 5);
  account.set_limit(wire::kUnlimited);
  EXPECT_EQ(reserve(0, kLimit), Verdict::unlimited);
}

TEST_F(AccountTest, WhatIsReservedBecomesWhatIsCounted) {
  const FakeAccount account(kLimit);
  join(account);
  reserve(0, 400);
  books().allocated(piece(1, 400, {0, 400}));
  EXPECT_EQ(account.used(), 400U);
  // Less is charged than there is where rows have a pitch.
  Allocation pitched = piece(2, 512, {0, 300});
  pitched.asked = 300;
  reserve(0, 300);
  books().allocated(pitched);
  EXPECT_EQ(account.used(), 700U);
  const memory::Taken taken = books().take(Space::address, 2);
  EXPECT_EQ(account.used(), 400U);
  books().put_back(taken);
  EXPECT_EQ(account.used(), 700U);
  memory::OwnerRow last;
  books().ended(kContext, books().now(), last);
  EXPECT_EQ(account.used(), 0U);
}

TEST_F(AccountTest, BorrowedMemoryAndThatOfTheHostDoNotCount) {
  const FakeAccount account(kLimit);
  join(account);
  Allocation one = piece(1, 100);
  for (const MemoryKind kind : {MemoryKind::ipc, MemoryKind::external}) {
    one.kind = kind;
    one.id += 1;
    books().allocated(one);
  }
  one.kind = MemoryKind::vmm;
  one.space = Space::vmm_handle;
  one.owner = memory::device_owner(memory::kHostDevice);
  books().allocated(one, memory::kHostDevice);
  EXPECT_EQ(account.used(), 0U);
  one.owner = memory::device_owner(0);
  books().allocated(one, 0);
  EXPECT_EQ(account.used(), 100U);
}

TEST_F(AccountTest, WhatTakesTheSamePlaceIsNeverGone) {
  const FakeAccount account(kLimit);
  join(account);
  books().allocated(piece(1, 100));
  std::atomic<bool> ends{false};
  std::uint64_t least = kLimit;
  std::uint64_t most = 0;
  std::thread watcher([&] {
    do {
      const std::uint64_t now = account.used();
      least = now < least ? now : least;
      most = now > most ? now : most;
    } while (!ends.load());
  });
  for (int i = 0; i < 50000; ++i) books().allocated(piece(1, 100));
  ends.store(true);
  watcher.join();
  EXPECT_EQ(least, 100U);
  EXPECT_EQ(most, 100U);
}

TEST_F(AccountTest, AFileThatComesLateHasAllFromTheStart) {
  books().allocated(piece(1, 800));
  gpu_numbered(0, 3);
  const FakeAccount account(kLimit);
  account.lend(1);
  EXPECT_EQ(account.used(1, 3), 800U);
  EXPECT_EQ(reserve(0, 201), Verdict::over);
  EXPECT_EQ(reserve(0, 200), Verdict::reserved);
}

TEST_F(AccountTest, ANewDaemonsFileTakesThePlaceOfTheLast) {
  FakeAccount first(kLimit);
  FakeAccount second(2 * kLimit);
  join(first);
  books().allocated(piece(1, 800));
  second.lend(1);
  EXPECT_EQ(second.used(1), 800U);  // before it is said which number the GPU has
  EXPECT_EQ(first.used(0), 800U);   // to those who have not come along yet
  gpu_numbered(0, 0);
  EXPECT_EQ(second.used(1), 800U);
  EXPECT_EQ(reserve(0, 1201), Verdict::over);
  EXPECT_EQ(reserve(0, 1200), Verdict::reserved);
  EXPECT_EQ(second.used(1), 2000U);
  EXPECT_EQ(first.used(0), 800U);
  EXPECT_EQ(second.lock(), 0U);
  // And it may number GPUs in another way.
  gpu_numbered(0, 7);
  EXPECT_EQ(second.used(1), 0U);
  EXPECT_EQ(second.used(1, 7), 2000U);
  gpu_unknown(0);
  EXPECT_EQ(second.used(1, 7), 0U);
  EXPECT_EQ(reserve(0, kLimit), Verdict::unlimited);
}

TEST_F(AccountTest, GpusMayChangeTheirNumbersWithOneAnother) {
  const FakeAccount account(kLimit);
  join(account);
  gpu_numbered(1, 1);
  constexpr memory::Owner kOther{memory::OwnerType::context, 0x2000};
  books().context_created(kOther.value, 1);
  books().allocated(piece(1, 800));
  Allocation other = piece(2, 30);
  other.owner = kOther;
  books().allocated(other);
  gpu_numbered(0, 1);
  other.id = 3;
  books().allocated(other);  // while both are kept there
  gpu_numbered(1, 0);
  EXPECT_EQ(account.used(0, 0), 60U);
  EXPECT_EQ(account.used(0, 1), 800U);
  // The same where one of two in a place is not managed any more.
  gpu_numbered(1, 1);
  gpu_unknown(1);
  EXPECT_EQ(account.used(0, 0), 0U);
  EXPECT_EQ(account.used(0, 1), 800U);
}

TEST_F(AccountTest, ADaemonWithoutAccountsHasNoLimitsAndNoNumbers) {
  const FakeAccount account(kLimit);
  join(account);
  books().allocated(piece(1, 800));
  daemon_has_none();
  gpu_numbered(0, 0);  // what an old daemon has there is nothing
  EXPECT_EQ(reserve(0, 2 * kLimit), Verdict::unlimited);
  books().allocated(piece(2, 100));
  EXPECT_EQ(account.used(), 800U) << "to those who are still there it is the latest word";
  const FakeAccount next(kLimit);
  join(next);
  EXPECT_EQ(next.used(), 900U);
  EXPECT_EQ(reserve(0, 101), Verdict::over);
}

// For one who comes while files change: it looks again, for a tenth of a second. A machine that
// stands still in the middle of a change proves nothing.
Verdict reserve_meanwhile(std::uint64_t bytes) {
  using Clock = std::chrono::steady_clock;
  for (;;) {
    const auto start = Clock::now();
    const Verdict verdict = reserve(0, bytes);
    const bool may_be_late = Clock::now() - start >= std::chrono::milliseconds(100);
    if (verdict != Verdict::unlimited || !may_be_late) return verdict;
  }
}

// While files change, somebody allocates all the time.
TEST_F(AccountTest, NothingIsLostWhileFilesChange) {
  FakeAccount accounts[2] = {FakeAccount(kLimit), FakeAccount(kLimit)};
  join(accounts[0]);
  books().allocated(piece(1, 500));
  std::atomic<bool> ends{false};
  std::thread worker([&] {
    for (std::uint64_t id = 2; !ends.load(); ++id) {
      ASSERT_EQ(reserve_meanwhile(501), Verdict::over);
      ASSERT_EQ(reserve_meanwhile(500), Verdict::reserved);
      books().allocated(piece(id, 500, {0, 500}));
      books().take(Space::address, id);
    }
  });
  for (int i = 0; i < 500; ++i) {
    const int next = (i + 1) % 2;
    accounts[next].set_used(0, 0);
    accounts[next].lend();
    EXPECT_GE(accounts[next].used(), 500U);
  }
  ends.store(true);
  worker.join();
  EXPECT_EQ(accounts[0].used(), 500U);
}

TEST_F(AccountTest, FilesThatMakeNoSenseAreAsIfNoneHadCome) {
  const FakeAccount account(kLimit);
  file_came(::dup(account.fd()), wire::kAccountSlots, sizeof(wire::AccountFile));
  file_came(::dup(account.fd()), 0, 8);
  const int small = ::memfd_create("small", MFD_CLOEXEC);
  file_came(small, 0, sizeof(wire::AccountFile));
  file_came(::open("/dev/null", O_RDONLY), 0, sizeof(wire::AccountFile));
  gpu_numbered(0, wire::kAccountGpus);
  gpu_numbered(99, 0);
  EXPECT_FALSE(is_any());
  EXPECT_EQ(::fcntl(small, F_GETFD), -1);  // closed
}

TEST_F(AccountTest, TwoThreadsNeverHaveMoreTogether) {
  FakeAccount account(kLimit);
  join(account);
  std::atomic<int> holders{0};
  const auto work = [&](int& wins) {
    for (int i = 0; i < 5000; ++i) {
      if (reserve(0, kLimit / 2 + 1) != Verdict::reserved) continue;
      EXPECT_EQ(holders.fetch_add(1), 0);
      ++wins;
      holders.fetch_sub(1);
      books().cancel({0, kLimit / 2 + 1});
    }
  };
  int wins[2] = {};
  std::thread other(work, std::ref(wins[1]));
  work(wins[0]);
  other.join();
  EXPECT_GT(wins[0] + wins[1], 0);
  EXPECT_EQ(account.used(), 0U);
  EXPECT_EQ(account.lock(), 0U);
}

TEST_F(AccountTest, TwoProcessesShareTheLastByte) {
  FakeAccount account(kLimit);
  const std::atomic_ref holders(account.spare());
  const pid_t child = ::fork();
  if (child == 0) ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // it does not end by itself if it never wins
  SetUp();
  join(account, child == 0 ? 1 : 0);
  bool is_wrong = false;
  for (int won = 0; won < 500;) {
    if (reserve(0, kLimit) != Verdict::reserved) continue;
    ++won;
    is_wrong = holders.fetch_add(1) != 0 || is_wrong;
    books().allocated(piece(1, kLimit, {0, kLimit}));
    holders.fetch_sub(1);
    books().take(Space::address, 1);
  }
  if (child == 0) ::_exit(is_wrong ? 1 : 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(is_wrong);
  EXPECT_EQ(account.used(0) + account.used(1), 0U);
  EXPECT_EQ(account.lock(), 0U);
}

TEST_F(AccountTest, AChildOfAForkStartsWithout) {
  const FakeAccount account(kLimit);
  join(account);
  books().allocated(piece(1, 10));
  const pid_t child = ::fork();
  if (child == 0) {
    begin_without_account();  // as the handlers do; what was mapped is not there
    ::_exit(is_any() || reserve(0, 2 * kLimit) != Verdict::unlimited ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(account.used(), 10U);
}

TEST_F(AccountTest, OneWhoDiedWithTheLockHoldsNobodyUpForLong) {
  FakeAccount account(kLimit);
  join(account);
  const pid_t child = ::fork();
  if (child == 0) {
    account.lock() = 2;
    account.set_used(300, 1);
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(account.lock(), 2U);
  EXPECT_EQ(reserve(0, 701), Verdict::over);  // until the daemon clears its slot
  EXPECT_EQ(account.lock(), 0U);              // taken from the dead
  EXPECT_EQ(reserve(0, 700), Verdict::reserved);
  account.set_used(0, 1);
  EXPECT_EQ(reserve(0, 300), Verdict::reserved);
}

}  // namespace
}  // namespace nvs::interposer::account
