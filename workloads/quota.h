// SPDX-License-Identifier: Apache-2.0
// Tenants with caps on their GPU time, which change while they run: which ones the demonstration
// shows, when it looks at what they were billed, and the table of what each of them got.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "workloads/demo_plan.h"
#include "workloads/node_status.h"
#include "workloads/runner.h"

namespace nvs::workloads {

// In percent of the GPU.
struct QuotaCaps {
  int before = 0;
  int after = 0;
};

struct QuotaPlan {
  Scene scene;                  // the first caps are in the tenants' environment
  std::vector<QuotaCaps> caps;  // one a tenant
  double settle_seconds = 0;    // nothing counts so long after caps came into force
  double change_seconds = 0;    // from the start of the tenants
};

// `length` times the usual duration, which is some 8 s.
QuotaPlan plan_quotas(double length);

struct CoreLimit {
  std::uint64_t tenant = 0;  // the daemon's id
  int percent = 0;
};

// What a tenant got under one cap.
struct QuotaGot {
  int cap = 0;                       // as asked for
  std::optional<double> in_force{};  // as the daemon says
  double seconds = 0;                // how long it was looked at; 0: never
  double percent = 0;                // of the GPU's time
};

struct QuotaRow {
  std::string label{};
  int gpu = 0;
  QuotaGot before{};
  QuotaGot after{};
  double throttled_seconds = 0;
  bool data_right = false;
};

// Follows the tenants of a plan through the daemon's status.
class QuotaWatch {
 public:
  explicit QuotaWatch(const QuotaPlan& plan) : plan_(plan) {}

  // The limits to be set now: none, but once.
  std::vector<CoreLimit> take(const NodeStatus& status, std::span<const Tenant> tenants);
  // One a tenant.
  std::vector<QuotaRow> rows(std::span<const Tenant> tenants) const;

 private:
  struct Look {
    double at_seconds = 0;  // of the daemon's clock, as what it bills is
    std::vector<GpuUse> uses{};
  };
  struct Window {
    std::optional<Look> begin{};
    std::optional<Look> end{};

    void take(Look look) { (begin ? end : begin) = std::move(look); }
    QuotaGot got(std::size_t tenant, int cap) const;
  };

  const QuotaPlan& plan_;
  std::optional<double> started_at_{};
  std::optional<double> changed_at_{};
  Window before_{};
  Window after_{};
};

// Whether a tenant's data is right and it got what its caps say; from looks that are too short to
// tell, only that the caps came into force.
bool is_good(const QuotaRow& row);

// The table, and a sentence about each share that is not good.
std::string render_quotas(std::span<const QuotaRow> rows);

}  // namespace nvs::workloads
