// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/options.h"

#include <gtest/gtest.h>

#include "cli/ctl/exit_codes.h"

namespace nvs::cli {
namespace {

void expect_bad(const Arguments& arguments, const std::string& part) {
  const auto options = parse_ctl_options(arguments);
  ASSERT_FALSE(options) << part;
  EXPECT_EQ(options.error().code, kCtlUsage);
  EXPECT_NE(options.error().text.find(part), std::string::npos) << options.error().text;
  EXPECT_EQ(options.error().text.find('\n'), std::string::npos) << options.error().text;
}

TEST(CtlOptions, Status) {
  EXPECT_EQ(parse_ctl_options({"status"})->format, OutputFormat::table);
  EXPECT_EQ(parse_ctl_options({"status", "-o", "json"})->format, OutputFormat::json);
  EXPECT_EQ(parse_ctl_options({"status", "-o", "table"})->format, OutputFormat::table);
  expect_bad({"status", "-o", "xml"}, "no output format 'xml': use table or json");
  expect_bad({"status", "more"}, "more");
}

TEST(CtlOptions, TheFolderMayStandBeforeAndAfterTheCommand) {
  EXPECT_EQ(parse_ctl_options({"--folder", "/f", "status"})->folder, "/f");
  EXPECT_EQ(parse_ctl_options({"status", "--folder", "/f"})->folder, "/f");
  EXPECT_EQ(parse_ctl_options({"set", "mode", "auto", "--folder=/f"})->folder, "/f");
  EXPECT_EQ(parse_ctl_options({"status"})->folder, "");
  expect_bad({"--folder", "", "status"}, "--folder needs the name of a folder");
}

TEST(CtlOptions, SettingsOfAGpu) {
  const auto mode = parse_ctl_options({"set", "mode", "serial", "--gpu", "GPU-12"});
  ASSERT_TRUE(mode);
  EXPECT_EQ(mode->command, "set");
  EXPECT_EQ(mode->setting, "mode");
  EXPECT_EQ(mode->value, "serial");
  EXPECT_EQ(mode->gpus, std::vector<std::string>{"GPU-12"});
  const auto two = parse_ctl_options({"set", "mode", "--gpu", "0", "serial", "--gpu=1"});
  ASSERT_TRUE(two);
  EXPECT_EQ(two->gpus, (std::vector<std::string>{"0", "1"}));
  EXPECT_EQ(two->value, "serial");
  const auto window = parse_ctl_options({"set", "window", "20ms"});
  ASSERT_TRUE(window);
  EXPECT_EQ(window->setting, "window");
  EXPECT_EQ(window->value, "0.02");
  EXPECT_EQ(window->gpus, std::vector<std::string>{"all"});
  EXPECT_EQ(parse_ctl_options({"set", "turn", "30s"})->value, "30");
  EXPECT_EQ(parse_ctl_options({"set", "turn", "auto"})->value, "auto");
  expect_bad({"set"}, "subcommand");
  expect_bad({"set", "colour", "red"},
             "no setting 'colour': use mode, turn, window, priority, weight, memory or cores");
  expect_bad({"set", "mode"}, "VALUE");
  expect_bad({"set", "mode", "fast"}, "no mode 'fast': use auto, serial or concurrent");
  expect_bad({"set", "window", "20"}, "'20' is no time: write a number and its unit");
  EXPECT_EQ(parse_ctl_options({"set", "window", "0ms"})->value, "0") << "the daemon says the range";
  expect_bad({"set", "window", "auto"}, "'auto' is no time");
  expect_bad({"set", "turn", "long"}, "30s, or auto");
  expect_bad({"set", "mode", "auto", "--gpu", ""}, "--gpu needs");
}

TEST(CtlOptions, Tenants) {
  const auto priority = parse_ctl_options({"set", "priority", "high", "train.py"});
  ASSERT_TRUE(priority);
  EXPECT_EQ(priority->setting, "priority");
  EXPECT_EQ(priority->value, "high");
  EXPECT_EQ(priority->tenant, "train.py");
  EXPECT_EQ(parse_ctl_options({"pause", "3"})->tenant, "3");
  EXPECT_EQ(parse_ctl_options({"resume", "3"})->command, "resume");
  expect_bad({"set", "priority", "urgent", "3"}, "no priority 'urgent': use low, normal or high");
  expect_bad({"set", "priority", "high"}, "TENANT");
  const auto weight = parse_ctl_options({"set", "weight", "200", "train.py"});
  ASSERT_TRUE(weight);
  EXPECT_EQ(weight->value, "200");
  for (const char* bad : {"0", "1001", "-1", "2x", "1.5", "99999999999999999999"})
    expect_bad({"set", "weight", bad, "3"}, "is no weight: write a whole number from 1 to 1000");
  expect_bad({"set", "weight", "200"}, "TENANT");
  expect_bad({"set", "weight", "200", ""}, "a tenant's number or name is missing");
  expect_bad({"pause"}, "TENANT");
  expect_bad({"pause", ""}, "a tenant's number or name is missing");
  expect_bad({"pause", std::string(2000, 'x')}, "names nothing");
}

TEST(CtlOptions, Limits) {
  const auto memory = parse_ctl_options({"set", "memory", "1.5Gi", "train.py"});
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->setting, "memory");
  EXPECT_EQ(memory->value, "1.5Gi");
  EXPECT_EQ(memory->tenant, "train.py");
  for (const char* value : {"1", "100", "40%", "none", "default"}) {
    EXPECT_TRUE(parse_ctl_options({"set", "cores", value, "2"})) << value;
  }
  for (const char* value : {"25%", "4096", "none", "default"}) {
    EXPECT_TRUE(parse_ctl_options({"set", "memory", value, "2"})) << value;
  }
  expect_bad({"set", "memory", "4 GB", "2"},
             "'4 GB' is no size: write 4Gi, 4096Mi, 4G, 512MiB, bytes, or 25%; none for no limit, "
             "default to take back what was set");
  expect_bad({"set", "cores", "150", "2"}, "'150' is no share: write a number from 1 to 100; none");
  expect_bad({"set", "cores", "40"}, "TENANT");
  expect_bad({"set", "memory", "4Gi", ""}, "a tenant's number or name is missing");
}

TEST(CtlOptions, Trace) {
  EXPECT_EQ(parse_ctl_options({"trace"})->file, "nvshare-trace.json");
  EXPECT_EQ(parse_ctl_options({"trace"})->seconds, 10);
  EXPECT_EQ(parse_ctl_options({"trace", "-o", "f", "--seconds", "2.5"})->seconds, 2.5);
  EXPECT_EQ(parse_ctl_options({"trace", "-o", "-", "--seconds", "2m"})->seconds, 120);
  for (const char* wrong : {"0", "-1", "x", "", "1e9", "86401"}) {
    expect_bad({"trace", "--seconds", wrong}, "--seconds");
  }
  expect_bad({"trace", "-o", ""}, "-o needs the name of a file");
}

TEST(CtlOptions, Completion) {
  EXPECT_EQ(parse_ctl_options({"completion", "bash"})->words, "bash");
  expect_bad({"completion", "tcsh"}, "no completion for 'tcsh': use bash, zsh or fish");
  expect_bad({"completion"}, "SHELL");
}

TEST(CtlOptions, NothingAndNonsense) {
  expect_bad({}, "subcommand");
  expect_bad({"frobnicate"}, "no command 'frobnicate': use status, top, set");
  expect_bad({"--folder", "/f", "frobnicate"}, "no command 'frobnicate'");
  expect_bad({"--frobnicate", "status"}, "--frobnicate");
}

TEST(CtlOptions, HelpAndVersion) {
  const auto help = parse_ctl_options({"--help"});
  ASSERT_FALSE(help);
  EXPECT_EQ(help.error().code, kExitOk);
  for (const char* part : {"status", "top", "set", "pause", "resume", "trace", "completion",
                           "--folder DIR", "Exit codes: 0 done", "ui.perfetto.dev"}) {
    EXPECT_NE(help.error().text.find(part), std::string::npos) << part;
  }
  const auto of_set = parse_ctl_options({"set", "window", "--help"});
  ASSERT_FALSE(of_set);
  EXPECT_EQ(of_set.error().code, kExitOk);
  EXPECT_NE(of_set.error().text.find("--gpu GPU"), std::string::npos) << of_set.error().text;
  EXPECT_EQ(parse_ctl_options({"--version"}).error().text, version_text().text);
}

}  // namespace
}  // namespace nvs::cli
