// SPDX-License-Identifier: Apache-2.0
// Host memory for what clients move out of GPUs. It is the daemon's and not charged to the tenants'
// containers, which would be killed for it; they get it as memfds, whose pages threads have made.
// Decisions are HostBooks'. Nothing here waits: what takes time is posted, and answers are
// collected for whoever sends.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/unique_fd.h"
#include "core/ids.h"
#include "daemon/host_books.h"
#include "daemon/host_view.h"
#include "daemon/host_workers.h"
#include "daemon/session.h"
#include "wire/messages.h"

namespace nvs::daemon {

class HostPool {
 public:
  // How much memory the system could give out; nothing if it is not known.
  using Available = std::function<std::optional<std::uint64_t>()>;
  // No workers: no pool, and every request is denied.
  HostPool(const HostPlan& plan, std::unique_ptr<HostWorkers> workers,
           os::MemfdHugePages huge_pages, Available available);

  // What it needs the loop for: on_progress() while this is readable; -1: nothing.
  int fd() const { return workers_ ? workers_->fd() : -1; }
  void on_progress();

  void join(core::ClientId client, core::TenantId tenant);
  // What it held goes back to the system. Memory of clients that are still there when the daemon
  // ends is theirs: they have data in it.
  void leave(core::ClientId client);
  void need(core::ClientId client, const wire::NeedHost& need);
  void keep(core::ClientId client, const wire::KeptHost& kept);
  void lack(core::ClientId client, const wire::LackHost& lack);
  // False: the segment is not that client's.
  bool give_back(core::ClientId client, const wire::HostDone& done);

  struct Answer {
    core::ClientId client;
    std::variant<wire::HostSegment, wire::HostDenied, wire::HostShort> message;
  };
  // What there is to tell clients since it was last called.
  std::vector<Answer> take_answers();
  void send(const Answer& answer, Session& session) const;

  HostView view() const;

 private:
  Result<UniqueFd> make_segment() const;
  void fail(SegmentId segment, const Error& error);
  void perform();
  void perform(const HostBooks::Touch& touch);
  void perform(const HostBooks::Free& free);
  void perform(const HostBooks::HandOver& hand_over);
  void perform(const HostBooks::Deny& deny);
  void perform(const HostBooks::TellShort& tell);

  HostPlan plan_;
  os::MemfdHugePages huge_pages_;
  Available available_;
  bool has_failed_ = false;  // the last segment could not be made, and the log says so
  std::unordered_map<SegmentId, UniqueFd> memfds_;
  HostBooks books_;
  HostBooks::Actions actions_;
  std::vector<Answer> answers_;
  std::unique_ptr<HostWorkers> workers_;  // goes first: it uses the descriptors
};

}  // namespace nvs::daemon
