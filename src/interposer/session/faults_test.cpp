// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/faults.h"

#include "cuda_api/sticky_result.h"
#include "interposer/memory/swap/rooms.h"
#include "interposer/session/contexts.h"
#include "interposer/session/memory.h"
#include "interposer/session/test_session.h"
#include "interposer/session/windows.h"

namespace nvs::interposer {
namespace {

using session::Phase;

constexpr std::uint64_t kBytes = 1'000'000;

class Faults : public SessionTest {
 protected:
  // The daemon serves the GPU, and some memory of ours is there.
  void SetUp() override {
    SessionTest::SetUp();
    gpu().phase = Phase::closed;
    while (!gate::begin_close(0)) {
    }
    session::announce(0);
    session::memory_known(0, true);
    swap::rooms[0].backing = kBytes;
    session::tell_holds(0);
    empty_socket();
  }

  static void open(std::uint64_t grant) {
    session::wanted[0] = true;
    session::open_window({.grant = grant});
  }
  static void close(std::uint64_t grant) { session::close_window({.grant = grant}); }
  static void fault() {
    faults::note(0, CUDA_ERROR_ILLEGAL_ADDRESS);
    session::act_on_fault(0);
  }
  void expect_holds(bool is_faulted) const {
    const auto holds = heard<wire::Holds>();
    ASSERT_TRUE(holds);
    EXPECT_EQ((holds->flags & wire::kFaulted) != 0, is_faulted);
    EXPECT_EQ(holds->fixed, is_faulted ? kBytes : 0);
    EXPECT_EQ(holds->resident, is_faulted ? 0 : kBytes);
    EXPECT_EQ(holds->asked, 0U);
  }
  static CUcontext context(std::intptr_t number) {
    return reinterpret_cast<CUcontext>(number * 64);
  }
};

TEST(StickyResults, AreThoseAfterWhichNothingWorks) {
  for (const int result : {226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 911})
    EXPECT_TRUE(is_sticky(static_cast<CUresult>(result))) << result;
  for (const int result : {0, 2, 4, 201, 214, 220, 400, 600, 701, 709, 720, 900, 999})
    EXPECT_FALSE(is_sticky(static_cast<CUresult>(result))) << result;
}

TEST_F(Faults, OtherErrorsAreNone) {
  open(7);
  faults::note(0, CUDA_ERROR_OUT_OF_MEMORY);
  faults::note(0, CUDA_ERROR_UNKNOWN);
  session::act_on_fault(0);
  EXPECT_EQ(gpu().phase, Phase::open);
  EXPECT_TRUE(heard_nothing());
}

TEST_F(Faults, TheWindowIsGivenUpAndTheGateIsOpen) {
  open(7);
  fault();
  EXPECT_EQ(gpu().phase, Phase::faulted);
  expect_holds(true);
  expect_drained(7);
  EXPECT_FALSE(gate::is_closed(0));
  fault();
  EXPECT_TRUE(heard_nothing()) << "once is enough";
}

TEST_F(Faults, ADrainIsOver) {
  open(7);
  close(7);
  ASSERT_EQ(gpu().phase, Phase::draining);
  session::want(0);
  EXPECT_TRUE(heard<wire::Want>());
  fault();
  expect_holds(true);
  const auto drained = heard<wire::Drained>();
  ASSERT_TRUE(drained);
  EXPECT_EQ(drained->waiting, 0U) << "the gate is open";
  complete_drain();  // which had begun
  EXPECT_EQ(gpu().phase, Phase::faulted);
  EXPECT_FALSE(gate::is_closed(0));
}

TEST_F(Faults, WhoHadNoWindowHasNoneToGiveUp) {
  fault();
  expect_holds(true);
  EXPECT_TRUE(heard_nothing());
  EXPECT_FALSE(gate::is_closed(0));
}

TEST_F(Faults, TheListenerActsOnWhatOthersNote) {
  open(7);
  faults::note(0, CUDA_ERROR_LAUNCH_FAILED);
  session::tend();
  expect_holds(true);
  expect_drained(7);
}

TEST_F(Faults, WindowsAreSentBack) {
  fault();
  empty_socket();
  open(8);
  expect_drained(8);
  close(8);
  expect_drained(8);
  session::let_in({.grant = 9});
  expect_drained(9);
  EXPECT_EQ(gpu().phase, Phase::faulted);
  EXPECT_FALSE(gate::is_closed(0));
}

TEST_F(Faults, AnEndThatDidNotFitIntoTheSocketIsToldLater) {
  open(7);
  fill_socket();
  fault();
  empty_socket();
  session::tend();
  expect_drained(7);
}

TEST_F(Faults, AGateThatWasAboutToCloseStaysOpen) {
  open(7);
  ASSERT_TRUE(session::let_go_window(0, {}));
  fault();
  session::close_let_go(0, 0);
  EXPECT_EQ(gpu().phase, Phase::faulted);
  EXPECT_FALSE(gate::is_closed(0));
}

TEST_F(Faults, ItStaysOneWithoutADaemonAndTheNextOneHearsOfIt) {
  fault();
  empty_socket();
  {
    const os::FutexGuard guard(session::lock);
    session::open_alone(0);
  }
  EXPECT_EQ(gpu().phase, Phase::faulted);
  session::announce(0);
  const auto use = heard<wire::UseGpu>();
  ASSERT_TRUE(use);
  EXPECT_EQ(use->flags, 0U) << "nothing runs";
  expect_holds(true);
}

TEST_F(Faults, OtherGpusDoNotWaitForItsGate) {
  fault();
  EXPECT_TRUE(session::ClosedGates(1U).is_so());
}

TEST_F(Faults, ItEndsWithTheLastContext) {
  contexts::created(context(1), 0);
  contexts::created(context(2), 0);
  contexts::created(context(3), 1);
  fault();
  empty_socket();
  contexts::ended(context(1));
  session::context_ended();
  EXPECT_EQ(gpu().phase, Phase::faulted) << "another one is left";
  contexts::ended(context(2));
  session::context_ended();
  EXPECT_EQ(gpu().phase, Phase::draining);
  EXPECT_TRUE(gate::is_closed(0));
  expect_holds(false);
  complete_drain();
  EXPECT_EQ(gpu().phase, Phase::closed);
  empty_socket();
  session::tend();
  EXPECT_EQ(gpu().phase, Phase::closed) << "what was noted is forgotten";
  open(8);
  EXPECT_EQ(gpu().phase, Phase::open);
}

}  // namespace
}  // namespace nvs::interposer
