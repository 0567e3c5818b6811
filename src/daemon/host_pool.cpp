// SPDX-License-Identifier: Apache-2.0
#include "daemon/host_pool.h"

#include <cerrno>
#include <utility>

#include "base/log.h"
#include "os/memfd.h"

namespace nvs::daemon {

HostPool::HostPool(const HostPlan& plan, std::unique_ptr<HostWorkers> workers,
                   os::MemfdHugePages huge_pages, Available available)
    : plan_(workers ? plan : HostPlan{}),
      huge_pages_(huge_pages),
      available_(std::move(available)),
      books_(plan_),
      workers_(std::move(workers)) {}

void HostPool::join(core::ClientId client, core::TenantId tenant) {
  books_.join(client, tenant, actions_);
  perform();
}

void HostPool::leave(core::ClientId client) {
  books_.leave(client, actions_);
  perform();
}

void HostPool::need(core::ClientId client, const wire::NeedHost& need) {
  books_.need(client, need.request, need.bytes, actions_);
  perform();
}

void HostPool::keep(core::ClientId client, const wire::KeptHost& kept) {
  books_.keep(client, kept.bytes, actions_);
  perform();
}

void HostPool::lack(core::ClientId client, const wire::LackHost& lack) {
  books_.lack(client, lack.bytes, actions_);
  perform();
}

bool HostPool::give_back(core::ClientId client, const wire::HostDone& done) {
  const bool was_held = books_.give_back(client, static_cast<SegmentId>(done.segment), actions_);
  perform();
  return was_held;
}

void HostPool::on_progress() {
  for (const HostWorkers::Done& done : workers_->take_done()) {
    if (done.work == HostWorkers::Work::free) {
      books_.freed(done.segment, actions_);
    } else if (done.error == 0) {
      has_failed_ = false;
      books_.touched(done.segment, actions_);
    } else {
      fail(done.segment, Error::from_errno(done.error, "touch memory"));
    }
  }
  perform();
}

// Some have consequences at once, which are appended.
void HostPool::perform() {
  for (std::size_t i = 0; i < actions_.size(); ++i) {
    const HostBooks::Action action = actions_[i];
    std::visit([this](const auto& one) { perform(one); }, action);
  }
  actions_.clear();
}

// Once for as long as it lasts: clients may go on asking.
void HostPool::fail(SegmentId segment, const Error& error) {
  if (!has_failed_) {
    log(Level::warning, "no host memory for what is moved out of GPUs",
        {{"error", error.message()}});
  }
  has_failed_ = true;
  books_.failed(segment, actions_);
}

// The kernel does not refuse: it would rather end somebody's program.
Result<UniqueFd> HostPool::make_segment() const {
  const auto available = available_();
  const std::uint64_t touching = books_.view().touching_bytes;  // this one among them
  if (available && *available < kHostMarginBytes + touching) {
    return tl::unexpected(Error::from_errno(ENOMEM, "little memory is left"));
  }
  return os::make_memfd("nvshare", plan_.segment_bytes);
}

void HostPool::perform(const HostBooks::Touch& touch) {
  Result<UniqueFd> memfd = make_segment();
  if (!memfd) return fail(touch.segment, memfd.error());
  workers_->touch(touch.segment, memfd->get(), plan_.segment_bytes);
  memfds_.emplace(touch.segment, std::move(*memfd));
}

void HostPool::perform(const HostBooks::Free& free) {
  const auto found = memfds_.find(free.segment);
  if (found == memfds_.end()) return books_.freed(free.segment, actions_);  // never made
  workers_->free(free.segment, std::move(found->second), plan_.segment_bytes);
  memfds_.erase(found);
}

void HostPool::perform(const HostBooks::HandOver& hand_over) {
  wire::HostSegment message;
  message.request = hand_over.request;
  message.segment = static_cast<wire::u64>(hand_over.segment);
  message.bytes = plan_.segment_bytes;
  answers_.push_back({hand_over.client, message});
}

void HostPool::perform(const HostBooks::Deny& deny) {
  wire::HostDenied message;
  message.reason = static_cast<wire::u32>(deny.reason);
  message.request = deny.request;
  message.bytes = deny.bytes;
  answers_.push_back({deny.client, message});
  log(Level::debug, "host memory denied",
      {{"client", static_cast<std::uint64_t>(deny.client)},
       {"reason", message.reason},
       {"bytes", deny.bytes}});
}

void HostPool::perform(const HostBooks::TellShort& tell) {
  answers_.push_back({tell.client, wire::HostShort{tell.is_short ? 1U : 0U, 0}});
}

std::vector<HostPool::Answer> HostPool::take_answers() { return std::exchange(answers_, {}); }

void HostPool::send(const Answer& answer, Session& session) const {
  if (const auto* denied = std::get_if<wire::HostDenied>(&answer.message)) {
    session.send(*denied);
    return;
  }
  if (const auto* level = std::get_if<wire::HostShort>(&answer.message)) {
    session.send(*level);
    return;
  }
  const auto& message = std::get<wire::HostSegment>(answer.message);
  const auto found = memfds_.find(static_cast<SegmentId>(message.segment));
  if (found == memfds_.end()) return;  // given back already, by a guess of its number
  session.send_with_file(message, found->second.get());
}

HostView HostPool::view() const {
  HostView view = books_.view();
  view.huge_pages = huge_pages_.possible;
  return view;
}

}  // namespace nvs::daemon
