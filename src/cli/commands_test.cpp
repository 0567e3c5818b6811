// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.h"

#include <gtest/gtest.h>

namespace nvs::cli {
namespace {

EarlyExit nothing(const Arguments&) { return {kExitOk, ""}; }

constexpr Command kCommands[] = {{"run", "start a program", nothing},
                                 {"list", "show them", nothing}};

void expect_bad(const Arguments& arguments, const std::string& text) {
  const auto invocation = choose_command(kCommands, arguments);
  ASSERT_FALSE(invocation);
  EXPECT_EQ(invocation.error().code, kExitFailed);
  EXPECT_EQ(invocation.error().text, text);
}

TEST(Commands, TheFirstWordChoosesAndTheRestIsPassedOn) {
  const auto invocation = choose_command(kCommands, {"list", "--version", "", "run"});
  ASSERT_TRUE(invocation);
  EXPECT_EQ(invocation->command, &kCommands[1]);
  EXPECT_EQ(invocation->arguments, (Arguments{"--version", "", "run"}));
}

TEST(Commands, WithoutRunTheMessageShowsTheRightForm) {
  expect_bad({"python3", "train.py", "--name", "a b", ""},
             "no subcommand 'python3'; to start that program write: "
             "nvshare run -- python3 train.py --name 'a b' ''");
  expect_bad({"--", "ls", "-l"}, "the word 'run' is missing; write: nvshare run -- ls -l");
  expect_bad({"--"}, "the word 'run' is missing; write: nvshare run -- COMMAND");
  expect_bad({"--debug", "run", "ls"},
             "no option --debug here; options of run stand after that word: "
             "nvshare run [OPTION...] -- COMMAND");
  expect_bad({}, "say what to do; to start a program: nvshare run -- COMMAND (see --help)");
}

TEST(Commands, HelpListsThemAll) {
  for (const char* option : {"--help", "-h"}) {
    const auto invocation = choose_command(kCommands, {option});
    ASSERT_FALSE(invocation);
    EXPECT_EQ(invocation.error().code, kExitOk);
    for (const char* part : {"run     start a program\n", "list    show them\n", "--version",
                             "nvshare run -- python3 train.py"}) {
      EXPECT_NE(invocation.error().text.find(part), std::string::npos) << part;
    }
  }
}

TEST(Commands, VersionIsOneLine) {
  const auto invocation = choose_command(kCommands, {"--version"});
  ASSERT_FALSE(invocation);
  EXPECT_EQ(invocation.error().code, kExitOk);
  EXPECT_EQ(invocation.error().text.find("nvshare "), 0u);
  EXPECT_EQ(invocation.error().text.find('\n'), invocation.error().text.size() - 1);
}

TEST(Commands, WordsAreQuotedOnlyWhereAShellNeedsIt) {
  EXPECT_EQ(shell_words({"a-b_c=/d.e:f,g@h%i+1"}), "a-b_c=/d.e:f,g@h%i+1");
  EXPECT_EQ(shell_words({"it's", "$x", "", "*", "\n"}), R"('it'\''s' '$x' '' '*' ')"
                                                        "\n'");
  EXPECT_EQ(shell_words({}), "");
}

}  // namespace
}  // namespace nvs::cli
