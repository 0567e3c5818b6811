// SPDX-License-Identifier: Apache-2.0
// Who has the GPU: follows the tenants of one scene through the daemon's status, and shows who
// holds each GPU now and what each tenant got of it. The daemon forgets a tenant that has left;
// this does not.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "workloads/node_status.h"
#include "workloads/runner.h"

namespace nvs::workloads {

class ShareView {
 public:
  // Tenants are recognised by their process, so they may be called here what they are called in
  // the rest of the output.
  void take(const NodeStatus& status, std::span<const Tenant> tenants);

  // One line a GPU: "GPU 1  held by add, matmul waits, 12 switches".
  std::vector<std::string> render_gpus() const;
  // One line a tenant that has memory: how much of it is on the GPU. `scale` times what the daemon
  // says.
  std::vector<std::string> render_memory(double scale) const;
  // One line a GPU on what sharing it took.
  std::string render_switches() const;
  // A table of what each tenant got, and the lines of render_switches(). Empty if no tenant was
  // ever seen.
  std::string render_table() const;
  // Tenants that the daemon lost while they ran: they went on unscheduled, and neither their share
  // nor that of the others on their GPU is of the whole run.
  std::vector<std::string> lost() const;

 private:
  struct Share {
    std::string label;
    int gpu = 0;
    bool seen = false;
    bool there = false;  // now
    int missed = 0;      // looks in a row that did not find it, though it ran
    bool lost = false;   // it may be back by now
    GpuUse use{};
  };
  struct Gpu {
    bool seen = false;
    std::string holder{};
    std::vector<std::string> waiting{};
    std::vector<std::string> throttled{};
    NodeGpu first{};  // as it was when the scene began, to be subtracted
    NodeGpu latest{};
  };

  void take_use(const Tenant& tenant, const NodeTenant& at_node, const NodeStatus& status,
                Share& share);
  double used_on(int gpu) const;

  // By the number under which the tenants know the GPU, which need not be the daemon's.
  std::map<int, Gpu> gpus_;
  std::vector<Share> shares_;  // one a tenant, in their order
};

}  // namespace nvs::workloads
