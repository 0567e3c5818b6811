// SPDX-License-Identifier: Apache-2.0
// The node daemon of one demonstration: nvshare-scheduler in a temporary folder, seen to answer
// before any tenant starts, asked for its status while they run, and gone with the demonstration.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "base/result.h"
#include "base/unique_fd.h"
#include "workloads/child.h"
#include "workloads/node_status.h"

namespace nvs::workloads {

class DemoDaemon {
 public:
  struct Settings {
    std::string program;                     // nvshare-scheduler
    std::string library;                     // libnvshare.so, for the tenants
    std::string nvml_library;                // empty: the usual one
    std::vector<std::string> environment{};  // NAME=value
  };

  // Returns when it answers. The error is for a person, with what the daemon printed.
  static tl::expected<std::unique_ptr<DemoDaemon>, std::string> start(const Settings& settings);

  DemoDaemon(const DemoDaemon&) = delete;
  DemoDaemon& operator=(const DemoDaemon&) = delete;
  ~DemoDaemon();

  // NAME=value, for a tenant that is to be under this daemon.
  std::vector<std::string> tenant_environment() const;

  // An error does not last: the next call connects anew.
  Result<NodeStatus> status();
  // As an administrator would, while the tenant runs.
  Result<void> limit_cores(std::uint64_t tenant, int percent);

 private:
  DemoDaemon(std::string folder, std::string library, Child child);

  tl::expected<void, std::string> wait_until_it_answers();
  Result<std::string> ask(const std::string& request);
  Result<std::string> ask_connected(const std::string& request);
  // Takes in what it printed: a full pipe would stop it.
  void read_output();

  std::string folder_;
  std::string library_;
  Child child_;
  UniqueFd admin_;
  std::string output_;
};

}  // namespace nvs::workloads
