// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenant_account.h"

#include <atomic>
#include <set>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/byte_size.h"

namespace nvs::daemon {
namespace {

constexpr core::GpuId kFirstGpu{0};
constexpr core::GpuId kLastGpu{wire::kAccountGpus - 1};
constexpr core::TenantId kOwner{1};

// The file as a client has it.
class ClientsView {
 public:
  explicit ClientsView(int fd)
      : mapping_(*os::SharedMapping::create(fd, 0, sizeof(wire::AccountFileWithPieces))) {}
  wire::AccountFile& books() { return whole().file; }
  wire::AccountPieces& pieces() { return whole().pieces; }
  // As a process adds one.
  wire::AccountPiece& add(std::uint64_t bytes, std::uint32_t gpu) {
    wire::AccountPiece& piece = pieces().piece[pieces().used++];
    piece.bytes = bytes;
    piece.gpu = gpu;
    return piece;
  }
  static void hold(wire::AccountPiece& piece, std::uint32_t slot) {
    piece.holders[slot / wire::kHolderBits] |= std::uint64_t{1} << (slot % wire::kHolderBits);
  }

 private:
  wire::AccountFileWithPieces& whole() {
    return *reinterpret_cast<wire::AccountFileWithPieces*>(mapping_.data());
  }
  os::SharedMapping mapping_;
};

TEST(TenantAccount, BeginsEmptyAndWithoutLimits) {
  const TenantAccount account = *TenantAccount::create();
  ClientsView client(account.fd());
  EXPECT_EQ(client.books().lock, 0U);
  EXPECT_EQ(client.books().slots, 0U);
  for (const std::uint64_t limit : client.books().limit) EXPECT_EQ(limit, wire::kUnlimited);
  EXPECT_EQ(account.used(kFirstGpu), 0U);
  EXPECT_GE(account.bytes(), sizeof(wire::AccountFile));
  EXPECT_EQ(::ftruncate(account.fd(), 0), -1) << "nobody can take it from under the daemon";
  struct stat status {};
  ASSERT_EQ(::fstat(account.fd(), &status), 0);
  EXPECT_EQ(static_cast<std::uint64_t>(status.st_size), account.bytes());
}

TEST(TenantAccount, LimitsAreOfGpus) {
  TenantAccount account = *TenantAccount::create();
  ClientsView client(account.fd());
  account.set_limit(kLastGpu, 5000);
  EXPECT_EQ(client.books().limit[wire::kAccountGpus - 1], 5000U);
  EXPECT_EQ(client.books().limit[0], wire::kUnlimited);
  account.set_limit(kLastGpu, std::nullopt);
  EXPECT_EQ(client.books().limit[wire::kAccountGpus - 1], wire::kUnlimited);
}

TEST(TenantAccount, SlotsAreUniqueAmongTheLiving) {
  TenantAccount account = *TenantAccount::create();
  ClientsView client(account.fd());
  std::set<std::uint32_t> slots;
  for (std::uint32_t i = 0; i < wire::kAccountSlots; ++i) {
    slots.insert(*account.take_slot());
    EXPECT_EQ(client.books().slots, i + 1);
  }
  EXPECT_EQ(slots.size(), wire::kAccountSlots);
  EXPECT_EQ(*slots.rbegin(), wire::kAccountSlots - 1);
  EXPECT_FALSE(account.take_slot());
  client.books().slot[700].used[3] = 77;
  account.free_slot(700);
  EXPECT_EQ(client.books().slot[700].used[3], 0U);
  client.books().slot[700].used[3] = 78;  // it is not quite gone
  EXPECT_EQ(*account.take_slot(), 700U);
  EXPECT_EQ(client.books().slot[700].used[3], 0U);
  EXPECT_EQ(client.books().slots, wire::kAccountSlots);
}

// Its connection was closed, but it is still there and writes on; by now it may be in another slot.
TEST(TenantAccount, SlotsThatNobodyHasAreCleared) {
  TenantAccount account = *TenantAccount::create();
  ClientsView client(account.fd());
  for (std::uint32_t slot = 0; slot < 4; ++slot) ASSERT_EQ(*account.take_slot(), slot);
  account.free_slot(1);
  account.free_slot(2);
  client.books().slot[0].used[5] = 11;
  client.books().slot[2].used[5] = 77;
  EXPECT_EQ(*account.take_slot(), 1U);
  EXPECT_EQ(client.books().slot[2].used[5], 0U);
  client.books().slot[2].used[5] = 78;
  account.free_slot(3);
  EXPECT_EQ(client.books().slot[2].used[5], 0U);
  EXPECT_EQ(client.books().slot[0].used[5], 11U) << "the living keep theirs";
}

TEST(TenantAccount, WhatIsUsedIsASumOfWordsOfStrangers) {
  TenantAccount account = *TenantAccount::create();
  ClientsView client(account.fd());
  const std::uint32_t first = *account.take_slot();
  const std::uint32_t second = *account.take_slot();
  client.books().slot[first].used[0] = 100;
  client.books().slot[second].used[0] = 11;
  client.books().slot[second].used[wire::kAccountGpus - 1] = 5;
  client.books().slot[second + 1].used[0] = 1000;  // is nobody's
  EXPECT_EQ(account.used(kFirstGpu), 111U);
  EXPECT_EQ(account.used(kLastGpu), 5U);
  client.books().slot[first].used[0] = ~std::uint64_t{0};
  EXPECT_EQ(account.used(kFirstGpu), kMemoryMost + 11);
  account.free_slot(first);
  EXPECT_EQ(account.used(kFirstGpu), 11U);
}

TEST(TenantAccount, WhatIsSharedCountsOnceForAllWhoHoldIt) {
  TenantAccount account = *TenantAccount::create();
  ClientsView client(account.fd());
  EXPECT_EQ(client.pieces().places, wire::kAccountPieces);
  for (std::uint32_t slot = 0; slot < 70; ++slot) ASSERT_EQ(*account.take_slot(), slot);
  wire::AccountPiece& piece = client.add(100, 0);
  client.hold(piece, 3);
  client.hold(piece, 66);
  client.hold(client.add(5, wire::kAccountGpus - 1), 66);
  client.add(1000, 0);  // nobody has it any more
  EXPECT_EQ(account.used(kFirstGpu), 100U);
  EXPECT_EQ(account.used(kLastGpu), 5U);
  account.free_slot(3);
  EXPECT_EQ(account.used(kFirstGpu), 100U) << "its maker is gone, and the other one has it";
  account.free_slot(66);
  EXPECT_EQ(account.used(kFirstGpu), 0U);
  EXPECT_EQ(account.used(kLastGpu), 0U);
}

TEST(TenantAccount, NonsenseAboutWhatIsSharedHarmsNobodyElse) {
  TenantAccount account = *TenantAccount::create();
  ClientsView client(account.fd());
  const std::uint32_t slot = *account.take_slot();
  wire::AccountPiece& piece = client.add(~std::uint64_t{0}, 0);
  client.hold(piece, slot);
  client.hold(piece, wire::kAccountSlots - 1);  // nobody
  client.pieces().used = ~std::uint32_t{0};
  EXPECT_EQ(account.used(kFirstGpu), kMemoryMost);
  account.free_slot(slot);
  EXPECT_EQ(account.used(kFirstGpu), 0U);
}

TEST(TenantAccount, OnlyItsOwnLockIsFreed) {
  TenantAccount account = *TenantAccount::create();
  ClientsView client(account.fd());
  const std::uint32_t first = *account.take_slot();
  const std::uint32_t second = *account.take_slot();
  client.books().lock = second + 1;
  account.free_slot(first);
  EXPECT_EQ(client.books().lock, second + 1);
  account.free_slot(second);
  EXPECT_EQ(client.books().lock, 0U);
}

// The waiter is another process, which a private futex would not reach.
TEST(TenantAccount, WhoWaitsForTheLockOfADeadProcessIsWoken) {
  TenantAccount account = *TenantAccount::create();
  ClientsView client(account.fd());
  const std::uint32_t dead = *account.take_slot();
  client.books().lock = dead + 1;
  const pid_t waiter = ::fork();
  ASSERT_GE(waiter, 0);
  if (waiter == 0) {
    const timespec patience{60, 0};
    const long woken =
        ::syscall(SYS_futex, &client.books().lock, FUTEX_WAIT, dead + 1, &patience, nullptr, 0);
    ::_exit(woken == 0 ? 0 : 1);
  }
  // Until it sleeps: only then a wake is needed.
  const std::string wchan = "/proc/" + std::to_string(waiter) + "/syscall";
  for (bool is_asleep = false; !is_asleep;) {
    const UniqueFd file{::open(wchan.c_str(), O_RDONLY | O_CLOEXEC)};
    char text[8] = {};
    ASSERT_TRUE(file);
    is_asleep = ::read(file.get(), text, 7) > 0 &&
                std::string_view(text).starts_with(std::to_string(SYS_futex) + " ");
  }
  account.free_slot(dead);
  int status = 0;
  ASSERT_EQ(::waitpid(waiter, &status, 0), waiter);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(TenantAccounts, ProcessesOfATenantHaveOneAndOthersTheirOwn) {
  TenantAccounts accounts;
  const auto first = accounts.join(core::ClientId{1}, kOwner);
  const auto second = accounts.join(core::ClientId{2}, kOwner);
  const auto other = accounts.join(core::ClientId{3}, core::TenantId{2});
  ASSERT_TRUE(first && second && other);
  EXPECT_EQ(first->file, second->file);
  EXPECT_NE(first->slot, second->slot);
  EXPECT_NE(first->file, other->file);
  ClientsView books(first->file);
  books.books().slot[second->slot].used[0] = 40;
  EXPECT_EQ(accounts.used(kOwner, kFirstGpu), 40U);
  EXPECT_EQ(accounts.used(core::TenantId{2}, kFirstGpu), 0U);
  accounts.set_limit(kOwner, kFirstGpu, 4096);
  EXPECT_EQ(books.books().limit[0], 4096U);
  accounts.set_limit(core::TenantId{9}, kFirstGpu, 1);  // nobody
  accounts.leave(core::ClientId{2});
  EXPECT_EQ(accounts.used(kOwner, kFirstGpu), 0U);
  EXPECT_EQ(accounts.count(), 2U);
  accounts.leave(core::ClientId{1});
  accounts.leave(core::ClientId{7});  // never had one
  EXPECT_EQ(accounts.count(), 1U);
  EXPECT_EQ(accounts.used(kOwner, kFirstGpu), 0U);
}

}  // namespace
}  // namespace nvs::daemon
