// SPDX-License-Identifier: Apache-2.0
#include "daemon/effects.h"

#include "base/assert.h"
#include "core/policy.h"

namespace nvs::daemon {
namespace {

class Sender {
 public:
  explicit Sender(Session& session) : session_(session) {}

  Session::Output operator()(const core::OpenWindow& open) const {
    return open_with(open, open.took_over ? wire::u32{wire::kTookOver} : 0U);
  }
  // Open again with the same grant: only the terms are new to the client.
  Session::Output operator()(const core::ChangeTerms& change) const { return open_with(change); }
  Session::Output operator()(const core::CloseWindow& close) const {
    wire::Close message;
    message.ordinal = ordinal_of(close.gpu);
    message.grant = static_cast<wire::u64>(close.grant);
    return session_.send(message);
  }
  Session::Output operator()(const core::LetOneIn& let_in) const {
    wire::LetIn message;
    message.ordinal = ordinal_of(let_in.gpu);
    message.grant = static_cast<wire::u64>(let_in.grant);
    return session_.send(message);
  }
  Session::Output operator()(const core::SetAllowance& allowance) const {
    // What a client has, what is away and what it asks for, and nothing that it would not take.
    static_assert(3 * core::kGpuBytesMost <= wire::kGpuBytesMax);
    wire::Allow message;
    message.ordinal = ordinal_of(allowance.gpu);
    message.flags = allowance.shared ? wire::u32{wire::kShared} : 0U;
    message.number = allowance.number;
    message.bytes = allowance.bytes;
    return session_.send(message);
  }
  Session::Output operator()(const core::GetReady& ready) const {
    wire::GetReady message;
    message.ordinal = ordinal_of(ready.gpu);
    message.in_ns = static_cast<wire::u64>(ready.in.ns());
    return session_.send(message);
  }

 private:
  std::uint32_t ordinal_of(core::GpuId gpu) const {
    const auto ordinal = session_.ordinal_of(gpu);
    NVS_ASSERT(ordinal.has_value());
    return *ordinal;
  }

  template <class Effect>
  Session::Output open_with(const Effect& effect, wire::u32 flags = 0) const {
    wire::Open message;
    message.flags = flags;
    message.ordinal = ordinal_of(effect.gpu);
    if (effect.terms.bounded()) {
      message.flags |= wire::kBounded;
      message.queue_bound_ns = static_cast<wire::u64>(effect.terms.queue_bound.ns());
    }
    if (effect.terms.awaited) message.flags |= wire::kAwaited;
    if (effect.terms.capped) message.flags |= wire::kCapped;
    message.grant = static_cast<wire::u64>(effect.grant);
    return session_.send(message);
  }

  Session& session_;
};

}  // namespace

core::ClientId client_of(const core::Effect& effect) {
  return std::visit([](const auto& one) { return one.client; }, effect);
}

Session::Output send_effect(const core::Effect& effect, Session& session) {
  return std::visit(Sender{session}, effect);
}

}  // namespace nvs::daemon
