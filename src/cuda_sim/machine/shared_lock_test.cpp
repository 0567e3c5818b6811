// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/machine/shared_lock.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "cuda_sim/machine/test_child.h"

namespace nvs::sim {
namespace {

struct Room {
  explicit Room(FromStopped policy) : lock(policy) {}
  SharedLock lock;
  volatile std::uint64_t count = 0;  // what the lock guards: no atomic, so that a gap would show
  std::atomic<int> go{0};
};

struct Unmap {
  void operator()(Room* room) const { ::munmap(room, sizeof(Room)); }
};

std::unique_ptr<Room, Unmap> shared_room(FromStopped policy) {
  void* memory =
      ::mmap(nullptr, sizeof(Room), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return std::unique_ptr<Room, Unmap>(new (memory) Room(policy));
}

void count_up(Room& room, int times) {
  for (int i = 0; i < times; ++i) {
    const std::lock_guard guard{room.lock};
    room.count = room.count + 1;
  }
}

TEST(SharedLock, ProcessesAndTheirThreadsExcludeEachOther) {
  constexpr int kProcesses = 3;
  constexpr int kTimes = 20'000;
  const auto room = shared_room(FromStopped::wait);
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    std::thread other([&] { count_up(*room, kTimes); });
    count_up(*room, kTimes);
    other.join();
    ::_exit(0);
  }
  for (const pid_t child : children) {
    int status = -1;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(room->count, 2ULL * kProcesses * kTimes);
}

TEST(SharedLock, TakenOverFromAnOwnerThatWasKilled) {
  for (const FromStopped policy : {FromStopped::wait, FromStopped::steal}) {
    const auto room = shared_room(policy);
    const TestChild owner([&] { room->lock.lock(); });
    ASSERT_TRUE(owner.ran());
    owner.kill();
    count_up(*room, 1);
    EXPECT_EQ(room->count, 1U);
    // It is an ordinary lock again, for others too.
    const TestChild next([&] { count_up(*room, 1); });
    count_up(*room, 1);
    EXPECT_EQ(room->count, 3U);
  }
}

TEST(SharedLock, OneOfManyTakesOverAtATime) {
  for (int round = 0; round < 5; ++round) {
    const auto room = shared_room(FromStopped::wait);
    const TestChild owner([&] { room->lock.lock(); });
    std::vector<std::thread> waiters;
    for (int i = 0; i < 6; ++i) waiters.emplace_back([&] { count_up(*room, 200); });
    owner.kill();
    for (std::thread& waiter : waiters) waiter.join();
    EXPECT_EQ(room->count, 1200U);
  }
}

TEST(SharedLock, StolenFromAStoppedOwnerWhereThatIsAllowed) {
  const auto room = shared_room(FromStopped::steal);
  const TestChild owner([&] { room->lock.lock(); });
  owner.stop();
  count_up(*room, 1);
  EXPECT_EQ(room->count, 1U);
}

TEST(SharedLock, OldOwnerDoesNotUnlockWhatWasTakenFromIt) {
  const auto room = shared_room(FromStopped::steal);
  const pid_t old_owner = ::fork();
  if (old_owner == 0) {
    room->lock.lock();
    room->go.store(1);
    while (room->go.load() != 2) ::usleep(500);
    room->lock.unlock();
    room->go.store(3);
    for (;;) ::pause();
  }
  while (room->go.load() != 1) ::usleep(500);
  ::kill(old_owner, SIGSTOP);
  ::waitpid(old_owner, nullptr, WUNTRACED);
  room->lock.lock();
  ::kill(old_owner, SIGCONT);
  room->go.store(2);
  while (room->go.load() != 3) ::usleep(500);
  // Still ours: another process has to wait for us.
  const pid_t visitor = ::fork();
  if (visitor == 0) {
    count_up(*room, 1);
    ::_exit(0);
  }
  ::usleep(60'000);
  EXPECT_EQ(room->count, 0U);
  room->lock.unlock();
  ::waitpid(visitor, nullptr, 0);
  EXPECT_EQ(room->count, 1U);
  ::kill(old_owner, SIGKILL);
  ::waitpid(old_owner, nullptr, 0);
}

TEST(SharedLock, WaitsForAStoppedOwnerWhereItMust) {
  const auto room = shared_room(FromStopped::wait);
  const pid_t owner = ::fork();
  if (owner == 0) {
    room->lock.lock();
    room->go.store(1);
    while (room->go.load() != 2) ::usleep(500);
    room->count = 41;
    room->lock.unlock();
    ::_exit(0);
  }
  while (room->go.load() != 1) ::usleep(500);
  ::kill(owner, SIGSTOP);
  ::waitpid(owner, nullptr, WUNTRACED);
  room->go.store(2);
  // The count is the lock's; whoever does not hold it asks this.
  std::atomic<bool> counted{false};
  std::thread waiter([&] {
    count_up(*room, 1);
    counted.store(true);
  });
  ::usleep(60'000);
  EXPECT_FALSE(counted.load());
  ::kill(owner, SIGCONT);
  waiter.join();
  ::waitpid(owner, nullptr, 0);
  EXPECT_EQ(room->count, 42U);
}

}  // namespace
}  // namespace nvs::sim
