// SPDX-License-Identifier: Apache-2.0
// What plugin and daemon tell each other, on the socket that the daemon has for plugins: how busy
// each GPU is, and which pod has which slot (ADR-0025). Where the daemon does not answer, pods are
// spread by their number alone.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/instant.h"
#include "device_plugin/config.h"

namespace nvs::plugin {

// By UUID: the part of its time that programs had lately, and what waits for it.
using GpuLoads = std::map<std::string, double>;

struct DaemonStatus {
  std::uint64_t pid = 0;
  double uptime_s = 0;
  GpuLoads loads;
};
// `text` is the daemon's answer to `status`.
Parsed<DaemonStatus> parse_status(const std::string& text);

// A slot that a container has, as the kubelet says.
struct SlotHolder {
  std::string slot;
  std::string space;  // the pod's namespace
  std::string pod;
  std::string container;
  // Of the resources for memory and time, what the container has; 0: nothing.
  std::uint64_t memory_units = 0;
  std::uint64_t core_units = 0;
  std::string resource = {};  // of the slot
  auto operator<=>(const SlotHolder&) const = default;
};
// Who has slots. Of a kubelet that has just come it is not known who else has.
struct SlotList {
  std::vector<SlotHolder> holders;
  bool is_whole = false;
};
// The requests that tell the list, each short enough for the daemon, to which nobody else has a
// slot if it is whole. A unit of memory is so many bytes.
std::vector<std::string> slot_requests(const SlotList& slots, std::uint64_t unit_bytes);

class DaemonLink {
 public:
  // Waits for that long at most in all.
  DaemonLink(std::string socket, Duration patience)
      : socket_(std::move(socket)), patience_(patience) {}

  // Asks for the loads, and tells the slots if this daemon does not know them.
  Parsed<GpuLoads> talk(const SlotList& slots, std::uint64_t unit_bytes);

 private:
  std::string socket_;
  Duration patience_;
  // Another daemon knows nothing of what the one before was told. In containers all may have the
  // same pid.
  std::uint64_t told_pid_ = 0;
  double told_uptime_s_ = 0;
  SlotList told_;
  std::uint64_t told_unit_bytes_ = 0;
};

}  // namespace nvs::plugin
