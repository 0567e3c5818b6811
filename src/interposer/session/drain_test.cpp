// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/drain.h"

#include <atomic>
#include <functional>

#include <sys/wait.h>

#include "interposer/exports/test_real.h"
#include "interposer/flow/flow.h"
#include "interposer/memory/graph_memory.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/session/captures.h"
#include "interposer/session/contexts.h"
#include "interposer/session/memory.h"
#include "interposer/session/test_session.h"
#include "interposer/session/windows.h"

namespace nvs::interposer {
namespace {

using session::Phase;

// The driver, as far as a drain calls it.
struct DrainedDriver {
  static CUcontext context(std::intptr_t number) {
    return reinterpret_cast<CUcontext>(number * 64);
  }
  static CUresult push(CUcontext context) {
    current = context;
    return CUDA_SUCCESS;
  }
  static CUresult pop(CUcontext*) { return CUDA_SUCCESS; }
  // Meanwhile it refuses to end the first one.
  static CUresult synchronise() {
    if (current == context(1)) ++first;
    if (current == context(2) && second++ == 0) contexts::goes_on(context(1));
    return CUDA_SUCCESS;
  }

  static inline std::atomic<CUcontext> current{nullptr};
  static inline std::atomic<int> first{0};  // how often each was synchronised
  static inline std::atomic<int> second{0};
};

class Drain : public SessionTest {
 protected:
  using Driver = DrainedDriver;

  // In a process of its own, because the thread that drains stays.
  template <class Play>
  static void play_apart(Play play) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(play() ? 0 : 1);
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
};

TEST_F(Drain, AContextThatWasAboutToEndAndGoesOnIsWaitedFor) {
  play_apart([this] {
    set_real_for_test<Row::cuCtxPushCurrent_v2>(&Driver::push);
    set_real_for_test<Row::cuCtxPopCurrent_v2>(&Driver::pop);
    set_real_for_test<Row::cuCtxSynchronize>(&Driver::synchronise);
    contexts::created(Driver::context(1), 0);
    contexts::created(Driver::context(2), 0);
    contexts::may_end(Driver::context(1));
    gpu().phase = Phase::closed;
    session::open_window({.grant = 7});
    if (!drain::prepare(0)) return false;
    session::close_window({.grant = 7});
    while (!heard<wire::Drained>()) os::sleep_ns(100'000);  // other words come before it
    return Driver::first > 0 && Driver::second > 0;
  });
}

// The driver keeps memory for a graph that is gone, and others use the GPU.
class GraphDrain : public Drain {
 protected:
  void SetUp() override {
    Drain::SetUp();
    memory::graphs::start_over_in_child();
    session::memory_announces(0);
    session::memory_known(0, true);
    swap::rooms[0].is_free = true;
    swap::rooms[0].shared = true;
    set_real_for_test<Row::cuDeviceGetGraphMemAttribute>(
        [](CUdevice, CUgraphMem_attribute, void* out) {
          *static_cast<cuuint64_t*>(out) = kept;
          return CUDA_SUCCESS;
        });
    set_real_for_test<Row::cuDeviceGraphMemTrim>([](CUdevice) {
      when_trimmed();
      kept = 0;
      return CUDA_SUCCESS;
    });
    const auto graph = reinterpret_cast<CUgraph>(0x40);
    memory::graphs::NewNode node(graph, 0, 1000, memory::graphs::Made::by_call);
    ASSERT_TRUE(node.reserve());
    ASSERT_EQ(node.added(0x1000), CUDA_SUCCESS);
    memory::graphs::end_promise(memory::graphs::take_room_for(graph));
    memory::graphs::Destroying(graph).ended(CUDA_SUCCESS);
    kept = kBytes;
    when_trimmed = [] {};
  }
  void TearDown() override {
    memory::graphs::start_over_in_child();
    set_real_for_test<Row::cuDeviceGetGraphMemAttribute>(nullptr);
    set_real_for_test<Row::cuDeviceGraphMemTrim>(nullptr);
    Drain::TearDown();
  }
  bool is_told() const {
    bool told = false;
    while (!heard_nothing()) told = heard<wire::Drained>().has_value() || told;
    return told;
  }
  // A window in which nothing was submitted, and whose end is certain.
  static void open_idle() {
    gpu().phase = Phase::closed;
    session::open_window({.flags = wire::kBounded, .grant = 7, .queue_bound_ns = 2'000'000});
    flow::emptied(0, flow::now(0));
  }

  static constexpr std::uint64_t kBytes = 64 << 20U;
  static inline std::atomic<std::uint64_t> kept{0};
  static inline std::function<void()> when_trimmed;
};

TEST_F(GraphDrain, TheDaemonIsToldBeforeMemoryOfGraphsIsGivenBack) {
  play_apart([this] {
    std::atomic<bool> was_told{false};
    when_trimmed = [&] { was_told = is_told(); };
    gpu().phase = Phase::closed;
    session::open_window({.grant = 7});
    if (!drain::prepare(0)) return false;
    session::close_window({.grant = 7});
    while (kept != 0) os::sleep_ns(100'000);
    return was_told.load();
  });
}

TEST_F(GraphDrain, WhatIsIdleHasAThreadGiveItBackOnce) {
  open_idle();
  empty_socket();
  session::close_window({.grant = 7});
  EXPECT_EQ(gpu().phase, Phase::draining);
  EXPECT_NE(gpu().drain.job, 0U);
  EXPECT_FALSE(is_told());
  complete_drain();
  memory::graphs::drained(0);
  EXPECT_EQ(kept, 0U);
  open_idle();
  empty_socket();
  session::close_window({.grant = 7});
  EXPECT_EQ(gpu().phase, Phase::closed) << "there is nothing left";
  EXPECT_TRUE(is_told());
}

TEST_F(GraphDrain, WhatTheDriverDoesNotGiveBackIsAskedForOnce) {
  set_real_for_test<Row::cuDeviceGraphMemTrim>([](CUdevice) { return CUDA_ERROR_UNKNOWN; });
  EXPECT_TRUE(memory::graphs::needs_trim(0));
  memory::graphs::drained(0);
  EXPECT_FALSE(memory::graphs::needs_trim(0));
}

// Nobody looks whether it goes on: its end is told.
TEST_F(Drain, WhatACaptureKeptFromBeingWaitedForIsWhenItEnds) {
  play_apart([this] {
    set_real_for_test<Row::cuCtxPushCurrent_v2>(&Driver::push);
    set_real_for_test<Row::cuCtxPopCurrent_v2>(&Driver::pop);
    set_real_for_test<Row::cuCtxSynchronize>(&Driver::synchronise);
    contexts::created(Driver::context(1), 0);
    const auto stream = reinterpret_cast<CUstream>(0x40);
    gpu().phase = Phase::closed;
    session::open_window({.grant = 7});
    if (!drain::prepare(0)) return false;
    captures::begins();
    captures::begun(stream, nullptr, CUDA_SUCCESS);
    session::close_window({.grant = 7});
    while (!heard<wire::Drained>()) os::sleep_ns(100'000);
    const std::uint32_t job = gpu().drain.job;
    if (!drain::is_unsettled(0, job) || Driver::first != 0) return false;
    os::sleep_ns(2'000'000);  // it is asleep by then, or it does not have to be woken
    captures::destroyed(stream);
    const std::int64_t until_ns = os::monotonic_ns() + 10'000'000'000;
    while (drain::is_unsettled(0, job) && os::monotonic_ns() < until_ns) os::sleep_ns(100'000);
    return !drain::is_unsettled(0, job) && Driver::first > 0;
  });
}

}  // namespace
}  // namespace nvs::interposer
