// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/status_table.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "cli/ctl/text_table.h"
#include "cli/ctl/units.h"

namespace nvs::cli {
namespace {

constexpr std::size_t kNameColumnsMin = 8;
constexpr double kMsPerSecond = 1000;
// To be given room that is there takes less, and is no swap.
constexpr double kSwapWaitLeast_s = 0.001;
constexpr double kPercent = 100;

// "60", "33.3".
std::string tenths_text(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", number);
  const std::string digits = text;
  return digits.ends_with(".0") ? digits.substr(0, digits.size() - 2) : digits;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// Of the time in which the GPU was wanted, what the changes of tenants cost.
std::string handover_text(const GpuStatus& gpu) {
  const double wanted = gpu.held_s + gpu.handover_s;
  return wanted > 0 ? share_text(gpu.handover_s / wanted) : "-";
}

std::string memory_text(std::uint64_t bytes) { return bytes == 0 ? "-" : bytes_text(bytes); }

std::vector<std::string> gpu_lines(const NodeStatus& node, std::size_t width) {
  TextTable table({{"GPU", Align::right},
                   {"NAME", Align::left, kNameColumnsMin},
                   {"MEMORY", Align::right},
                   {"MODE", Align::left},
                   {"WINDOW", Align::right},
                   {"TURN", Align::right},
                   {"HOLDER", Align::left, kNameColumnsMin},
                   {"WAITING", Align::right},
                   {"SWITCHES", Align::right},
                   {"DRAIN", Align::right}});
  for (const GpuStatus& gpu : node.gpus) {
    table.add({std::to_string(gpu.index), model_text(gpu), memory_text(gpu.memory_bytes), gpu.mode,
               window_text(gpu), turn_text(gpu), holder_text(node, gpu),
               std::to_string(gpu.waiting), std::to_string(gpu.switches), handover_text(gpu)});
  }
  return table.lines(width);
}

std::vector<std::string> silent_gpu_lines(const NodeStatus& node) {
  std::vector<std::string> lines;
  for (const GpuStatus& gpu : node.gpus) {
    if (gpu.nvml_error.empty()) continue;
    lines.push_back("GPU " + std::to_string(gpu.index) +
                    " does not answer: " + harmless(gpu.nvml_error));
  }
  return lines;
}

std::vector<std::string> tenant_lines(const NodeStatus& node, std::size_t width) {
  TextTable table({{"ID", Align::right},
                   {"TENANT", Align::left, kNameColumnsMin},
                   {"GPU", Align::right},
                   {"STATE", Align::left},
                   {"PRIORITY", Align::left},
                   {"USED", Align::right},
                   {"WAITED", Align::right},
                   {"LONGEST", Align::right},
                   {"MEMORY", Align::right}});
  for (const TenantStatus& tenant : node.tenants) {
    const std::string id = std::to_string(tenant.id);
    for (const UseStatus& use : tenant.uses) {
      table.add({id, tenant.name, std::to_string(use.gpu), use.state, priority_text(tenant),
                 seconds_text(use.used_s), seconds_text(use.waited_s),
                 seconds_text(use.longest_wait_s), memory_text(use.memory_bytes)});
    }
    if (tenant.uses.empty()) {
      table.add({id, tenant.name, "-", tenant.paused ? "paused" : "absent", priority_text(tenant),
                 "-", "-", "-", "-"});
    }
  }
  return table.lines(width);
}

// What there is of the memory of GPUs whose size is known, and for how long they stood still
// because too little of it was there.
std::vector<std::string> capacity_lines(const NodeStatus& node, std::size_t width) {
  TextTable table({{"GPU", Align::right},
                   {"CAPACITY", Align::right},
                   {"VISIBLE", Align::right},
                   {"OTHER", Align::right},
                   {"SWAP-IDLE", Align::right}});
  for (const GpuStatus& gpu : node.gpus) {
    if (gpu.capacity_bytes == 0) continue;
    table.add({std::to_string(gpu.index), bytes_text(gpu.capacity_bytes),
               memory_text(gpu.visible_bytes), memory_text(gpu.other_bytes),
               seconds_text(gpu.swap_idle_s)});
  }
  return table.lines_if_any(width);
}

// Where the memory is of tenants that tell.
std::vector<std::string> memory_lines(const NodeStatus& node, std::size_t width) {
  TextTable table({{"ID", Align::right},
                   {"TENANT", Align::left, kNameColumnsMin},
                   {"GPU", Align::right},
                   {"ALLOCATED", Align::right},
                   {"RESIDENT", Align::right},
                   {"CLEAN", Align::right},
                   {"SWAPPED", Align::right},
                   {"FIXED", Align::right},
                   {"MANAGED", Align::right},
                   {"HOST", Align::right}});
  for (const TenantStatus& tenant : node.tenants) {
    for (const UseStatus& use : tenant.uses) {
      const std::uint64_t any = use.resident_bytes | use.swapped_bytes | use.fixed_bytes |
                                use.managed_bytes | use.host_bytes;
      if (any == 0) continue;
      table.add({std::to_string(tenant.id), tenant.name, std::to_string(use.gpu),
                 bytes_text(use.memory_bytes), memory_text(use.resident_bytes),
                 memory_text(use.clean_bytes), memory_text(use.swapped_bytes),
                 memory_text(use.fixed_bytes), memory_text(use.managed_bytes),
                 memory_text(use.host_bytes)});
    }
  }
  return table.lines_if_any(width);
}

// What cannot be moved, where it is known of somebody how much the driver has.
std::vector<std::string> unevictable_lines(const NodeStatus& node, std::size_t width) {
  TextTable table({{"ID", Align::right},
                   {"TENANT", Align::left, kNameColumnsMin},
                   {"GPU", Align::right},
                   {"UNEVICTABLE", Align::right},
                   {"FIXED", Align::right},
                   {"DRIVER", Align::right}});
  bool is_known = false;
  for (const TenantStatus& tenant : node.tenants) {
    for (const UseStatus& use : tenant.uses) {
      const std::optional<std::uint64_t> driver = use.driver_bytes;
      if (!driver && use.memory_bytes == 0) continue;
      is_known = is_known || driver;
      table.add({std::to_string(tenant.id), tenant.name, std::to_string(use.gpu),
                 driver ? bytes_text(use.fixed_bytes + *driver) : "-", memory_text(use.fixed_bytes),
                 driver ? bytes_text(*driver) : "-"});
    }
  }
  return is_known ? table.lines(width) : std::vector<std::string>{};
}

// What swaps cost those that had some, in time that is billed to nobody.
std::vector<std::string> swap_lines(const NodeStatus& node, std::size_t width) {
  TextTable table({{"ID", Align::right},
                   {"TENANT", Align::left, kNameColumnsMin},
                   {"GPU", Align::right},
                   {"SWAP-WAIT", Align::right},
                   {"COPIED-OUT", Align::right},
                   {"COPIED-IN", Align::right}});
  for (const TenantStatus& tenant : node.tenants) {
    for (const UseStatus& use : tenant.uses) {
      if (use.memory_wait_s < kSwapWaitLeast_s && (use.copied_out_bytes | use.copied_in_bytes) == 0)
        continue;
      table.add({std::to_string(tenant.id), tenant.name, std::to_string(use.gpu),
                 seconds_text(use.memory_wait_s), memory_text(use.copied_out_bytes),
                 memory_text(use.copied_in_bytes)});
    }
  }
  return table.lines_if_any(width);
}

// What they may have and had, if any of them has a limit.
std::vector<std::string> limit_lines(const NodeStatus& node, std::size_t width) {
  TextTable table({{"ID", Align::right},
                   {"TENANT", Align::left, kNameColumnsMin},
                   {"GPU", Align::right},
                   {"USE", Align::right},
                   {"LIMIT", Align::right},
                   {"CAP", Align::right},
                   {"10S", Align::right},
                   {"60S", Align::right},
                   {"THROTTLED", Align::right}});
  bool is_limited = false;
  for (const TenantStatus& tenant : node.tenants) {
    for (const UseStatus& use : tenant.uses) {
      is_limited = is_limited || use.memory_limit_bytes || use.cap_percent;
      table.add({std::to_string(tenant.id), tenant.name, std::to_string(use.gpu),
                 memory_text(use.memory_used_bytes), limit_text(use), cap_text(use),
                 lately_text(use.share_10s), lately_text(use.share_60s), throttled_text(use)});
    }
  }
  return is_limited ? table.lines(width) : std::vector<std::string>{};
}

std::vector<std::string> limit_error_lines(const NodeStatus& node) {
  std::vector<std::string> lines;
  for (const TenantStatus& tenant : node.tenants) {
    if (!tenant.unverified.empty()) {
      lines.push_back(std::to_string(tenant.id) + " " + harmless(tenant.name) +
                      ": unverified, so that it has no more than the node's defaults: " +
                      harmless(tenant.unverified));
    }
    for (const std::string& error : tenant.limit_errors) {
      lines.push_back(std::to_string(tenant.id) + " " + harmless(tenant.name) + ": " +
                      harmless(error));
    }
  }
  return lines;
}

std::string host_memory_line(const HostMemoryStatus& memory) {
  if (memory.cap_bytes == 0) return "host memory: none is lent\n";
  std::string line = "host memory: " + bytes_text(memory.held_bytes) + " of " +
                     bytes_text(memory.cap_bytes) + " lent, " + bytes_text(memory.ready_bytes) +
                     " ready";
  if (memory.refused > 0) line += ", " + std::to_string(memory.refused) + " requests refused";
  return line + "\n";
}

}  // namespace

std::string headline(const NodeStatus& node) {
  return "nvshare " + harmless(node.version) + ", pid " + std::to_string(node.pid) + ", up " +
         seconds_text(node.uptime_s) + ", " + harmless(node.folder);
}

std::string holder_text(const NodeStatus& node, const GpuStatus& gpu) {
  if (!gpu.holder) return "-";
  const auto found =
      std::find_if(node.tenants.begin(), node.tenants.end(),
                   [&](const TenantStatus& tenant) { return tenant.id == *gpu.holder; });
  return found == node.tenants.end() ? std::to_string(*gpu.holder) : found->name;
}

std::string model_text(const GpuStatus& gpu) {
  constexpr std::string_view kMaker = "NVIDIA ";
  return gpu.name.substr(gpu.name.starts_with(kMaker) ? kMaker.size() : 0);
}

std::string window_text(const GpuStatus& gpu) { return seconds_text(gpu.window_ms / kMsPerSecond); }

std::string turn_text(const GpuStatus& gpu) {
  return gpu.turn_s ? seconds_text(*gpu.turn_s) : "auto";
}

std::string limit_text(const UseStatus& use) {
  return use.memory_limit_bytes ? bytes_text(*use.memory_limit_bytes) : "-";
}

std::string priority_text(const TenantStatus& tenant) {
  constexpr std::uint64_t kUsualWeight = 100;
  // A daemon that tells of no weight knows none.
  if (tenant.weight == 0 || tenant.weight == kUsualWeight) return tenant.priority;
  char times[32];
  std::snprintf(times, sizeof times, " x%g", static_cast<double>(tenant.weight) / kUsualWeight);
  return tenant.priority + times;
}

std::string cap_text(const UseStatus& use) {
  if (!use.cap_percent) return "-";
  const std::string asked = tenths_text(*use.cap_percent);
  const std::string in_force = tenths_text(use.cap_in_force_percent.value_or(*use.cap_percent));
  return asked == in_force ? asked : asked + ">" + in_force;
}

std::string lately_text(const std::optional<double>& share) {
  return share ? tenths_text(*share * kPercent) : "-";
}

std::string throttled_text(const UseStatus& use) {
  return use.cap_percent || use.throttled_s > 0 ? seconds_text(use.throttled_s) : "-";
}

std::string status_table(const NodeStatus& node, std::size_t width) {
  std::string text = headline(node) + "\n";
  if (node.host_memory) text += host_memory_line(*node.host_memory);
  text += "\n";
  text += node.gpus.empty() ? "No GPU so far.\n" : joined(gpu_lines(node, width));
  text += joined(silent_gpu_lines(node)) + "\n";
  text += node.tenants.empty() ? "No tenant. Start one: nvshare run -- COMMAND\n"
                               : joined(tenant_lines(node, width));
  for (const auto& lines :
       {limit_lines(node, width), limit_error_lines(node), capacity_lines(node, width),
        memory_lines(node, width), unevictable_lines(node, width), swap_lines(node, width)}) {
    if (!lines.empty()) text += "\n" + joined(lines);
  }
  return text;
}

}  // namespace nvs::cli
