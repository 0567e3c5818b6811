// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/piece_names.h"

#include <string_view>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace nvs::interposer::memory {
namespace {

constexpr std::uint64_t kBytes = 100'000'001;

UniqueFd make_file() { return UniqueFd{::memfd_create("memory", MFD_CLOEXEC)}; }

bool find(std::string_view text, FileTag& tag) { return find_tag(text.data(), text.size(), tag); }

TEST(PieceNames, ATagGoesWithTheOpenFileAndWithNoOther) {
  const UniqueFd file = make_file();
  const UniqueFd stranger = make_file();
  const UniqueFd copy{::dup(file.get())};
  FileTag tag;
  EXPECT_FALSE(read_tag(copy.get(), tag));
  const PieceName name = new_piece_name();
  ASSERT_NE(name, 0U);
  ASSERT_TRUE(write_tag(file.get(), {name, kBytes}));
  ASSERT_TRUE(read_tag(copy.get(), tag));
  EXPECT_EQ(tag.name, name);
  EXPECT_EQ(tag.bytes, kBytes);
  EXPECT_FALSE(read_tag(stranger.get(), tag));
}

TEST(PieceNames, OtherProcessesReadItToo) {
  const UniqueFd file = make_file();
  const PieceName name = new_piece_name();
  const pid_t maker = ::fork();
  ASSERT_GE(maker, 0);
  if (maker == 0) ::_exit(write_tag(file.get(), {name, 0}) ? 0 : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(maker, &status, 0), maker);
  ASSERT_EQ(status, 0);
  FileTag tag;
  ASSERT_TRUE(read_tag(file.get(), tag)) << "its maker is gone, and the file is not";
  EXPECT_EQ(tag.name, name);
  EXPECT_EQ(tag.bytes, 0U);
}

TEST(PieceNames, TheLineOfADriversFileIsUnderstood) {
  // On an H200, under Linux 6.18, but for the numbers.
  constexpr std::string_view kInfo =
      "pos:\t0\nflags:\t02100002\nmnt_id:\t24\nino:\t142\n"
      "lock:\t1: POSIX  ADVISORY  WRITE 4711 00:06:142 0 EOF\n"
      "lock:\t2: OFDLCK ADVISORY  READ -1 00:06:142 7959549391547387157 7959549391614496021\n";
  FileTag tag;
  ASSERT_TRUE(find(kInfo, tag));
  EXPECT_EQ(tag.name, 7959549391547387157U);
  EXPECT_EQ(tag.bytes, 67108864U);
}

TEST(PieceNames, LocksOfOthersAreNone) {
  FileTag tag;
  for (const char* text : {"", "lock:", "lock:\t1: OFDLCK ADVISORY  READ -1 00:06:142 5 9\n",
                           "lock:\t1: OFDLCK ADVISORY  READ -1 00:06:142 7959549391547387157 EOF\n",
                           "lock:\t1: OFDLCK ADVISORY  READ -1 00:06:142 7959549391547387157 5\n",
                           "pos:\t7959549391547387157 7959549391547387158\n"}) {
    EXPECT_FALSE(find(text, tag)) << text;
  }
}

TEST(PieceNames, ContentIsAName) {
  const char one[64] = {1, 2, 3};
  const char two[64] = {1, 2, 4};
  EXPECT_EQ(piece_name_of(one, sizeof one), piece_name_of(one, sizeof one));
  EXPECT_NE(piece_name_of(one, sizeof one), piece_name_of(two, sizeof two));
  EXPECT_NE(new_piece_name(), new_piece_name());
}

}  // namespace
}  // namespace nvs::interposer::memory
