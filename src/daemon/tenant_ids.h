// SPDX-License-Identifier: Apache-2.0
// Which number is whose must outlive the daemon: people and scripts name tenants by it, and a
// command for the one that was paused a minute ago must not hit another after a restart. Numbers
// are given by the tenant's key, which is the kernel's word and never the tenant's own, and none is
// given twice as long as the folder is there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "core/ids.h"

namespace nvs::daemon {

class TenantIds {
 public:
  // Nothing is kept.
  TenantIds() = default;
  // As an earlier daemon left them in FOLDER/tenant_ids. `remark` is for the log: lines that cannot
  // be understood are passed over.
  static TenantIds load(const std::string& folder, std::string& remark);

  // Of the tenant that has this key: its own if it had one when the last daemon ended, else a new
  // one. It is written down before anybody hears of it.
  core::TenantId take(const std::string& key);
  // The tenant has left: if it comes back it is another one.
  void release(const std::string& key);

  std::size_t size() const { return of_key_.size(); }

 private:
  void read(std::string_view text, std::string& remark);
  bool read_line(std::string_view line);
  void forget_surplus();
  void write(const std::string& line);
  Result<void> rewrite();
  void note(const Result<void>& written);

  std::string path_;  // empty: nothing is kept
  std::uint64_t last_ = 0;
  std::map<std::string, std::uint64_t> of_key_;  // who is here, or may come back
  std::size_t lines_ = 0;                        // of the file
  bool has_failed_ = false;                      // the last line could not be written
};

}  // namespace nvs::daemon
