// SPDX-License-Identifier: Apache-2.0
// The books of a tenant's memory that its processes and the daemon have in common (the layout is in
// wire/memory_account.h). Processes add up what they allocate in there by themselves; the daemon
// writes the limits, reads for people what is used, and clears up after processes that are gone.
// What processes wrote is never trusted.
#pragma once

#include <bitset>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/result.h"
#include "base/unique_fd.h"
#include "core/ids.h"
#include "os/shared_mapping.h"
#include "wire/memory_account.h"

namespace nvs::daemon {

class TenantAccount {
 public:
  // Without limits. Errors: no descriptor or no memory for it.
  static Result<TenantAccount> create();

  int fd() const { return file_.get(); }
  std::uint64_t bytes() const { return mapping_.bytes(); }

  // The place of another process, with nothing in it. Errors: all are taken, or no memory.
  Result<std::uint32_t> take_slot();
  // Its process is gone: what it had is free, and so is the lock if it died with it.
  void free_slot(std::uint32_t slot);

  // Nothing: unlimited.
  void set_limit(core::GpuId gpu, std::optional<std::uint64_t> bytes);
  // By all processes, as they say.
  std::uint64_t used(core::GpuId gpu) const;

 private:
  TenantAccount(UniqueFd file, os::SharedMapping mapping)
      : file_(std::move(file)), mapping_(std::move(mapping)) {}
  static constexpr std::uint32_t kHolderWords = wire::kAccountSlots / wire::kHolderBits;
  wire::AccountFile& books() const;
  wire::AccountPieces& pieces() const;
  void clear_free();
  void keep_the_living(std::uint64_t (&holders)[kHolderWords]) const;

  UniqueFd file_;
  os::SharedMapping mapping_;
  std::bitset<wire::kAccountSlots> taken_;
  std::uint32_t slots_ = 0;  // that were ever taken: the first so many
};

// Those of all tenants.
class TenantAccounts {
 public:
  struct Place {
    std::uint32_t slot = 0;
    int file = -1;  // stays the account's
    std::uint64_t bytes = 0;
  };
  // The client's place in the account of its tenant, which is made with the first one. Error: it
  // has to do without.
  Result<Place> join(core::ClientId client, core::TenantId tenant);
  // The account of a tenant goes with the last of its clients.
  void leave(core::ClientId client);

  void set_limit(core::TenantId tenant, core::GpuId gpu, std::optional<std::uint64_t> bytes);
  std::uint64_t used(core::TenantId tenant, core::GpuId gpu) const;
  std::size_t count() const { return accounts_.size(); }

 private:
  struct Entry {
    TenantAccount account;
    std::size_t clients = 0;
  };
  struct Member {
    core::TenantId tenant{};
    std::uint32_t slot = 0;
  };
  std::map<core::TenantId, Entry> accounts_;
  std::unordered_map<core::ClientId, Member> members_;
};

}  // namespace nvs::daemon
