// SPDX-License-Identifier: Apache-2.0
// Room for graphs on a GPU that is full of others' memory.
#include "interposer/memory/graph_room.h"

#include <atomic>
#include <thread>
#include <utility>

#include "interposer/memory/fixed.h"
#include "interposer/memory/graph_fixture.h"
#include "interposer/memory/swap/driver_room.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/memory/swap/take_room.h"

namespace nvs::interposer::memory::graph_tests {
namespace {

constexpr std::uint64_t kPiece = std::uint64_t{32} << 20U;  // in which the driver takes it
constexpr std::uint64_t kTotal = 16 * kPiece;
constexpr std::uint64_t kFar = std::uint64_t{1} << 40U;

std::uint64_t reserved_bytes = 0;           // for graphs, by the driver
std::atomic<std::uint64_t> free_bytes = 0;  // as the driver says

class GraphRoomTest : public GraphFixture {
 protected:
  void SetUp() override {
    GraphFixture::SetUp();
    reserved_bytes = 0;
    free_bytes = kTotal;
    set_real_for_test<Row::cuDeviceGetGraphMemAttribute>(
        [](CUdevice, CUgraphMem_attribute, void* out) {
          *static_cast<cuuint64_t*>(out) = reserved_bytes;
          return CUDA_SUCCESS;
        });
    set_real_for_test<Row::cuDeviceGraphMemTrim>([](CUdevice) {
      reserved_bytes = 0;
      return CUDA_SUCCESS;
    });
    set_real_for_test<Row::cuMemGetInfo_v2>([](size_t* free, size_t* total) {
      *free = free_bytes;
      *total = kTotal;
      return CUDA_SUCCESS;
    });
    session::memory_start_over_in_child();
    session::memory_announces(0);
    session::memory_known(0, true);
    session::set_visible({.ordinal = 0, .total = kTotal, .limit = kTotal});
    allow(0);
  }
  void TearDown() override {
    forget<Row::cuDeviceGetGraphMemAttribute, Row::cuDeviceGraphMemTrim, Row::cuMemGetInfo_v2>();
    GraphFixture::TearDown();
  }

  static swap::Room& room() { return swap::rooms[0]; }
  static std::uint64_t asked() {
    const os::FutexGuard guard(swap::lock);
    return room().asked;
  }
  static bool is_short() {
    const os::FutexGuard guard(swap::lock);
    return room().is_short;
  }
  static void allow(std::uint64_t bytes) {
    session::set_allowance({.ordinal = 0,
                            .flags = wire::u32{wire::kShared},
                            .number = room().number + 1,
                            .bytes = bytes});
  }
  // While others move out for what is asked for; how much that was.
  template <class Call>
  static std::uint64_t room_for(Call call) {
    std::atomic<bool> is_over{false};
    std::uint64_t most = 0;
    std::thread daemon([&] {
      while (asked() == 0 && !is_over) std::this_thread::yield();
      most = asked();
      allow(most);
    });
    call();
    is_over = true;
    daemon.join();
    allow(0);
    EXPECT_EQ(room().asked + room().backing + room().for_driver, 0U);
    return most;
  }
  static CUgraphExec make(CUgraph graph, std::uint64_t handle) {
    next_exec = handle;
    set_real_for_test<Row::cuGraphInstantiateWithFlags>(
        [](CUgraphExec* out, CUgraph, unsigned long long) {
          if (fake.result == CUDA_SUCCESS) *out = handle_of<CUgraphExec>(next_exec);
          return fake.result;
        });
    CUgraphExec exec = nullptr;
    EXPECT_EQ(hooks::cuGraphInstantiateWithFlags(&exec, graph, 0), fake.result);
    return exec;
  }
  static inline std::uint64_t next_exec = 0;
};

TEST_F(GraphRoomTest, OthersMakeRoomAndItIsFixedFromThenOn) {
  add(one_, kAt, 2 * kPiece);
  EXPECT_EQ(fixed_on(0), 0U);
  CUgraphExec exec = nullptr;
  EXPECT_EQ(room_for([&] { exec = make(one_, 1); }), 2 * kPiece);
  EXPECT_EQ(fixed_on(0), 2 * kPiece);
  EXPECT_EQ(graphs::early_bytes(0), 2 * kPiece);
  EXPECT_EQ(fixed_in_books(0), 0U) << "programs see what their nodes ask for";
  reserved_bytes = 3 * kPiece;  // it was launched, twice at once
  graphs::look_at_driver(0);
  EXPECT_EQ(fixed_on(0), 3 * kPiece);
  EXPECT_EQ(graphs::early_bytes(0), 0U);
  hooks::cuGraphExecDestroy(exec);
  hooks::cuGraphDestroy(one_);
  EXPECT_EQ(fixed_on(0), 3 * kPiece) << "the driver keeps it";
  EXPECT_EQ(hooks::cuDeviceGraphMemTrim(0), CUDA_SUCCESS);
  EXPECT_EQ(fixed_on(0), 0U);
}

TEST_F(GraphRoomTest, WhatIsNeverLaunchedEndsWithTheExecutable) {
  add(one_, kAt, kPiece);
  CUgraphExec exec = nullptr;
  room_for([&] { exec = make(one_, 1); });
  hooks::cuGraphExecDestroy(exec);
  EXPECT_EQ(fixed_on(0), 0U);
  EXPECT_EQ(room_for([&] { exec = make(one_, 2); }), kPiece) << "and begins anew";
  hooks::cuCtxDestroy_v2(driver_.current);
  EXPECT_EQ(fixed_on(0), 0U);
}

TEST_F(GraphRoomTest, GraphsShareWhatTheyFree) {
  add(one_, kAt, 2 * kPiece);
  free_in(one_, kAt);
  add(two_, kFar, 3 * kPiece);
  free_in(two_, kFar);
  add(two_, 2 * kFar, kPiece);
  CUgraphExec exec = nullptr;
  EXPECT_EQ(room_for([&] { exec = make(one_, 1); }), 2 * kPiece);
  EXPECT_EQ(room_for([&] { make(two_, 2); }), 2 * kPiece) << "4 in all";
  EXPECT_EQ(fixed_on(0), 4 * kPiece);
  hooks::cuGraphExecDestroy(exec);
  EXPECT_EQ(fixed_on(0), 4 * kPiece);
}

TEST_F(GraphRoomTest, WhatTheyLeaveIsSideBySide) {
  add(one_, kAt, 2 * kPiece);
  add(two_, kFar, kPiece + 1);
  room_for([&] { make(one_, 1); });
  EXPECT_EQ(room_for([&] { make(two_, 2); }), 2 * kPiece) << "in whole pieces";
  EXPECT_EQ(fixed_on(0), 4 * kPiece);
}

TEST_F(GraphRoomTest, WhatIsLeftWhenAGraphIsGoneIsNobodyElses) {
  add(one_, kAt);
  CUgraphExec exec = nullptr;
  room_for([&] { exec = make(one_, 1); });
  reserved_bytes = kPiece;
  fake.is_there = {kAt};
  hooks::cuGraphExecDestroy(exec);
  hooks::cuGraphDestroy(one_);
  EXPECT_EQ(fixed_on(0), kPiece) << "once";
  add(two_, kFar, kPiece);
  free_in(two_, kFar);
  EXPECT_EQ(room_for([&] { exec = make(two_, 2); }), kPiece);
  EXPECT_EQ(fixed_on(0), 2 * kPiece);
  hooks::cuMemFree_v2(kAt);
  EXPECT_EQ(fixed_on(0), kPiece);
}

TEST_F(GraphRoomTest, WhatTheDriverHasIsNotAskedFor) {
  reserved_bytes = 2 * kPiece;
  add(one_, kAt, 2 * kPiece);
  EXPECT_EQ(room_for([&] { make(one_, 1); }), 0U);
  EXPECT_EQ(graphs::early_bytes(0), 0U);
  EXPECT_EQ(fixed_on(0), 2 * kPiece);
}

TEST_F(GraphRoomTest, NothingIsRefusedForWantOfRoom) {
  session::set_visible({.ordinal = 0, .total = kTotal, .limit = kPiece});
  add(one_, kAt, 2 * kPiece);
  EXPECT_NE(make(one_, 1), nullptr);
  EXPECT_EQ(fixed_on(0), 0U) << "and nothing is kept";
}

// Nobody tells us when it is launched.
TEST_F(GraphRoomTest, WhatIsTakenWithoutRoomIsSeenAllTheSame) {
  session::set_visible({.ordinal = 0, .total = kTotal, .limit = kPiece});
  add(one_, kAt, 2 * kPiece);
  const CUgraphExec exec = make(one_, 1);
  reserved_bytes = 2 * kPiece;
  graphs::drained(0);
  EXPECT_EQ(fixed_on(0), 2 * kPiece);
  EXPECT_EQ(hooks::cuDeviceGraphMemTrim(0), CUDA_SUCCESS);
  EXPECT_EQ(fixed_on(0), 0U);
  reserved_bytes = kPiece;
  hooks::cuGraphExecDestroy(exec);
  EXPECT_EQ(fixed_on(0), kPiece);
}

TEST_F(GraphRoomTest, SoIsWhatIsTakenWhenPromisesHaveEnded) {
  add(one_, kAt, 2 * kPiece);
  room_for([&] { make(one_, 1); });
  EXPECT_TRUE(graphs::give_up_promises(0, 1));
  EXPECT_EQ(fixed_on(0), 0U);
  reserved_bytes = 2 * kPiece;
  EXPECT_EQ(hooks::cuDeviceGraphMemTrim(-1), CUDA_SUCCESS) << "which is nobody's";
  reserved_bytes = 2 * kPiece;
  graphs::drained(0);
  EXPECT_EQ(fixed_on(0), 2 * kPiece);
}

// A launch in another thread has taken more than is wanted, and a drain has seen it.
TEST_F(GraphRoomTest, WhatTheDriverHasByThenIsNotWaitedFor) {
  add(one_, kAt, 2 * kPiece);
  free_bytes = 0;
  std::thread other([] {
    while (asked() == 0) std::this_thread::yield();
    reserved_bytes = 3 * kPiece;
    graphs::look_at_driver(0);
    allow(asked());
  });
  make(one_, 1);
  other.join();
  EXPECT_FALSE(is_short());
  reserved_bytes = 0;
  graphs::look_at_driver(0);
  EXPECT_EQ(fixed_on(0), 2 * kPiece) << "it is promised";
}

TEST_F(GraphRoomTest, WhatIsNotInstantiatedNeedsNone) {
  fake.result = CUDA_SUCCESS;
  add(one_, kAt, kPiece);
  fake.result = CUDA_ERROR_INVALID_VALUE;
  room_for([&] { make(one_, 1); });
  EXPECT_EQ(fixed_on(0), 0U);
}

TEST_F(GraphRoomTest, TheDriversMemoryIsWaitedForWithTheRoom) {
  add(one_, kAt, kPiece);
  free_bytes = 0;
  std::atomic<bool> is_over{false};
  std::thread other([&is_over] {
    while (!is_short() && !is_over) std::this_thread::yield();
    free_bytes = kPiece;
  });
  std::thread daemon([&] {
    while (!is_over) {
      if (asked() != 0) allow(kPiece);
      std::this_thread::yield();
    }
  });
  make(one_, 1);
  is_over = true;
  other.join();
  daemon.join();
  EXPECT_EQ(fixed_on(0), kPiece);
  EXPECT_FALSE(room().is_short);
}

// Without contexts nobody drains.
TEST_F(GraphRoomTest, WhatNoGraphNeedsGoesBackWhenAContextEnds) {
  add(one_, kAt, kPiece);
  CUgraphExec exec = nullptr;
  room_for([&] { exec = make(one_, 1); });
  reserved_bytes = kPiece;
  EXPECT_EQ(hooks::cuCtxDestroy_v2(driver_.current), CUDA_SUCCESS);
  EXPECT_EQ(fixed_on(0), kPiece) << "its graph is still there";
  hooks::cuGraphExecDestroy(exec);
  hooks::cuGraphDestroy(one_);
  EXPECT_EQ(fixed_on(0), kPiece);
  EXPECT_EQ(hooks::cuCtxDestroy_v2(driver_.current), CUDA_SUCCESS);
  EXPECT_EQ(fixed_on(0), 0U);
}

TEST_F(GraphRoomTest, AnAllocationGoesBefore) {
  add(one_, kAt, 2 * kPiece);
  room_for([&] { make(one_, 1); });
  allow(kTotal);
  EXPECT_FALSE(swap::take_room(0, kTotal + kPiece, false));
  EXPECT_EQ(fixed_on(0), 2 * kPiece) << "it would not help";
  EXPECT_TRUE(swap::take_room(0, kTotal - kPiece, false));
  EXPECT_EQ(fixed_on(0), 0U);
  swap::give_room(0, kTotal - kPiece);
}

TEST_F(GraphRoomTest, SoDoesWhatThereIsWhenOthersHoldMore) {
  add(one_, kAt, 2 * kPiece);
  room_for([&] { make(one_, 1); });
  allow(kTotal);
  EXPECT_TRUE(swap::take_room(0, kTotal - 2 * kPiece, false));
  EXPECT_EQ(fixed_on(0), 2 * kPiece);
  const auto is_visible = [](std::uint64_t limit) {
    session::set_visible({.ordinal = 0, .total = kTotal, .limit = limit});
    session::memory_lacks(0);
  };
  is_visible(kTotal - 1);
  is_visible(kTotal);
  is_visible(kTotal - 1);
  EXPECT_EQ(fixed_on(0), 2 * kPiece) << "it lacked for a moment, twice";
  is_visible(kTotal - 1);
  EXPECT_EQ(fixed_on(0), 0U);
  swap::give_room(0, kTotal - 2 * kPiece);
}

// What a graph has left counts, and yet the driver says that it has nothing for graphs.
TEST_F(GraphRoomTest, AnAllocationIsRefusedWhenNothingGivesWayAnyMore) {
  add(one_, kAt);
  CUgraphExec exec = nullptr;
  room_for([&] { exec = make(one_, 1); });
  fake.is_there = {kAt};
  hooks::cuGraphExecDestroy(exec);
  hooks::cuGraphDestroy(one_);
  add(two_, kFar, kPiece);
  room_for([&] { make(two_, 2); });
  EXPECT_EQ(fixed_on(0), 2 * kPiece);
  allow(kTotal);
  EXPECT_FALSE(swap::take_room(0, kTotal, false));
  EXPECT_EQ(fixed_on(0), 2 * kPiece) << "promises end only where that helps";
  EXPECT_TRUE(graphs::give_up_promises(0, kPiece));
  EXPECT_FALSE(graphs::give_up_promises(0, kPiece)) << "there are none any more";
  EXPECT_FALSE(swap::take_room(0, kTotal, false));
  EXPECT_FALSE(swap::DriverRoom(0, kTotal).take_ahead());
  fake.is_there = {};  // another graph has freed it
  EXPECT_TRUE(swap::take_room(0, kTotal, false));
  swap::give_room(0, kTotal);
}

TEST_F(GraphRoomTest, AfterADrainOthersHaveWhatIsNobodys) {
  add(one_, kAt, 2 * kPiece);
  CUgraphExec exec = nullptr;
  room_for([&] { exec = make(one_, 1); });
  reserved_bytes = 2 * kPiece;
  graphs::drained(0);
  EXPECT_EQ(graphs::early_bytes(0), 0U);
  EXPECT_EQ(fixed_on(0), 2 * kPiece);
  hooks::cuGraphExecDestroy(exec);
  graphs::drained(0);
  EXPECT_EQ(fixed_on(0), 2 * kPiece) << "it can be instantiated again";
  hooks::cuGraphDestroy(one_);
  room().shared = false;
  graphs::drained(0);
  EXPECT_EQ(fixed_on(0), 2 * kPiece) << "nobody needs it";
  room().shared = true;
  graphs::drained(0);
  EXPECT_EQ(fixed_on(0), 0U);
}

// Of the program, whose thread it is.
TEST_F(GraphRoomTest, NoCaptureForbidsToAsk) {
  static CUstreamCaptureMode mode;
  mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  set_real_for_test<Row::cuThreadExchangeStreamCaptureMode>([](CUstreamCaptureMode* other) {
    std::swap(mode, *other);
    return CUDA_SUCCESS;
  });
  set_real_for_test<Row::cuDeviceGetGraphMemAttribute>(
      [](CUdevice, CUgraphMem_attribute, void* out) {
        EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
        *static_cast<cuuint64_t*>(out) = reserved_bytes;
        return CUDA_SUCCESS;
      });
  set_real_for_test<Row::cuDeviceGraphMemTrim>([](CUdevice) {
    EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
    reserved_bytes = 0;
    return CUDA_SUCCESS;
  });
  add(one_, kAt, kPiece);
  CUgraphExec exec = nullptr;
  room_for([&] { exec = make(one_, 1); });
  reserved_bytes = 2 * kPiece;
  hooks::cuGraphExecDestroy(exec);
  EXPECT_TRUE(graphs::make_way(0, kPiece));
  EXPECT_EQ(reserved_bytes, 0U);
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
  forget<Row::cuThreadExchangeStreamCaptureMode>();
}

TEST_F(GraphRoomTest, WhatTheDriverKeepsForNobodyGoesToo) {
  add(one_, kAt, 2 * kPiece);
  CUgraphExec exec = nullptr;
  room_for([&] { exec = make(one_, 1); });
  reserved_bytes = 2 * kPiece;
  hooks::cuGraphExecDestroy(exec);
  allow(kTotal);
  EXPECT_TRUE(swap::take_room(0, kTotal, false));
  EXPECT_EQ(reserved_bytes, 0U);
  swap::give_room(0, kTotal);
}

}  // namespace
}  // namespace nvs::interposer::memory::graph_tests
