// SPDX-License-Identifier: Apache-2.0
#include "cli/run_options.h"

#include <gtest/gtest.h>

namespace nvs::cli {
namespace {

void expect_bad_run(const Arguments& arguments, const std::string& part) {
  const auto options = parse_run_options(arguments);
  ASSERT_FALSE(options) << part;
  EXPECT_EQ(options.error().code, kExitFailed);
  EXPECT_NE(options.error().text.find(part), std::string::npos) << options.error().text;
  EXPECT_EQ(options.error().text.find('\n'), std::string::npos) << options.error().text;
}

Arguments command_of(const Arguments& arguments) {
  const auto options = parse_run_options(arguments);
  return options ? options->command : Arguments{"error: " + options.error().text};
}

TEST(RunOptions, TheDefaultsSetNothing) {
  const auto options = parse_run_options({"--", "ls"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->command, Arguments{"ls"});
  EXPECT_FALSE(options->debug || options->disable);
  EXPECT_EQ(options->debug_file, "");
  EXPECT_EQ(options->library, "");
  EXPECT_EQ(options->priority, "");
  EXPECT_FALSE(options->no_daemon);
}

TEST(RunOptions, AllOfThem) {
  const auto options =
      parse_run_options({"--debug", "--debug-file", "f.txt", "--library=/l.so", "--", "ls"});
  ASSERT_TRUE(options);
  EXPECT_TRUE(options->debug);
  EXPECT_EQ(options->debug_file, "f.txt");
  EXPECT_EQ(options->library, "/l.so");
  EXPECT_EQ(options->command, Arguments{"ls"});
  EXPECT_TRUE(parse_run_options({"--disable", "ls"})->disable);
}

TEST(RunOptions, HowToShare) {
  for (const char* priority : {"low", "normal", "high"}) {
    EXPECT_EQ(parse_run_options({"--priority", priority, "ls"})->priority, priority);
  }
  EXPECT_TRUE(parse_run_options({"--no-daemon", "ls"})->no_daemon);
  expect_bad_run({"--priority", "urgent", "ls"}, "no priority 'urgent': use low, normal or high");
  expect_bad_run({"--priority=", "ls"}, "--priority");
}

TEST(RunOptions, ADebugFileImpliesDebug) {
  EXPECT_TRUE(parse_run_options({"--debug-file", "f", "--", "ls"})->debug);
}

TEST(RunOptions, OfAnOptionGivenTwiceTheLastCounts) {
  EXPECT_EQ(parse_run_options({"--library", "a", "--library", "b", "ls"})->library, "b");
}

TEST(RunOptions, TheCommandIsKeptByteForByte) {
  const Arguments command = {"prog", "", "--", "--debug", "-x", "--library", "a b", "-", "\xff\n"};
  Arguments arguments = {"--debug", "--"};
  arguments.insert(arguments.end(), command.begin(), command.end());
  EXPECT_EQ(command_of(arguments), command);
}

TEST(RunOptions, TheCommandMayStandWithoutDashes) {
  EXPECT_EQ(command_of({"ls", "--help", "--", "-l"}), (Arguments{"ls", "--help", "--", "-l"}));
  EXPECT_EQ(command_of({"--library", "--debug", "ls", "--disable"}),
            (Arguments{"ls", "--disable"}));
  EXPECT_EQ(command_of({"--library=x", "ls"}), Arguments{"ls"});
  EXPECT_EQ(command_of({""}), Arguments{""});
  EXPECT_EQ(command_of({"-"}), Arguments{"-"});
}

TEST(RunOptions, LimitsAreKeptAsTheyAreWritten) {
  const auto options = parse_run_options({"--memory", "1.5Gi", "--cores=40%", "ls"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->memory, "1.5Gi");
  EXPECT_EQ(options->cores, "40%");
  EXPECT_EQ(options->command, Arguments{"ls"});
}

TEST(RunOptions, OnlyTheFirstDashesAreOurs) {
  EXPECT_EQ(command_of({"--", "--", "x"}), (Arguments{"--", "x"}));
  EXPECT_EQ(command_of({"--", "--help"}), Arguments{"--help"});
}

TEST(RunOptions, BadInputIsExplainedInOneLine) {
  expect_bad_run({}, "no command to start; write: nvshare run [OPTION...] -- COMMAND");
  expect_bad_run({"--debug", "--"}, "no command to start");
  expect_bad_run({"--frobnicate", "--", "ls"}, "--frobnicate");
  expect_bad_run({"-x", "ls"}, "options of the program stand after it");
  expect_bad_run({"--library", "--", "ls"}, "--library");
  expect_bad_run({"--library=", "--", "ls"}, "--library");
  expect_bad_run({"--library", "", "--", "ls"}, "--library needs the name of a file");
  expect_bad_run({"--debug-file", "", "--", "ls"}, "--debug-file needs the name of a file");
  expect_bad_run({"--disable", "--debug", "--", "ls"}, "leave one out");
  expect_bad_run({"--memory", "4 GB", "--", "ls"},
                 "--memory '4 GB' is no size: write 4Gi, 4096Mi, 4G, 512MiB, bytes, or 25%");
  expect_bad_run({"--memory=", "ls"}, "--memory");
  expect_bad_run({"--memory", "none", "ls"}, "--memory 'none' is no size");
  expect_bad_run({"--cores", "0", "--", "ls"},
                 "--cores '0' is no share: write a number from 1 to 100");
  expect_bad_run({"--cores", "", "--", "ls"}, "--cores '' is no share");
  expect_bad_run({"--disable", "--debug-file", "f", "--", "ls"}, "leave one out");
}

TEST(RunOptions, HelpNamesTheFormTheOptionsAndExamples) {
  const auto options = parse_run_options({"--debug", "--help"});
  ASSERT_FALSE(options);
  EXPECT_EQ(options.error().code, kExitOk);
  for (const char* part :
       {"Usage: nvshare run [OPTION...] [--] COMMAND", "--debug-file FILE", "--disable",
        "--library FILE", "Exit codes", "127", "nvshare run -- python3 train.py"}) {
    EXPECT_NE(options.error().text.find(part), std::string::npos) << part;
  }
}

TEST(RunOptions, VersionNeedsNoCommand) {
  const auto options = parse_run_options({"--version"});
  ASSERT_FALSE(options);
  EXPECT_EQ(options.error().code, kExitOk);
  EXPECT_EQ(options.error().text, version_text().text);
}

}  // namespace
}  // namespace nvs::cli
