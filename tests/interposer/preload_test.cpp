// SPDX-License-Identifier: Apache-2.0
// Other libraries in LD_PRELOAD, before ours and behind it, and plug-ins: each is called as often
// as without us, and so is the driver.
#include <gtest/gtest.h>

#include "tests/interposer/run.h"

namespace nvs::interposer_test {
namespace {

std::string other(const std::string& name) { return built("test/strangers/lib" + name + ".so"); }

// In both places relative to ours.
void expect_same_in_both_orders(const std::vector<std::string>& others,
                                const std::vector<std::string>& arguments) {
  const Command before{.program = "wrapped", .arguments = arguments, .before = others};
  const Command behind{.program = "wrapped", .arguments = arguments, .after = others};
  for (const Command& command : {before, behind}) {
    const Outcome with = same_as_alone(command);
    EXPECT_EQ(with.status, 0) << with.output;
  }
}

const std::vector<std::string> kWays = {"link", "dlsym", "default", "next", "proc_address"};

TEST(Preload, WrapperThatAsksForTheNext) {
  for (const std::string& way : kWays) expect_same_in_both_orders({other("wrap_next")}, {way});
  const Outcome with =
      run({.program = "wrapped", .arguments = {"link"}, .before = {other("wrap_next")}},
          Library::product);
  EXPECT_NE(with.output.find("wrapped_launches_next: 7\ndriver: 7\n"), std::string::npos)
      << with.output;
}

TEST(Preload, WrapperThatOpensTheDriver) {
  for (const std::string& way : kWays) expect_same_in_both_orders({other("wrap_opened")}, {way});
}

TEST(Preload, BothWrappersAroundUs) {
  for (const std::string& way : kWays) {
    expect_same_in_both_orders({other("wrap_next"), other("wrap_opened")}, {way});
    expect_same_in_both_orders({other("wrap_opened"), other("wrap_next")}, {way});
    same_as_alone({.program = "wrapped",
                   .arguments = {way},
                   .before = {other("wrap_next")},
                   .after = {other("wrap_opened")}});
    same_as_alone({.program = "wrapped",
                   .arguments = {way},
                   .before = {other("wrap_opened")},
                   .after = {other("wrap_next")}});
  }
}

TEST(Preload, WrapperOfMalloc) {
  expect_same_in_both_orders({other("wrap_malloc")}, {"allocations"});
}

TEST(Preload, WrapperOfDlopenThatLooksIntoTheDriver) {
  for (const std::string& way : kWays) expect_same_in_both_orders({other("wrap_dlopen")}, {way});
}

TEST(Preload, WrapperOfDlsym) {
  for (const std::string& way : kWays) expect_same_in_both_orders({other("wrap_dlsym")}, {way});
}

TEST(Preload, LibraryThatAsksBeforeTheProgramBegins) {
  expect_same_in_both_orders({other("ask_early")}, {"link"});
  same_as_alone(
      {.program = "host", .arguments = {other("plugin")}, .before = {other("ask_early")}});
}

// The loader's lock is held by a thread that waits for the one that calls. Where the program itself
// was not started with the driver, the first linked call does need that lock (ADR-0006).
TEST(Preload, PlugInThatCallsTheDriverWhileItIsLoaded) {
  const Outcome with =
      same_as_alone({.program = "linked_host", .arguments = {other("plugin_of_threads")}});
  EXPECT_EQ(with.status, 0) << with.output;
}

TEST(Preload, PlugInOfPartsThatShareAScope) {
  // The other part is found beside the first.
  const Outcome with =
      same_as_alone({.program = "host",
                     .arguments = {other("plugin_of_parts")},
                     .environment = {{"LD_LIBRARY_PATH",
                                      built("lib/fake/full") + ":" + built("test/strangers")}}});
  EXPECT_EQ(with.status, 0) << with.output;
  EXPECT_TRUE(is_hooked(with)) << with.evidence;
}

TEST(Preload, PlugInWithADriverOfItsOwn) {
  const Outcome with =
      same_as_alone({.program = "host", .arguments = {other("emulator")}, .driver = ""});
  EXPECT_EQ(with.status, 0) << with.output;
}

TEST(Preload, PlugInWithAScopeOfItsOwn) {
  const Outcome with = same_as_alone({.program = "host", .arguments = {other("plugin")}});
  EXPECT_EQ(with.status, 0) << with.output;
  EXPECT_TRUE(is_hooked(with)) << with.evidence;
}

}  // namespace
}  // namespace nvs::interposer_test
