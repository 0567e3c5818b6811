// SPDX-License-Identifier: Apache-2.0
#include "core/trace_text.h"

#include <cstdint>

namespace nvs::core {
namespace {

class Line {
 public:
  explicit Line(const char* what) : text_(what) {}

  Line& number(const char* name, std::uint64_t value) {
    text_ += ' ';
    text_ += name;
    text_ += '=';
    text_ += std::to_string(value);
    return *this;
  }
  Line& client(ClientId id) { return number("client", static_cast<std::uint64_t>(id)); }
  Line& tenant(TenantId id) { return number("tenant", static_cast<std::uint64_t>(id)); }
  Line& gpu(GpuId id) { return number("gpu", index_of(id)); }
  Line& grant(GrantId id) { return number("grant", static_cast<std::uint64_t>(id)); }
  Line& word(const char* word) {
    text_ += ' ';
    text_ += word;
    return *this;
  }
  Line& terms(const WindowTerms& terms) {
    if (terms.bounded()) word("bounded");
    if (terms.queue_bound > kQueueBound) {
      number("queue_us", static_cast<std::uint64_t>(terms.queue_bound.ns() / 1000));
    }
    if (terms.awaited) word("awaited");
    if (terms.capped) word("capped");
    return *this;
  }
  // Only if there is something to tell.
  Line& span(const char* name, Duration span) {
    if (span == Duration{}) return *this;
    word(name);
    text_ += "_ns=" + std::to_string(span.ns());
    return *this;
  }
  Line& cap(Share cap) { return number("cap_ppm", cap); }
  Line& priority(Priority priority) {
    constexpr const char* kNames[] = {"low", "normal", "high"};
    return word(kNames[static_cast<std::size_t>(priority)]);
  }
  Line& policy(const GpuPolicy& policy) {
    constexpr const char* kNames[] = {"auto", "serial", "concurrent"};
    word(kNames[static_cast<std::size_t>(policy.mode)]);
    number("window_us", static_cast<std::uint64_t>(policy.window.ns() / 1000));
    if (policy.turn) number("turn_ms", static_cast<std::uint64_t>(policy.turn->ns() / 1'000'000));
    return *this;
  }

  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// Most events name a client's gate, many with the grant that they are about.
template <class Event>
std::string about_gate(const char* what, const Event& event) {
  return Line(what).client(event.client).gpu(event.gpu).take();
}
template <class Event>
std::string about_grant(const char* what, const Event& event) {
  return Line(what).client(event.client).gpu(event.gpu).grant(event.grant).take();
}

struct Describe {
  std::string operator()(const GpuAdded& it) const {
    Line line("gpu_added");
    return line.gpu(it.gpu).number("bytes", it.capacity_bytes).policy(it.policy).take();
  }
  std::string operator()(const ClientJoined& it) const {
    Line line("joined");
    line.client(it.client).tenant(it.tenant).priority(it.priority);
    line.number("weight", it.weight);
    if (it.cap != kNoCap) line.cap(it.cap);
    return line.take();
  }
  std::string operator()(const ClientLeft& it) const {
    return Line("left").client(it.client).take();
  }
  std::string operator()(const Wanted& it) const { return about_gate("wanted", it); }
  std::string operator()(const WentIdle& it) const {
    return Line(about_grant("idle", it).c_str()).span("quiet", it.quiet).take();
  }
  std::string operator()(const WentBusy& it) const {
    return Line(about_grant("busy", it).c_str()).span("since", it.since).take();
  }
  std::string operator()(const Drained& it) const {
    Line line(about_grant("drained", it).c_str());
    if (it.waiting) line.word("waiting");
    return line.span("quiet", it.quiet).take();
  }
  std::string operator()(const StillDraining& it) const { return about_grant("draining", it); }
  std::string operator()(const DrainStalled& it) const { return about_grant("stalled", it); }
  std::string operator()(const DrainRefused& it) const { return about_grant("refused", it); }
  std::string operator()(const FoundOpen& it) const {
    return about_gate("found_open", it) + (it.in_time ? "" : " late");
  }
  std::string operator()(const MemoryHeld& it) const {
    Line line("holds");
    line.client(it.client).gpu(it.gpu).number("number", it.number);
    line.number("resident", it.resident).number("away", it.away);
    line.number("fixed", it.fixed).number("asked", it.asked);
    return line.take() + (it.is_short ? " short" : "") + (it.is_faulted ? " faulted" : "") +
           (it.stays ? " stays" : "") + (it.reached ? " reached" : "");
  }
  std::string operator()(const CapacitySet& it) const {
    return Line("capacity").gpu(it.gpu).number("bytes", it.bytes).take();
  }
  std::string operator()(const PolicySet& it) const {
    return Line("policy").gpu(it.gpu).policy(it.policy).take();
  }
  std::string operator()(const PrioritySet& it) const {
    return Line("priority").tenant(it.tenant).priority(it.priority).take();
  }
  std::string operator()(const WeightSet& it) const {
    return Line("weight").tenant(it.tenant).number("weight", it.weight).take();
  }
  std::string operator()(const CapSet& it) const {
    return Line("cap").tenant(it.tenant).cap(it.cap).take() + (it.settles ? "" : " own");
  }
  std::string operator()(const CreditSet& it) const {
    return Line("credit").tenant(it.tenant).gpu(it.gpu).span("credit", it.credit).take();
  }
  std::string operator()(const TenantPaused& it) const {
    return Line("paused").tenant(it.tenant).take();
  }
  std::string operator()(const TenantResumed& it) const {
    return Line("resumed").tenant(it.tenant).take();
  }
  std::string operator()(const Tick&) const { return "tick"; }

  std::string operator()(const OpenWindow& it) const {
    return Line("open").client(it.client).gpu(it.gpu).grant(it.grant).terms(it.terms).take();
  }
  std::string operator()(const ChangeTerms& it) const {
    return Line("terms").client(it.client).gpu(it.gpu).grant(it.grant).terms(it.terms).take();
  }
  std::string operator()(const CloseWindow& it) const { return about_grant("close", it); }
  std::string operator()(const LetOneIn& it) const { return about_grant("let_one_in", it); }
  std::string operator()(const SetAllowance& it) const {
    Line line("allow");
    line.client(it.client).gpu(it.gpu).number("number", it.number).number("bytes", it.bytes);
    return line.take() + (it.shared ? " shared" : "");
  }
  std::string operator()(const GetReady& it) const {
    Line line("get_ready");
    line.client(it.client).gpu(it.gpu);
    return line.number("in_us", static_cast<std::uint64_t>(it.in.ns() / 1000)).take();
  }
};

}  // namespace

std::string text_of(const Event& event) { return std::visit(Describe{}, event); }
std::string text_of(const Effect& effect) { return std::visit(Describe{}, effect); }

std::string text_of(Instant now) {
  constexpr std::int64_t kNsPerMs = 1'000'000;
  constexpr std::size_t kDigits = 6;
  const std::string fraction = std::to_string(now.ns() % kNsPerMs);
  std::string text = std::to_string(now.ns() / kNsPerMs) + '.';
  text.append(kDigits - fraction.size(), '0');
  return text + fraction;
}

std::string text_of_step(Instant now, const Event& event, std::span<const Effect> effects) {
  std::string text = text_of(now) + ' ' + text_of(event) + '\n';
  for (const Effect& effect : effects) text += "    " + text_of(effect) + '\n';
  return text;
}

}  // namespace nvs::core
