// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/contexts.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "interposer/session/test_patience.h"

namespace nvs::interposer {
namespace {

CUcontext context_at(std::intptr_t number) { return reinterpret_cast<CUcontext>(number * 64); }

class Contexts : public testing::Test {
 protected:
  void SetUp() override { contexts::start_over_in_child(); }

  // Those that a drain of this GPU would synchronise.
  static std::set<CUcontext> of(int gpu) {
    std::set<CUcontext> all;
    for (int i = 0; i < contexts::kContextsMax; ++i) {
      CUcontext found = nullptr;
      if (!contexts::take(i, gpu, found)) continue;
      all.insert(found);
      contexts::give_back(i);
    }
    return all;
  }
};

using Set = std::set<CUcontext>;

TEST_F(Contexts, EachGpuHasItsOwn) {
  contexts::created(context_at(1), 0);
  contexts::created(context_at(2), 1);
  contexts::created(context_at(3), 0);
  EXPECT_EQ(of(0), (Set{context_at(1), context_at(3)}));
  EXPECT_EQ(of(1), Set{context_at(2)});
  EXPECT_EQ(of(2), Set{});
}

TEST_F(Contexts, OneThatIsRetainedAgainIsThereOnce) {
  contexts::primary_created(context_at(1), 0);
  contexts::primary_created(context_at(1), 0);
  EXPECT_EQ(contexts::primary_of(0), context_at(1));
  contexts::may_end(context_at(1));
  contexts::ended(context_at(1));
  EXPECT_EQ(of(0), Set{});
  EXPECT_EQ(contexts::primary_of(0), nullptr);
}

TEST_F(Contexts, OneThatMayEndIsLeftAloneUntilItGoesOn) {
  contexts::created(context_at(1), 0);
  contexts::may_end(context_at(1));
  EXPECT_EQ(of(0), Set{});
  contexts::goes_on(context_at(1));
  EXPECT_EQ(of(0), Set{context_at(1)});
}

// As a primary context does that one thread releases and another one retains.
TEST_F(Contexts, OneThatCameAgainBeforeItsEndWasToldIsThere) {
  contexts::primary_created(context_at(1), 0);
  contexts::may_end(context_at(1));
  contexts::primary_created(context_at(1), 0);
  EXPECT_TRUE(contexts::is_any_ending(0)) << "the call is not over";
  EXPECT_FALSE(contexts::ended(context_at(1)));
  EXPECT_EQ(of(0), Set{context_at(1)});
  contexts::may_end(context_at(1));
  EXPECT_TRUE(contexts::ended(context_at(1)));
  EXPECT_EQ(of(0), Set{});
}

TEST_F(Contexts, AnEndWaitsForWhoeverUsesIt) {
  constexpr std::chrono::milliseconds kPatience{900};  // less than that of an end
  std::atomic<bool> may_go{false};
  std::atomic<bool> used_when_ended{true};
  play_in_time(kPatience, [&] {
    contexts::start_over_in_child();
    contexts::created(context_at(1), 0);
    int index = 0;
    CUcontext found = nullptr;
    while (!contexts::take(index, 0, found)) ++index;
    may_go = false;
    std::thread program([&] {
      contexts::may_end(context_at(1));
      used_when_ended = !may_go;
      contexts::ended(context_at(1));
    });
    // From now on nobody else gets it.
    CUcontext again = nullptr;
    while (contexts::take(index, 0, again)) contexts::give_back(index);
    may_go = true;
    const auto allowed = PatienceClock::now();
    contexts::give_back(index);
    program.join();
    return allowed;
  });
  EXPECT_FALSE(used_when_ended);
  EXPECT_EQ(of(0), Set{});
}

// Copies of ours must not go on in a context that is gone. A drain is not waited for as long, since
// it may wait for the very thread that ends the context.
TEST_F(Contexts, AnEndWaitsForWorkOfOursHoweverLongItTakes) {
  contexts::created(context_at(1), 0);
  contexts::created(context_at(2), 0);
  const int moving = contexts::take_this(context_at(1), 0, contexts::Use::working);
  ASSERT_GE(contexts::take_this(context_at(2), 0, contexts::Use::waiting), 0);
  std::atomic<bool> is_done{false};
  std::atomic<bool> was_done{false};
  std::thread program([&] {
    contexts::may_end(context_at(1));
    was_done = is_done.load();
  });
  while (contexts::take_this(context_at(1), 0, contexts::Use::waiting) >= 0) {
    contexts::give_back(moving);
  }
  contexts::may_end(context_at(2));  // patience is at its end
  is_done = true;
  contexts::give_back(moving, contexts::Use::working);
  program.join();
  EXPECT_TRUE(was_done);
}

TEST_F(Contexts, OneForWhichThereIsNoRoomIsNotForgotten) {
  for (int i = 1; i <= contexts::kContextsMax; ++i) contexts::created(context_at(i), 0);
  contexts::created(context_at(1), 0);  // again
  EXPECT_TRUE(contexts::knows_all(0));
  contexts::created(context_at(1000), 1);
  EXPECT_TRUE(contexts::knows_all(0));
  EXPECT_FALSE(contexts::knows_all(1));
  contexts::ended(context_at(1000));
  contexts::ended(context_at(1));
  EXPECT_FALSE(contexts::knows_all(1)) << "another one may have been meant";
}

TEST_F(Contexts, UnknownOnesAreNobodysBusiness) {
  contexts::may_end(context_at(7));
  contexts::goes_on(context_at(7));
  contexts::ended(context_at(7));
  contexts::may_end(nullptr);
  contexts::ended(nullptr);
  contexts::created(nullptr, 0);
  EXPECT_EQ(of(0), Set{});
}

// Its place was another one's, which ended under a drain that gives it back only now.
TEST_F(Contexts, WorkOfOursIsWaitedForWhateverIsGivenBackLate) {
  CUcontext taken = nullptr;
  contexts::created(context_at(1), 0);
  ASSERT_TRUE(contexts::take(0, 0, taken));
  contexts::ended(context_at(1));
  contexts::created(context_at(2), 0);
  ASSERT_TRUE(contexts::take(0, 0, taken, contexts::Use::working));
  ASSERT_EQ(taken, context_at(2));
  contexts::give_back(0);
  std::atomic<bool> is_working{true};
  std::thread end([&] {
    contexts::may_end(context_at(2));
    EXPECT_FALSE(is_working);
  });
  while (!contexts::is_any_ending(0)) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));  // enough to be through by mistake
  is_working = false;
  contexts::give_back(0, contexts::Use::working);
  end.join();
}

}  // namespace
}  // namespace nvs::interposer
