// SPDX-License-Identifier: Apache-2.0
// For tests: a tenant's memory account as the daemon makes it.
#pragma once

#include <atomic>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "interposer/memory/account.h"
#include "interposer/memory/books.h"
#include "wire/memory_account.h"

namespace nvs::interposer::account {

class FakeAccount {
 public:
  static constexpr std::size_t kBytes = sizeof(wire::AccountFileWithPieces);

  explicit FakeAccount(std::uint64_t limit = wire::kUnlimited, std::uint32_t slots = 2)
      : fd_(::memfd_create("account", MFD_CLOEXEC)) {
    EXPECT_EQ(::ftruncate(fd_, kBytes), 0);
    void* at = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    whole_ = static_cast<wire::AccountFileWithPieces*>(at);
    file_ = &whole_->file;
    whole_->pieces.places = wire::kAccountPieces;
    file_->slots = slots;
    set_limit(limit);
  }
  ~FakeAccount() {
    ::munmap(file_, kBytes);
    ::close(fd_);
  }
  FakeAccount(const FakeAccount&) = delete;
  FakeAccount& operator=(const FakeAccount&) = delete;

  // To this process.
  void lend(std::uint32_t slot = 0) const { file_came(::dup(fd_), slot, kBytes); }
  void set_limit(std::uint64_t limit) {
    for (std::uint64_t& word : file_->limit) std::atomic_ref(word).store(limit);
  }
  wire::AccountPieces& pieces() const { return whole_->pieces; }
  std::uint64_t used(std::uint32_t slot = 0, int number = 0) const {
    return std::atomic_ref(file_->slot[slot].used[number]).load();
  }
  void set_used(std::uint64_t bytes, std::uint32_t slot, int number = 0) {
    std::atomic_ref(file_->slot[slot].used[number]).store(bytes);
  }
  std::uint32_t& lock() const { return file_->lock; }
  // A word that nobody else uses.
  std::uint64_t& spare() const { return file_->slot[wire::kAccountSlots - 1].used[0]; }
  int fd() const { return fd_; }

 private:
  int fd_;
  wire::AccountFileWithPieces* whole_ = nullptr;
  wire::AccountFile* file_;
};

// As if this process had just begun.
inline void begin_without_account() {
  account::start_over_in_child();
  memory::books().after_fork();
}

}  // namespace nvs::interposer::account
