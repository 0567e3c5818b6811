// SPDX-License-Identifier: Apache-2.0
#include "daemon/tenant_account.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <climits>
#include <cstddef>
#include <iterator>
#include <new>
#include <utility>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/byte_size.h"
#include "daemon/limits.h"
#include "os/memfd.h"

namespace nvs::daemon {
namespace {

using wire::AccountFile;

constexpr std::uint64_t kPageMost = std::uint64_t{64}
                                    << 10U;  // of any machine that nvshare runs on
constexpr std::uint64_t kAccountBytes =
    (sizeof(wire::AccountFileWithPieces) + kPageMost - 1) / kPageMost * kPageMost;
constexpr std::uint64_t kPiecesAt = offsetof(wire::AccountFileWithPieces, pieces);

template <class Word>
Word load(Word& word) {
  return std::atomic_ref(word).load(std::memory_order_relaxed);
}
template <class Word>
void store(Word& word, Word value) {
  std::atomic_ref(word).store(value, std::memory_order_release);
}

std::uint64_t place_of(std::uint32_t slot) {
  return offsetof(AccountFile, slot) + slot * sizeof(wire::AccountSlot);
}

}  // namespace

// Pages are made before they are touched: where there is no memory, touching them would end the
// daemon.
Result<TenantAccount> TenantAccount::create() {
  UniqueFd file = NVS_TRY(os::make_memfd("nvshare-account", kAccountBytes));
  NVS_TRY(os::make_pages(file.get(), 0, offsetof(AccountFile, slot)));
  NVS_TRY(os::make_pages(file.get(), kPiecesAt, sizeof(wire::AccountPieces)));
  os::SharedMapping mapping =
      NVS_TRY(os::SharedMapping::create(file.get(), 0, static_cast<std::size_t>(kAccountBytes)));
  TenantAccount account(std::move(file), std::move(mapping));
  for (std::uint64_t& limit : account.books().limit) store(limit, wire::kUnlimited);
  store(account.pieces().places, wire::kAccountPieces);
  return account;
}

AccountFile& TenantAccount::books() const {
  return *std::launder(reinterpret_cast<AccountFile*>(mapping_.data()));
}

wire::AccountPieces& TenantAccount::pieces() const {
  return std::launder(reinterpret_cast<wire::AccountFileWithPieces*>(mapping_.data()))->pieces;
}

Result<std::uint32_t> TenantAccount::take_slot() {
  std::uint32_t slot = 0;
  while (slot < taken_.size() && taken_[slot]) ++slot;
  if (slot == taken_.size()) return tl::unexpected(Error{Errc::kLimit, 0, "no place is left"});
  NVS_TRY(os::make_pages(file_.get(), place_of(slot), sizeof(wire::AccountSlot)));
  slots_ = std::max(slots_, slot + 1);
  clear_free();
  taken_[slot] = true;
  store(books().slots, slots_);
  return slot;
}

void TenantAccount::free_slot(std::uint32_t slot) {
  NVS_ASSERT(taken_[slot]);
  taken_[slot] = false;
  clear_free();
  std::uint32_t& lock = books().lock;
  std::uint32_t its_own = slot + 1;
  if (!std::atomic_ref(lock).compare_exchange_strong(its_own, 0)) return;
  // Others wait for it, in other processes.
  ::syscall(SYS_futex, &lock, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// Processes add up all slots. One whose connection was closed writes on into the slot that it had,
// and may have got another one since.
void TenantAccount::clear_free() {
  for (std::uint32_t slot = 0; slot < slots_; ++slot) {
    if (taken_[slot]) continue;
    for (std::uint64_t& used : books().slot[slot].used) store(used, std::uint64_t{0});
  }
  const std::uint32_t used = std::min(load(pieces().used), wire::kAccountPieces);
  for (std::uint32_t i = 0; i < used; ++i) keep_the_living(pieces().piece[i].holders);
}

// Of a piece that only the dead hold nobody has anything any more.
void TenantAccount::keep_the_living(std::uint64_t (&holders)[kHolderWords]) const {
  for (std::uint32_t word = 0; word < kHolderWords; ++word) {
    std::uint64_t gone = load(holders[word]);
    for (std::uint64_t left = gone; left != 0; left &= left - 1) {
      const auto bit = static_cast<std::uint32_t>(std::countr_zero(left));
      if (taken_[word * wire::kHolderBits + bit]) gone &= ~(std::uint64_t{1} << bit);
    }
    if (gone != 0) std::atomic_ref(holders[word]).fetch_and(~gone);
  }
}

void TenantAccount::set_limit(core::GpuId gpu, std::optional<std::uint64_t> bytes) {
  store(books().limit[core::index_of(gpu)], bytes.value_or(wire::kUnlimited));
}

std::uint64_t TenantAccount::used(core::GpuId gpu) const {
  static_assert(wire::kAccountSlots + wire::kAccountPieces <= UINT64_MAX / kMemoryMost,
                "the sum fits");
  std::uint64_t sum = 0;
  for (std::uint32_t slot = 0; slot < slots_; ++slot) {
    if (taken_[slot])
      sum += std::min(load(books().slot[slot].used[core::index_of(gpu)]), kMemoryMost);
  }
  const std::uint32_t used = std::min(load(pieces().used), wire::kAccountPieces);
  for (std::uint32_t i = 0; i < used; ++i) {
    wire::AccountPiece& piece = pieces().piece[i];
    const bool is_held = std::any_of(std::begin(piece.holders), std::end(piece.holders),
                                     [](std::uint64_t& word) { return load(word) != 0; });
    if (is_held && load(piece.gpu) == core::index_of(gpu)) {
      sum += std::min(load(piece.bytes), kMemoryMost);
    }
  }
  return sum;
}

Result<TenantAccounts::Place> TenantAccounts::join(core::ClientId client, core::TenantId tenant) {
  auto found = accounts_.find(tenant);
  if (found == accounts_.end()) {
    TenantAccount account = NVS_TRY(TenantAccount::create());
    found = accounts_.emplace(tenant, Entry{std::move(account), 0}).first;
  }
  Entry& entry = found->second;
  const Result<std::uint32_t> slot = entry.account.take_slot();
  if (!slot) {
    if (entry.clients == 0) accounts_.erase(found);
    return tl::unexpected(slot.error());
  }
  ++entry.clients;
  const bool is_new = members_.emplace(client, Member{tenant, *slot}).second;
  NVS_ASSERT(is_new);
  return Place{*slot, entry.account.fd(), entry.account.bytes()};
}

void TenantAccounts::leave(core::ClientId client) {
  const auto member = members_.find(client);
  if (member == members_.end()) return;
  const auto found = accounts_.find(member->second.tenant);
  NVS_ASSERT(found != accounts_.end());
  found->second.account.free_slot(member->second.slot);
  members_.erase(member);
  if (--found->second.clients == 0) accounts_.erase(found);
}

void TenantAccounts::set_limit(core::TenantId tenant, core::GpuId gpu,
                               std::optional<std::uint64_t> bytes) {
  const auto found = accounts_.find(tenant);
  if (found != accounts_.end()) found->second.account.set_limit(gpu, bytes);
}

std::uint64_t TenantAccounts::used(core::TenantId tenant, core::GpuId gpu) const {
  const auto found = accounts_.find(tenant);
  return found == accounts_.end() ? 0 : found->second.account.used(gpu);
}

}  // namespace nvs::daemon
