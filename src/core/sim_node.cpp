// SPDX-License-Identifier: Apache-2.0
#include "core/sim_node.h"

#include <algorithm>
#include <type_traits>

#include "core/trace_text.h"

namespace nvs::core {
namespace {

ClientId client_id(int number) { return ClientId{static_cast<std::uint64_t>(number)}; }
TenantId tenant_id(int number) { return TenantId{static_cast<std::uint64_t>(number)}; }
GpuId gpu_id(int number) { return GpuId{static_cast<std::uint32_t>(number)}; }

}  // namespace

SimNode::SimNode(int gpus, GpuPolicy policy) {
  for (int gpu = 0; gpu < gpus; ++gpu) step(GpuAdded{gpu_id(gpu), 1U << 30, policy});
  trace_.clear();
}

void SimNode::step(const Event& event) {
  effects_.clear();
  scheduler_.step(now_, event, effects_);
  trace_ += text_of_step(Instant::from_ns(now_.ns() - 1'000'000'000), event, effects_);
  for (const Effect& effect : effects_) apply(effect);
}

void SimNode::apply(const Effect& effect) {
  std::visit(
      [this](const auto& it) {
        const Key key{static_cast<int>(it.client), static_cast<int>(it.gpu)};
        Gate& gate = gates_[key];
        using Kind = std::remove_cvref_t<decltype(it)>;
        if constexpr (requires { it.grant; }) gate.grant = it.grant;
        if constexpr (std::is_same_v<Kind, OpenWindow>) {
          gate.open = true;
          gate.closing = false;
          ++gate.opened;
          if (gate.work > Duration{}) later(gate.work, Do::finish, key);
        } else if constexpr (std::is_same_v<Kind, CloseWindow>) {
          gate.open = false;
          gate.closing = true;
          if (gate.saturates || gate.work > Duration{}) later(gate.drain, Do::answer, key);
        } else if constexpr (std::is_same_v<Kind, SetAllowance>) {
          gate.allowed = {it.number, it.bytes, it.shared};
        }
      },
      effect);
}

void SimNode::react(Do what, Key key) {
  Gate& gate = gates_[key];
  const auto [client, gpu] = key;
  switch (what) {
    case Do::answer:
      drained(client, gpu, gate.saturates);
      break;
    case Do::finish:
      if (gate.open) idle(client, gpu);
      break;
    case Do::arrive:
      later(gate.period, Do::arrive, key);
      if (!gate.open) {
        want(client, gpu);
      } else {
        busy(client, gpu);
        later(gate.work, Do::finish, key);
      }
      break;
  }
}

void SimNode::pass(Duration span) {
  const Instant end = now_ + span;
  for (;;) {
    const auto due = deadline();
    const bool ticks = due && *due <= end && (agenda_.empty() || *due < agenda_.begin()->first);
    if (ticks) {
      now_ = std::max(now_, *due);
      step(Tick{});
    } else if (!agenda_.empty() && agenda_.begin()->first <= end) {
      now_ = std::max(now_, agenda_.begin()->first);
      const auto [what, key] = agenda_.begin()->second;
      agenda_.erase(agenda_.begin());
      react(what, key);
    } else {
      break;
    }
  }
  now_ = end;
}

void SimNode::join(int client, int tenant, Priority priority, int weight) {
  step(ClientJoined{client_id(client), tenant_id(tenant), priority,
                    static_cast<std::uint32_t>(weight)});
}
void SimNode::leave(int client) {
  std::erase_if(gates_, [client](const auto& entry) { return entry.first.first == client; });
  std::erase_if(agenda_, [client](const auto& at) { return at.second.second.first == client; });
  step(ClientLeft{client_id(client)});
}
void SimNode::want(int client, int gpu) { step(Wanted{client_id(client), gpu_id(gpu)}); }
void SimNode::idle(int client, int gpu) {
  step(WentIdle{client_id(client), gpu_id(gpu), grant(client, gpu)});
}
void SimNode::busy(int client, int gpu) {
  step(WentBusy{client_id(client), gpu_id(gpu), grant(client, gpu)});
}
void SimNode::drained(int client, int gpu, bool waiting) {
  gates_[{client, gpu}].closing = false;
  gates_[{client, gpu}].open = false;
  step(Drained{client_id(client), gpu_id(gpu), grant(client, gpu), waiting});
}
void SimNode::still(int client, int gpu) {
  step(StillDraining{client_id(client), gpu_id(gpu), grant(client, gpu)});
}
void SimNode::stalled(int client, int gpu) {
  step(DrainStalled{client_id(client), gpu_id(gpu), grant(client, gpu)});
}
void SimNode::refused(int client, int gpu) {
  gates_[{client, gpu}].closing = false;
  step(DrainRefused{client_id(client), gpu_id(gpu), grant(client, gpu)});
}
void SimNode::found_open(int client, int gpu, bool in_time) {
  step(FoundOpen{client_id(client), gpu_id(gpu), in_time});
}

void SimNode::cap(int tenant, int percent) {
  step(CapSet{tenant_id(tenant), static_cast<Share>(percent) * (kWholeGpu / 100)});
}

void SimNode::saturate(int client, int gpu, Duration drain) {
  Gate& gate = gates_[{client, gpu}];
  gate.saturates = true;
  gate.drain = drain;
  want(client, gpu);
}
void SimNode::burst(int client, int gpu, Duration work, Duration period) {
  Gate& gate = gates_[{client, gpu}];
  gate.work = work;
  gate.period = period;
  later(Duration{}, Do::arrive, {client, gpu});
}

bool SimNode::is_open(int client, int gpu) const {
  const auto found = gates_.find({client, gpu});
  return found != gates_.end() && found->second.open;
}
bool SimNode::is_closing(int client, int gpu) const {
  const auto found = gates_.find({client, gpu});
  return found != gates_.end() && found->second.closing;
}
int SimNode::opened(int client, int gpu) const {
  const auto found = gates_.find({client, gpu});
  return found == gates_.end() ? 0 : found->second.opened;
}
SimNode::Allowed SimNode::allowed(int client, int gpu) const {
  const auto found = gates_.find({client, gpu});
  return found == gates_.end() ? Allowed{} : found->second.allowed;
}
GrantId SimNode::grant(int client, int gpu) const {
  const auto found = gates_.find({client, gpu});
  return found == gates_.end() ? GrantId{} : found->second.grant;
}
std::string SimNode::effects_text() const {
  std::string text;
  for (const Effect& effect : effects_) text += text_of(effect) + '\n';
  return text;
}
TenantOnGpu SimNode::seat(int tenant, int gpu) const {
  for (const TenantView& view : this->view().tenants) {
    if (view.tenant != tenant_id(tenant)) continue;
    for (const TenantOnGpu& on : view.gpus) {
      if (on.gpu == gpu_id(gpu)) return on;
    }
  }
  return {};
}
Duration SimNode::used(int tenant, int gpu) const { return seat(tenant, gpu).used; }

}  // namespace nvs::core
