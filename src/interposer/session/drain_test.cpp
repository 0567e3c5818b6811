// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/drain.h"

#include <atomic>

#include <sys/wait.h>

#include "interposer/exports/test_real.h"
#include "interposer/session/contexts.h"
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

}  // namespace
}  // namespace nvs::interposer
