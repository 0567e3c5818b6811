// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/shared_files.h"

#include <chrono>
#include <thread>

#include "interposer/session/listen.h"
#include "interposer/session/test_patience.h"
#include "interposer/session/test_session.h"

namespace nvs::interposer {
namespace {

using session::ShareToken;

constexpr ShareToken kToken{{1, 2, 3}};

class SharedFiles : public SessionTest {
 protected:
  // Asks in a thread of the program's, and answers as the listening one; again if the answer may
  // have come too late.
  template <class Answer>
  bool ask(Answer answer) {
    constexpr std::chrono::seconds kPatience{1};  // less than that of whoever asks
    bool found = false;
    play_in_time(kPatience, [&] {
      std::thread asker([&] { found = session::open_shared(kToken, 4, chunk_); });
      std::optional<wire::OpenShared> asked;
      while (!(asked = heard<wire::OpenShared>())) std::this_thread::yield();
      EXPECT_EQ(asked->token[2], 3);
      EXPECT_EQ(asked->index, 4U);
      answer(asked->request);
      const auto answered = PatienceClock::now();
      asker.join();
      return answered;
    });
    return found;
  }
  static int some_file() { return ::dup(0); }
  static bool is_open(int file) { return ::fcntl(file, F_GETFD) >= 0; }

  session::SharedChunk chunk_;
};

TEST_F(SharedFiles, AChunkComesWithItsFile) {
  int file = -1;
  EXPECT_TRUE(ask([&](std::uint64_t request) {
    file = some_file();
    session::shared_chunk_came({.request = request, .index = 4, .count = 9, .bytes = 77}, file);
  }));
  EXPECT_EQ(chunk_.file, file);
  EXPECT_EQ(chunk_.count, 9U);
  EXPECT_EQ(chunk_.bytes, 77U);
  EXPECT_TRUE(is_open(file));
  ::close(file);
}

TEST_F(SharedFiles, OrThereIsNone) {
  EXPECT_FALSE(
      ask([&](std::uint64_t request) { session::shared_chunk_gone({.request = request}); }));
}

TEST_F(SharedFiles, AnswersToOtherQuestionsAreNotKept) {
  int late = -1;
  int file = -1;
  EXPECT_TRUE(ask([&](std::uint64_t request) {
    late = some_file();
    file = some_file();
    session::shared_chunk_came({.request = request - 1, .index = 0, .count = 1, .bytes = 1}, late);
    session::shared_chunk_gone({.request = request + 1});
    session::shared_chunk_came({.request = request, .index = 0, .count = 1, .bytes = 1}, file);
  }));
  EXPECT_EQ(chunk_.file, file);
  EXPECT_FALSE(is_open(late));
  session::shared_chunk_came({.request = 1, .index = 0, .count = 1, .bytes = 1}, file);
  EXPECT_FALSE(is_open(file));
}

TEST_F(SharedFiles, WithoutADaemonNothingIsFound) {
  connection::disconnect();
  EXPECT_FALSE(session::open_shared(kToken, 0, chunk_));
  EXPECT_FALSE(session::share_chunk(kToken, 0, 1, 1, 0));
}

TEST_F(SharedFiles, ChunksAreToldWithTheirFiles) {
  EXPECT_TRUE(session::share_chunk(kToken, 2, 3, 99, 0));
  const auto told = heard<wire::ShareMemory>();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->token[0], 1);
  EXPECT_EQ(told->index, 2U);
  EXPECT_EQ(told->count, 3U);
  EXPECT_EQ(told->bytes, 99U);
  session::unshare(kToken);
  EXPECT_EQ(heard<wire::UnshareMemory>()->token[1], 2);
}

// A packet with a file that is for nobody must not cost a descriptor.
TEST_F(SharedFiles, FilesThatNobodyWantsAreClosed) {
  const int file = some_file();
  wire::Packet<wire::SharedChunk> packet;
  packet.message = {.request = 5, .index = 0, .count = 1, .bytes = 1};
  session::hear(reinterpret_cast<const char*>(&packet), sizeof packet, file);
  EXPECT_FALSE(is_open(file));
}

}  // namespace
}  // namespace nvs::interposer
