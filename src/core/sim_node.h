// SPDX-License-Identifier: Apache-2.0
// A core with a clock of its own for tests: a scenario is a few calls, grants are looked up, and
// deadlines come by themselves. Clients can be told to answer by themselves too.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/scheduler.h"

namespace nvs::core {

class SimNode {
 public:
  // What a client was last told about memory.
  struct Allowed {
    std::uint64_t number = 0;
    std::uint64_t bytes = 0;
    bool shared = false;
  };

  explicit SimNode(int gpus = 1, GpuPolicy policy = {});

  // Clients, tenants and GPUs are plain numbers here.
  void join(int client, int tenant, Priority priority = Priority::normal, int weight = 100);
  void leave(int client);
  void want(int client, int gpu = 0);
  void idle(int client, int gpu = 0);
  void busy(int client, int gpu = 0);
  // Asked, or giving the window up; with threads at the gate or not.
  void drained(int client, int gpu = 0, bool waiting = false);
  void still(int client, int gpu = 0);
  void stalled(int client, int gpu = 0);
  void refused(int client, int gpu = 0);
  void found_open(int client, int gpu = 0, bool in_time = true);
  void cap(int tenant, int percent);  // 0: none
  void step(const Event& event);

  // From now on it always has work there and answers CloseWindow after `drain`, wanting more.
  void saturate(int client, int gpu = 0, Duration drain = Duration::from_us(100));
  // It has work for `work` every `period`, goes idle after it, and answers at once.
  void burst(int client, int gpu, Duration work, Duration period);

  // Lets time pass; everything that is due happens on the way.
  void pass(Duration span);
  void pass_ms(int ms) { pass(Duration::from_ms(ms)); }

  // What is open now, as the clients know it.
  bool is_open(int client, int gpu = 0) const;
  bool is_closing(int client, int gpu = 0) const;
  int opened(int client, int gpu = 0) const;  // how often
  Allowed allowed(int client, int gpu = 0) const;
  GrantId grant(int client, int gpu = 0) const;
  const std::vector<Effect>& effects() const { return effects_; }  // of the latest step
  std::string effects_text() const;                                // of the latest step
  Duration used(int tenant, int gpu = 0) const;
  TenantOnGpu seat(int tenant, int gpu = 0) const;
  NodeView view() const { return scheduler_.view(now_); }
  Instant now() const { return now_; }
  std::optional<Instant> deadline() const { return scheduler_.next_deadline(); }
  std::string take_trace() { return std::exchange(trace_, {}); }

 private:
  using Key = std::pair<int, int>;  // client, GPU
  struct Gate {
    GrantId grant{};
    bool open = false;
    bool closing = false;
    int opened = 0;
    bool saturates = false;
    Duration drain;
    Duration work;
    Duration period;
    Allowed allowed;
  };
  enum class Do { answer, finish, arrive };

  void apply(const Effect& effect);
  void react(Do what, Key key);
  void later(Duration span, Do what, Key key) { agenda_.insert({now_ + span, {what, key}}); }

  Scheduler scheduler_;
  Instant now_ = Instant::from_ns(1'000'000'000);
  std::map<Key, Gate> gates_;
  std::multimap<Instant, std::pair<Do, Key>> agenda_;
  std::vector<Effect> effects_;
  std::string trace_;
};

}  // namespace nvs::core
