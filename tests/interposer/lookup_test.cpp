// SPDX-License-Identifier: Apache-2.0
// Programs that look for the driver, on machines that have all of it, half of it or none.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/interposer/run.h"

namespace nvs::interposer_test {
namespace {

Command lookup(const std::string& name, const std::string& driver = "full") {
  return {.program = "lookup", .arguments = {name}, .driver = driver};
}

TEST(NoDriver, EveryQuestionGetsTheSameAnswer) {
  if (void* installed = ::dlopen("libcuda.so.1", RTLD_LAZY)) {
    ::dlclose(installed);
    GTEST_SKIP() << "this machine has a driver";
  }
  const Outcome with = same_as_alone(lookup("absent", ""));
  EXPECT_NE(with.output.find("open libcuda.so.1: null"), std::string::npos);
}

TEST(NoDriver, ProgramsThatNameTheDriverFailAsTheyWouldAlone) {
  if (void* installed = ::dlopen("libcuda.so.1", RTLD_LAZY)) {
    ::dlclose(installed);
    GTEST_SKIP() << "this machine has a driver";
  }
  const Outcome linked = same_as_alone({.program = "linked", .driver = ""});
  EXPECT_EQ(linked.status, 127);
  const Outcome weak = same_as_alone({.program = "weak", .driver = ""});
  EXPECT_EQ(weak.status, 1);
}

// The driver is there, and the program does without it: we do not load it either.
TEST(NoDriver, ProgramThatDoesNotLoadTheDriver) {
  for (const char* driver : {"full", "half", "other_half"}) {
    EXPECT_EQ(same_as_alone({.program = "weak", .driver = driver}).status, 1);
  }
}

// A file of the right name that is no library.
TEST(NoDriver, BrokenDriverIsRefusedInTheSameWords) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("nvs-broken-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "libcuda.so.1") << "not a library, but long enough to be read as one\n";
  Command command = lookup("absent", "");
  command.environment["LD_LIBRARY_PATH"] = folder;
  const Outcome with = same_as_alone(command);
  EXPECT_NE(with.output.find("libcuda.so.1: "), std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST(Lookup, ScopesAreThoseOfTheLoader) { EXPECT_TRUE(is_hooked(same_as_alone(lookup("scopes")))); }

TEST(Lookup, UnknownNamesAreUnknown) { same_as_alone(lookup("unknown_names")); }

TEST(Lookup, OtherNamesBelongToOthers) {
  same_as_alone(lookup("other_names"));
  same_as_alone(lookup("other_names", ""));
}

TEST(Lookup, PointersAreGoodWheneverTheyWereFetched) {
  EXPECT_TRUE(is_hooked(same_as_alone(lookup("early_and_late"))));
}

TEST(Lookup, WrongQuestionsGetTheDriversAnswer) { same_as_alone(lookup("wrong_questions")); }

TEST(Lookup, DriverThatLacksHalfOfTheTable) {
  for (const char* driver : {"half", "other_half"}) {
    const Outcome with = same_as_alone(lookup("presence", driver));
    EXPECT_EQ(with.status, 0);
    EXPECT_NE(with.output.find(": null"), std::string::npos);
    EXPECT_NE(with.output.find(": there"), std::string::npos);
  }
}

TEST(Lookup, DriverWithoutProcAddress) {
  const Outcome with = same_as_alone(lookup("presence", "no_proc_address"));
  EXPECT_NE(with.output.find("cuGetProcAddress_v2: null"), std::string::npos);
  EXPECT_TRUE(is_hooked(same_as_alone(lookup("open_and_close", "no_proc_address"))));
}

TEST(Lookup, SymbolsByTheirVersions) {
  const Outcome with = same_as_alone(lookup("versions", "versioned"));
  EXPECT_TRUE(is_hooked(with)) << with.output;
  EXPECT_NE(with.output.find("FAKE_1 cuLaunchKernel: there"), std::string::npos) << with.output;
  EXPECT_TRUE(is_hooked(same_as_alone({.program = "linked", .driver = "versioned"})));
}

TEST(Lookup, ClosedAndOpenedAgain) {
  EXPECT_TRUE(is_hooked(same_as_alone(lookup("open_and_close"))));
}

TEST(Lookup, OurLibraryOpenedAsAPlugIn) {
  // Without the preload the program opens the library itself; with it there is nothing to open.
  const Outcome opened = run(lookup("open_ours"), Library::none);
  EXPECT_EQ(opened.status, 0) << opened.output;
  EXPECT_EQ(opened.output, "dlsym: 0, 1 launch\nerror: none\n");
  same_as_alone(lookup("open_ours"));
}

TEST(Linked, EverythingReachesTheDriverInItsOrder) {
  const Outcome with = same_as_alone({.program = "linked"});
  EXPECT_EQ(with.status, 0);
  EXPECT_TRUE(is_hooked(with));
  EXPECT_NE(with.output.find("cuLaunchKernel * 1 2 3 4 5 6 7 * * null = 0"), std::string::npos);
}

TEST(Linked, FirstCallsAtOnce) {
  for (int round = 0; round < 20; ++round) {
    const Outcome with =
        same_as_alone({.program = "wrapped", .arguments = {"first_calls_at_once"}});
    EXPECT_EQ(with.output, "16 launches, 0 wrong\n");
  }
}

TEST(Linked, DriverOfOld) {
  EXPECT_TRUE(is_hooked(same_as_alone({.program = "linked", .driver = "no_proc_address"})));
}

TEST(Disabled, NothingIsHooked) {
  Command command{.program = "linked"};
  command.environment["NVSHARE_DISABLE"] = "1";
  same_as_alone(command);
  for (const char* name : {"scopes", "early_and_late", "open_and_close"}) {
    command = lookup(name);
    command.environment["NVSHARE_DISABLE"] = "1";
    const Outcome with = same_as_alone(command);
    EXPECT_FALSE(is_hooked(with)) << with.evidence;
    EXPECT_NE(with.evidence.find("from libcuda.so.1"), std::string::npos);
  }
}

TEST(Disabled, EmptyAndZeroMeanNo) {
  for (const char* value : {"", "0"}) {
    Command command = lookup("early_and_late");
    command.environment["NVSHARE_DISABLE"] = value;
    EXPECT_TRUE(is_hooked(same_as_alone(command)));
  }
}

// Alone, such a program dies at the call. With us each function is an error in one of the two
// halves, and reaches the driver in the other.
TEST(Linked, FunctionThatTheDriverLacks) {
  const std::string requires_newer_driver = "36";
  for (const std::string way : {"own", "gate", "jump"}) {
    std::vector<std::string> answers;
    for (const std::string driver : {"half", "other_half"}) {
      const Outcome with =
          run({.program = "lacking", .arguments = {way}, .driver = driver}, Library::product);
      EXPECT_EQ(with.status, 0) << with.output;
      std::istringstream lines(with.output);
      for (std::string line; std::getline(lines, line);) answers.push_back(line);
    }
    ASSERT_EQ(answers.size(), 4U) << way;
    for (const std::size_t call : {0U, 1U}) {
      EXPECT_NE(answers[call] == requires_newer_driver, answers[call + 2] == requires_newer_driver)
          << way << " " << call << ": " << answers[call] << " and " << answers[call + 2];
    }
  }
}

}  // namespace
}  // namespace nvs::interposer_test
