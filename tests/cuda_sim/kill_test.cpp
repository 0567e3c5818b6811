// SPDX-License-Identifier: Apache-2.0
// Processes are killed at points of chance while they use all that the machine's books count. The
// others must go on, and at the end the books must be as on the first day.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <new>
#include <random>
#include <thread>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "tests/cuda_sim/gpu.h"
#include "tests/cuda_sim/kill_worker.h"
#include "tests/cuda_sim/sim_fixture.h"

namespace nvs::sim_test {
namespace {

constexpr unsigned kKills = 200;
constexpr std::uint64_t kSeed = 20'261;

std::uint64_t chosen_seed() {
  const char* text = std::getenv("NVSHARE_TEST_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : kSeed;
}

// A crowd of workers, some of whom are killed and replaced.
class Crowd {
 public:
  Crowd(const SimMachine& machine, std::uint64_t seed) : machine_(machine), random_(seed) {
    void* page =
        ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) throw std::bad_alloc();
    board_ = new (page) Board;
    auto [in, out] = Line::make();
    exports_in_ = std::move(in);
    exports_out_ = std::move(out);
    for (unsigned i = 0; i < kWorkers; ++i) start(i);
  }
  ~Crowd() {
    for (auto& worker : workers_) worker.reset();
    ::munmap(board_, sizeof(Board));
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  // Kills one to three of them at once. How many it were.
  unsigned kill_some(unsigned at_most) {
    std::this_thread::sleep_for(std::chrono::microseconds(random_() % 20'000));
    const unsigned count = std::min(1 + static_cast<unsigned>(random_() % 3), at_most);
    const auto first = static_cast<unsigned>(random_() % kWorkers);
    for (unsigned i = 0; i < count; ++i) workers_[(first + i) % kWorkers]->send(SIGKILL);
    for (unsigned i = 0; i < count; ++i) {
      const unsigned victim = (first + i) % kWorkers;
      EXPECT_EQ(workers_[victim]->wait(), -SIGKILL) << workers_[victim]->errors();
    }
    for (unsigned i = count; i < kWorkers; ++i) expect_progress((first + i) % kWorkers);
    for (unsigned i = 0; i < count; ++i) start((first + i) % kWorkers);
    return count;
  }

  void expect_all_progress() {
    for (unsigned i = 0; i < kWorkers; ++i) expect_progress(i);
  }

 private:
  void start(unsigned index) {
    workers_[index] =
        std::make_unique<SimProcess>(machine_, [this, index, seed = random_()](Line&) {
          work_until_killed(*board_, index, seed, {exports_in_, exports_out_});
        });
  }

  void expect_progress(unsigned index) {
    const std::uint64_t before = board_->progress[index].load();
    const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (board_->progress[index].load() == before) {
      ASSERT_LT(std::chrono::steady_clock::now(), patience)
          << "worker " << index << " does not go on: " << workers_[index]->errors();
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }

  const SimMachine& machine_;
  std::mt19937_64 random_;
  Board* board_ = nullptr;
  Line exports_in_;
  Line exports_out_;
  std::array<std::unique_ptr<SimProcess>, kWorkers> workers_;
};

// A witness lives through all of it, so that no process finds the machine empty and starts its
// books anew.
TEST(Kill, SurvivorsGoOnAndTheBooksCloseAtZero) {
  const std::uint64_t seed = chosen_seed();
  std::cout << "NVSHARE_TEST_SEED=" << seed << std::endl;
  SimMachine machine(Environment{{"NVSHARE_SIM_GPUS", "2"}, {"NVSHARE_SIM_TIME", "0.05"}});
  SimProcess witness(machine, [](Line& line) {
    initialised_driver();
    line.tell("there");
    line.expect("go");
  });
  witness.line().expect("there");
  {
    Crowd crowd(machine, seed);
    for (unsigned kills = 0; kills < kKills && !testing::Test::HasFailure();) {
      kills += crowd.kill_some(kKills - kills);
    }
    if (!testing::Test::HasFailure()) crowd.expect_all_progress();
    EXPECT_EQ(machine.books().processes, kWorkers + 1);
    // The crowd is killed too, when this block ends.
  }
  for (int gpu = 0; gpu < 2; ++gpu) EXPECT_EQ(machine.books(gpu), (Books{0, 1, 0, 0}));
  run_process(machine, [](Line&) {
    const Gpu gpu;
    EXPECT_EQ(gpu.read(gpu.filled(4096, 3), 4096), std::vector<float>(4096, 3));
  });
  witness.line().tell("go");
  EXPECT_EQ(witness.wait(), 0);
  std::cout << "NVSHARE_TEST_SEED=" << seed << std::endl;
}

}  // namespace
}  // namespace nvs::sim_test
