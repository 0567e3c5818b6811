// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/vmm/stream_heap.h"

#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace nvs::interposer::vmm {
namespace {

constexpr SpanOwner kHeapOwner{5, 0};

class StreamHeapTest : public testing::Test {
 protected:
  HeapBlock* used(std::uint64_t base, std::uint64_t size) {
    return heap_.add(base, size, size, kHeapOwner, pool_);
  }
  void free(HeapBlock* block, HeapStream* stream) {
    const StreamMarks::Ticket ticket = stream->marks.begin();
    heap_.begin_free(block);
    stream->marks.end(ticket);
    heap_.end_free(block, stream, ticket.number);
  }
  HeapBlock* take(const HeapStream* stream, std::uint64_t size) {
    return heap_.take(pool_, kHeapOwner.context, stream, size);
  }
  // The stream has got to its oldest mark.
  void pass_one(HeapStream* stream) {
    int event = 0;
    ASSERT_TRUE(stream->marks.oldest(event));
    heap_.passed(stream, stream->marks.passed());
  }

  StreamHeap heap_;
  HeapPool* pool_ = heap_.add_pool(77, 0, 0);
  HeapStream* one_ = heap_.add_stream({0x1000, 0}, kHeapOwner);
  HeapStream* two_ = heap_.add_stream({0x2000, 0}, kHeapOwner);
};

TEST_F(StreamHeapTest, TheSameStreamHasABlockAtOnce) {
  HeapBlock* block = used(4096, 1024);
  free(block, one_);
  EXPECT_EQ(take(two_, 1000), nullptr) << "the first stream may still use it";
  EXPECT_EQ(take(nullptr, 1000), nullptr);
  EXPECT_EQ(take(one_, 1000), block);
  EXPECT_EQ(block->asked, 1000U);
  EXPECT_EQ(take(one_, 1000), nullptr) << "it is taken";
}

TEST_F(StreamHeapTest, OtherStreamsHaveItWhenTheFirstHasPassedTheFree) {
  HeapBlock* first = used(4096, 1024);
  HeapBlock* second = used(8192, 1024);
  free(first, one_);
  free(second, one_);
  pass_one(one_);
  EXPECT_EQ(take(two_, 1024), first);
  EXPECT_EQ(take(two_, 1024), nullptr);
  pass_one(one_);
  EXPECT_EQ(take(two_, 1024), second);
}

TEST_F(StreamHeapTest, ABlockThatWasReusedDoesNotBecomeFreeByItsOldMark) {
  HeapBlock* block = used(4096, 1024);
  free(block, one_);
  ASSERT_EQ(take(one_, 1024), block);
  pass_one(one_);
  EXPECT_EQ(take(two_, 1024), nullptr) << "somebody has it";
  free(block, one_);
  EXPECT_EQ(take(two_, 1024), nullptr) << "and freed it anew";
}

TEST_F(StreamHeapTest, LittleIsWasted) {
  free(used(4096, 1024), one_);
  EXPECT_EQ(take(one_, 1025), nullptr);
  EXPECT_EQ(take(one_, 895), nullptr);
  EXPECT_NE(take(one_, 896), nullptr);
}

TEST_F(StreamHeapTest, PoolsAndContextsAreApart) {
  HeapPool* other = heap_.add_pool(78, 0, 0);
  free(used(4096, 1024), one_);
  EXPECT_EQ(heap_.take(other, kHeapOwner.context, one_, 1024), nullptr);
  EXPECT_EQ(heap_.take(pool_, kHeapOwner.context + 1, one_, 1024), nullptr);
}

TEST_F(StreamHeapTest, AHandleThatComesBackIsAnotherStream) {
  HeapBlock* block = used(4096, 1024);
  free(block, one_);
  heap_.stream_is_gone(one_);
  HeapStream* again = heap_.add_stream({0x1000, 0}, kHeapOwner);
  EXPECT_EQ(heap_.find_stream({0x1000, 0}), again);
  EXPECT_EQ(take(again, 1024), nullptr);
  pass_one(one_);
  EXPECT_EQ(take(again, 1024), block) << "what waited for the old one is not lost";
  EXPECT_TRUE(one_->is_empty());
}

TEST_F(StreamHeapTest, AFreeThatFailsChangesNothing) {
  HeapBlock* block = used(4096, 1024);
  heap_.begin_free(block);
  EXPECT_EQ(pool_->used, 0U);
  heap_.cancel_free(block);
  EXPECT_EQ(block->state, BlockState::used);
  EXPECT_EQ(pool_->used, 1024U);
  EXPECT_EQ(take(one_, 1024), nullptr);
}

TEST_F(StreamHeapTest, PoolsSayWhenTheyHaveTooMuch) {
  heap_.set_threshold(pool_, 1024);
  HeapBlock* first = used(4096, 1024);
  HeapBlock* second = used(8192, 512);
  EXPECT_EQ(heap_.pools_above(), 0U) << "all of it is in use";
  free(first, one_);
  EXPECT_EQ(heap_.pools_above(), 1U);
  heap_.set_threshold(pool_, 2048);
  EXPECT_EQ(heap_.pools_above(), 0U);
  heap_.set_threshold(pool_, 0);
  pass_one(one_);
  ASSERT_EQ(pool_->free.first, first);
  heap_.remove(first);
  EXPECT_EQ(heap_.pools_above(), 0U);
  EXPECT_EQ(pool_->reserved, 512U);
  EXPECT_EQ(pool_->reserved_high, 1536U);
  EXPECT_EQ(pool_->used_high, 1536U);
  heap_.remove(second);
}

TEST_F(StreamHeapTest, APoolThatGoesLeavesItsBlocksToNobody) {
  HeapBlock* idle = used(4096, 1024);
  HeapBlock* in_use = used(8192, 1024);
  free(idle, one_);
  heap_.remove_pool(pool_);
  EXPECT_EQ(heap_.find_pool(77), nullptr);
  EXPECT_EQ(heap_.pools()->reserved, 2048U);
  EXPECT_EQ(heap_.pools_above(), 1U);
  pass_one(one_);
  EXPECT_EQ(heap_.pools()->free.first, idle);
  free(in_use, two_);
  pass_one(two_);
  EXPECT_EQ(heap_.pools()->free.last, in_use);
}

TEST_F(StreamHeapTest, AContextTakesItsBlocksAndStreamsAlong) {
  HeapBlock* other = heap_.add(8192, 1024, 1024, {6, 0}, pool_);
  free(used(4096, 1024), one_);
  free(other, one_);
  used(16384, 1024);
  heap_.context_ended(kHeapOwner.context);
  EXPECT_EQ(heap_.streams(), nullptr);
  EXPECT_EQ(heap_.size(), 1U);
  EXPECT_EQ(heap_.take(pool_, 6, nullptr, 1024), other) << "nothing of that context runs any more";
}

TEST(StreamMarksTest, TheNewestMovesOnAndTheOthersStay) {
  StreamMarks marks;
  for (int i = 0; i < 10; ++i) marks.end(marks.begin());
  int event = 0;
  for (const std::uint64_t expected : {1U, 2U, 3U, 10U}) {
    ASSERT_TRUE(marks.oldest(event));
    EXPECT_EQ(marks.passed(), expected);
  }
  EXPECT_FALSE(marks.oldest(event));
}

TEST(StreamMarksTest, WhatIsBeingRecordedIsNotLookedAt) {
  StreamMarks marks;
  const StreamMarks::Ticket first = marks.begin();
  int event = 0;
  EXPECT_FALSE(marks.oldest(event));
  const StreamMarks::Ticket second = marks.begin();
  marks.end(second);
  EXPECT_FALSE(marks.oldest(event)) << "the second stands behind the first";
  marks.end(first);
  ASSERT_TRUE(marks.oldest(event));
  EXPECT_EQ(event, first.event);
  EXPECT_EQ(marks.passed(), first.number);
  ASSERT_TRUE(marks.oldest(event));
  EXPECT_EQ(event, second.event);
}

// Streams as queues of what they have to do, of which a block may only be used by another stream
// when its own has done everything up to the free.
class HeapModel {
 public:
  HeapModel() {
    for (std::uint64_t i = 0; i < kStreams; ++i) {
      streams_.push_back(heap_.add_stream({(i + 1) << 12U, 0}, kHeapOwner));
    }
  }

  void allocate() {
    const std::size_t at = random_() % kStreams;
    const std::uint64_t size = 512 * (1 + random_() % 16);
    HeapBlock* block = heap_.take(pool_, kHeapOwner.context, streams_[at], size);
    if (block == nullptr) {
      block = heap_.add(next_base_, size, size, kHeapOwner, pool_);
      next_base_ += size;
    } else {
      const Freed& last = freed_.at(block->base);
      ASSERT_TRUE(last.stream == at || done_[last.stream] >= last.position) << "still in use";
      ASSERT_TRUE(block->bytes >= size && block->bytes - size <= block->bytes / 8);
      ++reused_;
    }
    ASSERT_TRUE(used_.emplace(block->base, block).second) << "handed out twice";
  }

  void free() {
    if (used_.empty()) return;
    auto victim = used_.lower_bound(random_() % next_base_);
    if (victim == used_.end()) victim = used_.begin();
    const std::size_t at = random_() % kStreams;
    HeapBlock* block = victim->second;
    used_.erase(victim);
    const StreamMarks::Ticket ticket = streams_[at]->marks.begin();
    heap_.begin_free(block);
    recorded_[at][ticket.event] = ++submitted_[at];
    streams_[at]->marks.end(ticket);
    heap_.end_free(block, streams_[at], ticket.number);
    freed_[block->base] = {at, submitted_[at]};
  }

  void work() {
    const std::size_t at = random_() % kStreams;
    if (done_[at] < submitted_[at]) done_[at] += 1 + random_() % (submitted_[at] - done_[at]);
  }

  void look() {
    for (std::size_t at = 0; at < kStreams; ++at) {
      int event = 0;
      while (streams_[at]->marks.oldest(event) && recorded_[at][event] <= done_[at]) {
        heap_.passed(streams_[at], streams_[at]->marks.passed());
      }
    }
  }

  void give_back() {
    while (pool_->free.first != nullptr && random_() % 4 != 0) {
      const Freed& last = freed_.at(pool_->free.first->base);
      ASSERT_GE(done_[last.stream], last.position);
      heap_.remove(pool_->free.first);
    }
  }

  void check() const {
    std::uint64_t bytes = 0;
    for (const auto& [base, block] : used_) {
      ASSERT_EQ(heap_.find(base), block);
      ASSERT_EQ(block->state, BlockState::used);
      bytes += block->bytes;
    }
    ASSERT_EQ(pool_->used, bytes);
    ASSERT_EQ(heap_.pools_above(), heap_.size() > used_.size() ? 1U : 0U);
  }

  void end() {
    ASSERT_GT(reused_, 1000);
    while (!used_.empty()) free();
    done_ = submitted_;
    look();
    while (pool_->free.first != nullptr) heap_.remove(pool_->free.first);
    ASSERT_EQ(heap_.size(), 0U);
    ASSERT_EQ(pool_->reserved, 0U);
    for (HeapStream* stream : streams_) heap_.remove_stream(stream);
    heap_.remove_pool(pool_);
    ASSERT_EQ(heap_.bytes_of_books(), 0U);
  }

  std::uint64_t draw() { return random_() % 100; }

 private:
  static constexpr std::size_t kStreams = 3;
  struct Freed {
    std::size_t stream;
    std::uint64_t position;
  };
  std::mt19937 random_{11};
  StreamHeap heap_;
  HeapPool* pool_ = heap_.add_pool(1, 0, 0);
  std::vector<HeapStream*> streams_;
  std::uint64_t next_base_ = 1 << 20U;
  std::map<std::uint64_t, HeapBlock*> used_;
  std::map<std::uint64_t, Freed> freed_;
  std::vector<std::uint64_t> submitted_ = std::vector<std::uint64_t>(kStreams);
  std::vector<std::uint64_t> done_ = std::vector<std::uint64_t>(kStreams);
  std::uint64_t recorded_[kStreams][StreamMarks::kMarksMax] = {};
  int reused_ = 0;
};

TEST(StreamHeapModelTest, NoStreamGetsWhatAnotherStillUses) {
  HeapModel model;
  for (int i = 0; i < 50000; ++i) {
    const std::uint64_t what = model.draw();
    if (what < 35) model.allocate();
    if (what >= 35 && what < 70) model.free();
    if (what >= 70 && what < 85) model.work();
    if (what >= 85 && what < 95) model.look();
    if (what >= 95) model.give_back();
    if (i % 500 == 0) model.check();
    ASSERT_FALSE(testing::Test::HasFatalFailure()) << i;
  }
  model.end();
}

}  // namespace
}  // namespace nvs::interposer::vmm
