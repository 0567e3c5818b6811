// SPDX-License-Identifier: Apache-2.0
// test_tenant GPU BYTES PERCENT: what a CUDA program looks like to the machine's books. It has a
// context and memory on a GPU and keeps it busy for a share of the time, says "ready", and ends
// when its standard input does.
#include <cstdlib>
#include <memory>

#include <poll.h>
#include <unistd.h>

#include "cuda_sim/config/settings.h"
#include "cuda_sim/machine/clock.h"
#include "cuda_sim/machine/machine.h"

namespace {

using nvs::sim::Machine;
using nvs::sim::Nanos;

constexpr Nanos kCycle = 20'000'000;

class Computer {
 public:
  Computer(Machine& machine, unsigned gpu)
      : machine_(machine), gpu_(gpu), context_(machine.next_context_key()) {}

  void compute(Nanos busy) {
    const nvs::sim::SliceTimes times{.slice = kCycle, .switch_cost = 0, .grace = kCycle};
    nvs::sim::ComputeToken& token = machine_.gpu(gpu_).compute;
    while (busy > 0) {
      const Nanos now = nvs::sim::now_ns();
      const auto answer =
          token.request({.context = context_, .now = now, .ready = now, .want = busy}, times);
      if (answer.granted) {
        busy -= answer.end - answer.start;
        count(answer.end - answer.start, now);
      } else {
        token.wait(answer);
      }
    }
  }

 private:
  void count(Nanos taken, Nanos now) {
    machine_.own_slot().gpu[gpu_].busy_ns.fetch_add(static_cast<std::uint64_t>(taken));
    machine_.sample_utilisation(gpu_, now);
  }

  Machine& machine_;
  unsigned gpu_;
  std::uint64_t context_;
};

bool input_ended() {
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  return ::poll(&input, 1, 0) > 0;
}

int run(Machine& machine, unsigned gpu, std::uint64_t bytes, unsigned percent) {
  if (!machine.charge(gpu, bytes)) return 1;
  machine.own_slot().gpu[gpu].contexts.fetch_add(1);
  if (::write(STDOUT_FILENO, "ready\n", 6) != 6) return 1;
  Computer computer{machine, gpu};
  Nanos next = nvs::sim::now_ns();
  while (!input_ended()) {
    if (percent > 0) computer.compute(kCycle * percent / 100);
    nvs::sim::doze_until(next += kCycle);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const auto settings = nvs::sim::read_settings();
  if (!settings) return 2;
  const auto machine = Machine::attach(*settings);
  if (!machine) return 2;
  const auto number = [&](int i) { return std::strtoull(argv[i], nullptr, 10); };
  return run(**machine, static_cast<unsigned>(number(1)), number(2),
             static_cast<unsigned>(number(3)));
}
