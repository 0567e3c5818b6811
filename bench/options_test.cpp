// SPDX-License-Identifier: Apache-2.0
#include "bench/options.h"

#include <gtest/gtest.h>

namespace nvs::bench {
namespace {

const std::vector<CaseName> kCases = {{"driver", "the driver alone"}, {"windows", "later"}};

tl::expected<Options, EarlyExit> parse(const std::vector<std::string>& arguments) {
  return parse_options(arguments, kCases);
}

void expect_bad(const std::vector<std::string>& arguments, const std::string& part) {
  const auto options = parse(arguments);
  ASSERT_FALSE(options) << part;
  EXPECT_EQ(options.error().code, kExitBadInput);
  EXPECT_NE(options.error().text.find(part), std::string::npos) << options.error().text;
}

TEST(Options, TheDefaultsAskForAnyGpuAndATable) {
  const auto options = parse({"driver"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->cases, std::vector<std::string>{"driver"});
  EXPECT_EQ(options->backend, Backend::kAutomatic);
  EXPECT_EQ(options->simulator.preset, "") << "what the case needs";
  EXPECT_EQ(options->format, Format::kTable);
  EXPECT_EQ(options->library, "");
  EXPECT_EQ(options->python, "");
  EXPECT_FALSE(options->check || options->quick || options->list);
}

TEST(Options, AllOfThem) {
  const auto options =
      parse({"driver", "windows", "--sim", "t4", "--gpus", "2", "--scale", "128", "--time-factor",
             "2.5", "--json", "--check", "--quick", "--library", "lib.so"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->cases.size(), 2u);
  EXPECT_EQ(options->backend, Backend::kSimulator);
  EXPECT_EQ(options->simulator.preset, "t4");
  EXPECT_EQ(options->simulator.gpus, 2u);
  EXPECT_EQ(options->simulator.scale, 128u);
  EXPECT_EQ(options->simulator.time_factor, 2.5);
  EXPECT_EQ(options->format, Format::kJson);
  EXPECT_EQ(options->library, "lib.so");
  EXPECT_TRUE(options->check && options->quick);
}

TEST(Options, GpuMayBeForced) { EXPECT_EQ(parse({"driver", "--gpu"})->backend, Backend::kGpu); }

TEST(Options, ProgramsForPythonAreAFolder) {
  EXPECT_EQ(parse({"driver", "--gpu", "--python", "programs"})->python, "programs");
}

TEST(Options, ListNeedsNoCase) { EXPECT_TRUE(parse({"--list"})->list); }

TEST(Options, HelpNamesCasesExitCodesAndExamples) {
  const auto options = parse({"--help"});
  ASSERT_FALSE(options);
  EXPECT_EQ(options.error().code, kExitOk);
  for (const char* part : {"--quick", "the driver alone", "Exit codes", "Examples", "invalid"}) {
    EXPECT_NE(options.error().text.find(part), std::string::npos) << part;
  }
}

TEST(Options, BadInputIsExplained) {
  expect_bad({}, "name a case to run: driver, windows");
  expect_bad({"drivers"}, "no case 'drivers': the cases are driver, windows");
  expect_bad({"driver", "--sim", "a100"}, "no preset 'a100': --sim takes one of h200, t4");
  expect_bad({"driver", "--sim"}, "--sim");
  expect_bad({"driver", "--sim", "h200", "--gpu"}, "exclude each other");
  expect_bad({"driver", "--scale", "64"}, "--scale shapes the simulator");
  for (const char* scale : {"0", "3", "96", "1024"}) {
    expect_bad({"driver", "--sim", "h200", "--scale", scale}, "--scale must be a power of two");
  }
  expect_bad({"driver", "--sim", "h200", "--scale", "many"}, "--scale");
  expect_bad({"driver", "--sim", "h200", "--gpus", "17"}, "--gpus must be 1 to 16");
  expect_bad({"driver", "--sim", "h200", "--time-factor", "nan"}, "--time-factor must be");
  expect_bad({"driver", "--frobnicate"}, "--frobnicate");
  expect_bad({"driver", "--sim", "h200", "--python", "programs"}, "--python needs a GPU");
}

TEST(Options, ListIsOneLineACase) {
  EXPECT_EQ(list_of(kCases), "  driver   the driver alone\n  windows  later\n");
}

}  // namespace
}  // namespace nvs::bench
