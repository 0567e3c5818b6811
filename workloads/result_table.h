// SPDX-License-Identifier: Apache-2.0
// The table at the end of a run of tenants, and the tenants themselves as lines of a live view: how
// a person sees what the runner knows.
#pragma once

#include <span>
#include <string>

#include "workloads/runner.h"

namespace nvs::workloads {

// Tenant, GPU, PASS or FAIL, seconds, iterations a second; then minimum, maximum and average of
// those that passed.
std::string render_results(std::span<const Tenant> tenants);

// What went wrong with each tenant that did not pass; empty if all did.
std::string render_failures(std::span<const Tenant> tenants);

// One line, without its end: where a tenant stands. Labels are padded to `label_width`.
std::string render_tenant(const Tenant& tenant, std::size_t label_width);

}  // namespace nvs::workloads
