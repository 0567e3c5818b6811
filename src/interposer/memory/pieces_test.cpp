// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/pieces.h"

#include "interposer/memory/account.h"
#include "interposer/memory/fake_account.h"

namespace nvs::interposer::account {
namespace {

using memory::books;
using memory::bytes_in_pieces;
using memory::MemoryKind;
using memory::PieceName;
using memory::Space;

constexpr std::uint64_t kMost = 1000;
constexpr PieceName kName = 0x1234;
constexpr std::uint64_t kHandle = 7;
constexpr std::uint32_t kOther = 1;  // another process's slot

class PiecesTest : public testing::Test {
 protected:
  void SetUp() override { begin_without_account(); }
  void TearDown() override { begin_without_account(); }

  static void join(const FakeAccount& account, std::uint32_t slot = 0) {
    account.lend(slot);
    gpu_numbered(0, 0);
  }
  static void make(std::uint64_t bytes, std::uint64_t handle = kHandle) {
    books().allocated({.space = Space::vmm_handle,
                       .kind = MemoryKind::vmm,
                       .id = handle,
                       .bytes = bytes,
                       .owner = memory::device_owner(0)},
                      0);
  }
  // As the hooks do it with what was opened.
  static void open(PieceName name, std::uint64_t handle) {
    books().allocated({.space = Space::vmm_handle,
                       .kind = MemoryKind::ipc,
                       .id = handle,
                       .owner = memory::device_owner(0),
                       .piece = name},
                      0);
  }
  static std::uint64_t shared(const FakeAccount& account, int number = 0) {
    return bytes_in_pieces(account.pieces(), number, ~std::uint64_t{0});
  }
  static std::uint64_t left() {
    Limit limit;
    EXPECT_TRUE(find_limit(0, limit));
    return limit.left;
  }
};

TEST_F(PiecesTest, WhatIsSharedCountsOnceAndStaysInTheAccount) {
  const FakeAccount account(kMost);
  join(account);
  make(300);
  EXPECT_EQ(account.used(), 300U);
  EXPECT_EQ(share(Space::vmm_handle, kHandle, kName), kName);
  EXPECT_EQ(account.used(), 0U);
  EXPECT_EQ(shared(account), 300U);
  EXPECT_EQ(left(), 700U);
  EXPECT_EQ(share(Space::vmm_handle, kHandle, kName + 1), kName) << "it has a name already";
  EXPECT_EQ(reserve(0, 701), Verdict::over);
  books().take(Space::vmm_handle, kHandle);
  EXPECT_EQ(shared(account), 0U);
  EXPECT_EQ(left(), kMost);
}

TEST_F(PiecesTest, ItCountsWhileAnybodyHoldsIt) {
  const FakeAccount account(kMost);
  join(account);
  make(300);
  share(Space::vmm_handle, kHandle, kName);
  account.pieces().piece[0].holders[kOther / 64] |= std::uint64_t{1} << kOther;
  books().take(Space::vmm_handle, kHandle);
  EXPECT_EQ(left(), 700U) << "the other process has it";
  EXPECT_EQ(hold(0, kName, 300), Verdict::reserved);
  EXPECT_EQ(left(), 700U);
  account.pieces().piece[0].holders[0] &= 1;  // which ends
  EXPECT_EQ(left(), 700U);
  books().drop_piece(kName);
  EXPECT_EQ(left(), kMost);
}

TEST_F(PiecesTest, WhatIsNewToTheTenantMustFit) {
  FakeAccount account(kMost);
  join(account);
  account.set_used(600, kOther);
  EXPECT_EQ(hold(0, kName, 401), Verdict::over);
  EXPECT_EQ(shared(account), 0U);
  EXPECT_EQ(hold(0, kName, 400), Verdict::reserved);
  account.set_limit(1);
  EXPECT_EQ(hold(0, kName, 400), Verdict::reserved) << "it is there already";
  EXPECT_EQ(hold(0, kName + 1, 1), Verdict::over);
  account.set_limit(wire::kUnlimited);
  EXPECT_EQ(hold(0, kName + 1, 5000), Verdict::reserved);
}

TEST_F(PiecesTest, ASizeThatNobodyToldIsLearntAndMustFit) {
  FakeAccount account(kMost);
  join(account);
  EXPECT_EQ(hold(0, kName, 0), Verdict::reserved);
  open(kName, kHandle);
  PieceName name = 0;
  int device = -1;
  ASSERT_TRUE(books().find_unsized(kHandle, name, device));
  EXPECT_EQ(name, kName);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(learn_size(0, kName, kMost + 1), Verdict::over);
  EXPECT_TRUE(books().find_unsized(kHandle, name, device));
  EXPECT_EQ(learn_size(0, kName, kMost), Verdict::reserved);
  EXPECT_FALSE(books().find_unsized(kHandle, name, device));
  EXPECT_EQ(left(), 0U);
  books().take(Space::vmm_handle, kHandle);
  EXPECT_EQ(left(), kMost);
}

TEST_F(PiecesTest, PlacesAreUsedAgainAndAFullAccountRefusesNobody) {
  const FakeAccount account(kMost);
  join(account);
  for (std::uint32_t i = 0; i < wire::kAccountPieces; ++i) hold(0, kName + i, 0);
  EXPECT_EQ(account.pieces().used, wire::kAccountPieces);
  make(300);
  EXPECT_EQ(share(Space::vmm_handle, kHandle, 5), 0U);
  EXPECT_EQ(account.used(), 300U) << "as if it were not shared";
  EXPECT_EQ(hold(0, 6, 5000), Verdict::unlimited);
  books().drop_piece(6);
  books().drop_piece(kName + 100);
  EXPECT_EQ(share(Space::vmm_handle, kHandle, 5), 5U);
  EXPECT_EQ(account.pieces().piece[100].name, 5U);
  EXPECT_EQ(account.used(), 0U);
}

TEST_F(PiecesTest, AnotherFileGetsThemToo) {
  const FakeAccount before(kMost);
  const FakeAccount after(kMost);
  join(before);
  make(300);
  share(Space::vmm_handle, kHandle, kName);
  hold(0, kName + 1, 50);
  after.lend(3);
  gpu_numbered(0, 9);
  EXPECT_EQ(shared(after, 9), 350U);
  EXPECT_EQ(shared(after, 0), 0U);
  EXPECT_EQ(after.pieces().piece[0].holders[0], std::uint64_t{1} << 3U);
  books().drop_piece(kName + 1);
  EXPECT_EQ(shared(after, 9), 300U);
  gpu_unknown(0);
  EXPECT_EQ(shared(after, 9), 0U);
}

TEST_F(PiecesTest, WhatWasSharedBeforeThereWasAnAccountIsInIt) {
  make(300);
  EXPECT_EQ(share(Space::vmm_handle, kHandle, kName), kName);
  EXPECT_EQ(hold(0, kName, 300), Verdict::unlimited);
  const FakeAccount account(kMost);
  join(account);
  EXPECT_EQ(account.used(), 0U);
  EXPECT_EQ(left(), 700U);
}

// Its file ends before the places, and says that there are none.
TEST_F(PiecesTest, AnOlderDaemonCountsThemForTheirMakers) {
  const FakeAccount account(kMost);
  account.pieces().places = 0;
  join(account);
  make(300);
  EXPECT_EQ(share(Space::vmm_handle, kHandle, kName), 0U);
  EXPECT_EQ(account.used(), 300U);
  EXPECT_EQ(hold(0, kName + 1, 5000), Verdict::unlimited);
}

TEST_F(PiecesTest, WhatTheDriverDoesNotTakeBackIsHeldAgain) {
  const FakeAccount account(kMost);
  join(account);
  make(300);
  share(Space::vmm_handle, kHandle, kName);
  const memory::Taken taken = books().take(Space::vmm_handle, kHandle);
  EXPECT_EQ(shared(account), 0U);
  books().put_back(taken);
  EXPECT_EQ(shared(account), 300U);
}

}  // namespace
}  // namespace nvs::interposer::account
