// SPDX-License-Identifier: Apache-2.0
// What an administrator can ask of the running daemon, carried out on the node and told to the
// clients that it concerns.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/admin.h"
#include "daemon/host_pool.h"
#include "daemon/node.h"
#include "daemon/sessions.h"
#include "os/event_loop.h"

namespace nvs::daemon {

class Control : public NodeControl {
 public:
  Control(const os::EventLoop& loop, Node& node, const HostPool& host, Sessions& sessions)
      : loop_(loop), node_(node), host_(host), sessions_(sessions) {}

  std::vector<AdminGpu> gpus() override;
  std::vector<AdminTenant> tenants() override;
  std::string status() override { return node_.status(loop_.now(), host_.view()); }
  std::string trace(Duration last) override { return node_.trace(loop_.now(), last); }
  void set_policy(core::GpuId gpu, const core::GpuPolicy& policy) override;
  void set_priority(core::TenantId tenant, core::Priority priority) override;
  void set_weight(core::TenantId tenant, std::uint32_t weight) override;
  void set_limits(core::TenantId tenant, const LimitChange& change) override;
  void set_slots(const SlotChange& change) override;
  void pause(core::TenantId tenant) override { set_paused(tenant, true); }
  void resume(core::TenantId tenant) override { set_paused(tenant, false); }
  std::optional<Unsaved> unsaved() override { return node_.unsaved(); }

 private:
  void set_paused(core::TenantId tenant, bool paused);

  const os::EventLoop& loop_;
  Node& node_;
  const HostPool& host_;
  Sessions& sessions_;
};

}  // namespace nvs::daemon
