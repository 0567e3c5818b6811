// SPDX-License-Identifier: Apache-2.0
// Whether marks cover all that was submitted: what they do not tell of may run on when a drain is
// over.
#include <functional>
#include <thread>

#include <gtest/gtest.h>

#include "interposer/exports/own_hooks.h"
#include "interposer/flow/flow.h"
#include "interposer/flow/test_events.h"

namespace nvs::interposer {
namespace {

class Coverage : public flow::BoundedTest {
 protected:
  void SetUp() override {
    BoundedTest::SetUp();
    set_real_for_test<Row::cuStreamDestroy_v2>([](CUstream) { return CUDA_SUCCESS; });
  }
  void TearDown() override {
    set_real_for_test<Row::cuStreamDestroy_v2>(nullptr);
    BoundedTest::TearDown();
  }

  static CUcontext context(std::intptr_t number) {
    return reinterpret_cast<CUcontext>(number * 0x40);
  }
  static void submit_unmarked(CUstream stream) {
    ASSERT_TRUE(flow::count(0, stream, kKind));
    flow::made(0);
  }
  static void submit(CUstream stream) {
    ASSERT_TRUE(flow::count(0, stream, kKind));
    flow::mark(0, stream);
  }
  static bool is_certain() {
    const flow::Look now = look();
    EXPECT_TRUE(now.done);
    return now.certain;
  }
  static void use_contexts() {
    set_real_for_test<Row::cuCtxGetCurrent>([](CUcontext* place) {
      *place = current;
      return CUDA_SUCCESS;
    });
    current = context(1);
  }

  static constexpr std::uint64_t kKind = 1;
  static inline CUcontext current = nullptr;
};

TEST_F(Coverage, AMarkCoversWhatCameBeforeOnItsStream) {
  for (CUstream each : {stream(), CU_STREAM_LEGACY, CU_STREAM_PER_THREAD}) {
    submit_unmarked(each);
    submit(each);
    EXPECT_TRUE(is_certain());
  }
}

TEST_F(Coverage, NotWhatIsOnTheDefaultStreamOfAnotherThread) {
  submit_unmarked(CU_STREAM_PER_THREAD);
  std::thread([] { submit(CU_STREAM_PER_THREAD); }).join();
  EXPECT_FALSE(is_certain());
}

TEST_F(Coverage, NorOfAThreadThatHasEnded) {
  std::thread([] { submit_unmarked(CU_STREAM_PER_THREAD); }).join();
  std::thread([] { submit(CU_STREAM_PER_THREAD); }).join();
  EXPECT_FALSE(is_certain());
}

TEST_F(Coverage, NorOfAnotherContext) {
  use_contexts();
  for (CUstream each : {CU_STREAM_LEGACY, CU_STREAM_PER_THREAD}) {
    flow::emptied(0, flow::now(0));
    current = context(1);
    submit_unmarked(each);
    current = context(2);
    submit(each);
    EXPECT_FALSE(is_certain());
  }
}

// A stream of a name is one and the same in all of them.
TEST_F(Coverage, WhoeverUsesAStreamFromElsewhereMarksIt) {
  use_contexts();
  submit_unmarked(stream());
  current = context(2);
  std::thread([] { submit(stream()); }).join();
  EXPECT_TRUE(is_certain());
}

// Of two threads with one stream; the second one's submission was made when the first one's mark
// had been recorded, and that is what the mark is taken to cover.
TEST_F(Coverage, NotWhatWasMadeBehindTheMark) {
  flow::fake_events.in_record = [] {
    flow::fake_events.in_record = nullptr;
    submit_unmarked(stream());
  };
  submit(stream());
  EXPECT_EQ(flow::fake_events.records, 1);
  EXPECT_FALSE(is_certain());
}

// Another one has its handle then.
TEST_F(Coverage, NotWhatIsOnAStreamThatWasDestroyed) {
  submit_unmarked(stream());
  EXPECT_EQ(hooks::cuStreamDestroy_v2(stream()), CUDA_SUCCESS);
  submit(stream());
  EXPECT_FALSE(is_certain());
}

TEST_F(Coverage, NorWhatIsInAContextThatHasEnded) {
  submit_unmarked(stream());
  flow::context_ends(context(2));
  submit(stream());
  EXPECT_FALSE(is_certain());
}

TEST_F(Coverage, AStreamThatIsDestroyedWithoutUnmarkedWorkChangesNothing) {
  submit(stream());
  EXPECT_EQ(hooks::cuStreamDestroy_v2(stream()), CUDA_SUCCESS);
  submit(stream());
  EXPECT_TRUE(is_certain());
}

}  // namespace
}  // namespace nvs::interposer
