// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <algorithm>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace nvs {
namespace {

std::string line(std::initializer_list<Field> fields) {
  return log_line(Level::info, "", "sessions", "client joined", fields);
}

// What the field `x` looks like with that value.
std::string written(std::string_view value) {
  return line({{"x", value}}).substr(line({}).size() + 3);
}

TEST(LogLine, IsLogfmt) {
  EXPECT_EQ(log_line(Level::warning, "2026-01-02T03:04:05.678Z", "sessions", "client joined",
                     {{"tenant", "train.py"},
                      {"pod", "ml team/job 1"},
                      {"pid", 42},
                      {"bytes", std::uint64_t{1} << 63U},
                      {"mig", false},
                      {"none", ""}}),
            "time=2026-01-02T03:04:05.678Z level=warning module=sessions msg=\"client joined\" "
            "tenant=train.py pod=\"ml team/job 1\" pid=42 bytes=9223372036854775808 mig=false "
            "none=\"\"");
  EXPECT_EQ(line({}), "level=info module=sessions msg=\"client joined\"");
}

TEST(LogLine, HostileValuesStayInTheirQuotes) {
  EXPECT_EQ(written("plain/name:1"), "plain/name:1");
  EXPECT_EQ(written("a=b"), "\"a=b\"");
  EXPECT_EQ(written("a\" level=error msg=\"x"), R"("a\" level=error msg=\"x")");
  EXPECT_EQ(written("a\\"), R"("a\\")");
  EXPECT_EQ(written("a\nlevel=info msg=forged"), R"("a\nlevel=info msg=forged")");
  EXPECT_EQ(written("\r\t\x1b[2J\x7f"), R"("\r\t\u001b[2J\u007f")");
  EXPECT_EQ(written("\u009b2J\u2028\u202e"), R"("\u009b2J\u2028\u202e")");
  EXPECT_EQ(written("\xff\xc3("), R"("\xff\xc3(")");
  EXPECT_EQ(written("größe 中"), "\"größe 中\"");
  EXPECT_EQ(written(std::string_view("a\0b", 3)), R"("a\u0000b")");
}

// Every byte, alone and beside others: what comes out is one line of printable text, and its quotes
// and escapes are whole.
TEST(LogLine, NoByteBreaksALine) {
  for (int first = 0; first < 256; ++first) {
    for (const std::string after : {"", " x=\"", "\\", "\xa0\x80"}) {
      const std::string out = written(std::string(1, static_cast<char>(first)) + after);
      EXPECT_EQ(std::count_if(out.begin(), out.end(),
                              [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f; }),
                0);
      if (out.front() != '"') {
        EXPECT_EQ(out.find_first_of(" =\"\\"), std::string::npos) << out;
        continue;
      }
      std::size_t place = 1;
      while (place < out.size() && out[place] != '"') place += out[place] == '\\' ? 2 : 1;
      EXPECT_EQ(place, out.size() - 1) << out;
    }
  }
}

TEST(LogLine, LongValuesAndLinesAreCut) {
  const std::string value = written(std::string(5000, 'a'));
  EXPECT_LE(value.size(), kLogValueMax + 8);
  EXPECT_TRUE(value.ends_with("a…\"")) << value;
  // No character is cut in two, whichever way they fall.
  for (std::size_t shift = 0; shift < 4; ++shift) {
    const std::string wide = written(std::string(shift, 'a') + [] {
      std::string text;
      for (int i = 0; i < 1000; ++i) text += "中";
      return text;
    }());
    EXPECT_TRUE(wide.ends_with("中…\"")) << wide;
    EXPECT_EQ(wide.find("\\x"), std::string::npos);
  }
  const std::string big(400, '\n');
  const std::string cut = log_line(Level::info, "", "m", big,
                                   {{"a", big},
                                    {"b", big},
                                    {"c", big},
                                    {"d", big},
                                    {"e", big},
                                    {"f", big},
                                    {"g", big},
                                    {"h", big},
                                    {"last", "x"}});
  EXPECT_LT(cut.size() + 4, kLogLineMax);
  EXPECT_TRUE(cut.ends_with("\" cut=true")) << cut.substr(cut.size() - 40);
  EXPECT_EQ(cut.find("last="), std::string::npos);
}

TEST(LogLevels, AreParsed) {
  const auto levels = parse_log_levels("warning,sessions:debug,admin:error");
  ASSERT_TRUE(levels) << levels.error();
  EXPECT_EQ(levels->of("node"), Level::warning);
  EXPECT_EQ(levels->of("sessions"), Level::debug);
  EXPECT_EQ(levels->of("admin"), Level::error);
  const auto more = parse_log_levels("sessions:info", *levels);
  ASSERT_TRUE(more);
  EXPECT_EQ(more->of("sessions"), Level::info);
  EXPECT_EQ(more->of("node"), Level::warning);
  EXPECT_EQ(more->of("admin"), Level::error);
  ASSERT_TRUE(parse_log_levels(""));
  EXPECT_EQ(parse_log_levels("")->of("x"), Level::info);
}

TEST(LogLevels, MistakesAreNamed) {
  for (const char* text : {"loud", "info,", "info,,debug", "sessions", "sessions:", ":debug",
                           "a b:debug", "Sessions:debug", "INFO", "a:b:debug", " info"}) {
    const auto levels = parse_log_levels(text);
    if (std::string(text) == "info,") {
      EXPECT_TRUE(levels);  // a comma at the end says nothing
      continue;
    }
    ASSERT_FALSE(levels) << text;
    EXPECT_NE(levels.error().find("one of error, warning, info, debug"), std::string::npos);
  }
  EXPECT_NE(parse_log_levels("info,lo\nud").error().find(R"("lo\nud")"), std::string::npos);
}

class LogTest : public ::testing::Test {
 protected:
  LogTest() {
    int fds[2] = {-1, -1};
    EXPECT_EQ(::pipe2(fds, O_CLOEXEC), 0);
    from_.reset(fds[0]);
    to_.reset(fds[1]);
    EXPECT_EQ(::fcntl(from_.get(), F_SETFL, O_NONBLOCK), 0);
  }
  ~LogTest() override { start_log({}, LogStyle::plain); }

  std::string logged() {
    char buffer[8192];
    const ssize_t got = ::read(from_.get(), buffer, sizeof buffer);
    return got > 0 ? std::string(buffer, static_cast<std::size_t>(got)) : "";
  }
  std::size_t lines_logged();

  UniqueFd from_, to_;
};

TEST_F(LogTest, ModulesAreFilesWithLevelsOfTheirOwn) {
  start_log(*parse_log_levels("warning,log_test:debug"), LogStyle::journal, to_.get());
  log(Level::debug, "here");
  EXPECT_EQ(logged(), "<7>level=debug module=log_test msg=here\n");
  EXPECT_TRUE(log_enabled(Level::debug));
  log(Level::info, "there", {}, "src/daemon/other.cpp");
  EXPECT_EQ(logged(), "");
  EXPECT_FALSE(log_enabled(Level::info, "src/daemon/other.cpp"));
  log(Level::warning, "there", {{"n", 1}}, "src/daemon/other.cpp");
  EXPECT_EQ(logged(), "<4>level=warning module=other msg=there n=1\n");
  log(Level::error, "there", {}, "other.cpp");
  EXPECT_TRUE(logged().starts_with("<3>level=error module=other "));
}

TEST_F(LogTest, PlainLinesBeginWithTheTime) {
  start_log({}, LogStyle::plain, to_.get());
  log(Level::info, "a");
  const std::string text = logged();
  // time=2026-01-02T03:04:05.678Z
  ASSERT_TRUE(text.starts_with("time=2")) << text;
  EXPECT_EQ(text.substr(15, 1), "T");
  EXPECT_EQ(text.substr(28), "Z level=info module=log_test msg=a\n");
}

// All that is in the pipe.
std::size_t LogTest::lines_logged() {
  std::string all;
  for (std::string piece = logged(); !piece.empty(); piece = logged()) all += piece;
  EXPECT_TRUE(all.empty() || all.back() == '\n') << "half a line";
  return static_cast<std::size_t>(std::count(all.begin(), all.end(), '\n'));
}

TEST_F(LogTest, LinesThatNobodyReadsAreLostAndCounted) {
  start_log({}, LogStyle::journal, to_.get());
  ::alarm(60);  // a write that waits never returns
  constexpr std::size_t kLines = 3000;
  for (std::size_t i = 0; i < kLines; ++i) log(Level::info, std::string(100, 'a'));
  const std::size_t taken = lines_logged();
  ASSERT_GT(taken, 0U);
  ASSERT_LT(taken, kLines);
  log(Level::info, "here");
  EXPECT_EQ(logged(), "<4>level=warning module=log msg=\"lines were lost: nobody read\" lines=" +
                          std::to_string(kLines - taken) +
                          "\n<6>level=info module=log_test msg=here\n");
  log(Level::info, "there");
  EXPECT_EQ(logged(), "<6>level=info module=log_test msg=there\n") << "it is said once";
  ::alarm(0);
}

TEST_F(LogTest, LinesThatCannotBeWrittenAreCountedToo) {
  const UniqueFd full{::open("/dev/full", O_WRONLY | O_CLOEXEC)};
  ASSERT_TRUE(full);
  const int number = ::dup(full.get());
  start_log({}, LogStyle::journal, number);
  log(Level::info, "a");
  log(Level::info, "b");
  ASSERT_EQ(::dup2(to_.get(), number), number);
  log(Level::info, "c");
  EXPECT_NE(logged().find("lines=2\n<6>level=info module=log_test msg=c\n"), std::string::npos);
  ::close(number);
}

TEST_F(LogTest, TheJournalIsKnownByItsStream) {
  struct stat file {};
  ASSERT_EQ(::fstat(to_.get(), &file), 0);
  const std::string stream = std::to_string(file.st_dev) + ":" + std::to_string(file.st_ino);
  EXPECT_EQ(log_style(to_.get(), stream.c_str()), LogStyle::journal);
  EXPECT_EQ(log_style(to_.get(), (stream + "1").c_str()), LogStyle::plain);
  EXPECT_EQ(log_style(to_.get(), ""), LogStyle::plain);
  EXPECT_EQ(log_style(to_.get(), nullptr), LogStyle::plain);
  EXPECT_EQ(log_style(-1, stream.c_str()), LogStyle::plain);
}

}  // namespace
}  // namespace nvs
