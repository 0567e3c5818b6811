// SPDX-License-Identifier: Apache-2.0
#include "daemon/options.h"

#include <gtest/gtest.h>

#include "wire/messages.h"

namespace nvs::daemon {
namespace {

Options parsed(std::vector<std::string> arguments, const Environment& environment = {}) {
  auto options = parse_options(std::move(arguments), environment);
  EXPECT_TRUE(options) << options.error().text;
  return options ? *options : Options{};
}

std::string complaint(std::vector<std::string> arguments, const Environment& environment = {}) {
  const auto options = parse_options(std::move(arguments), environment);
  if (options) return "";
  EXPECT_EQ(options.error().code, kExitUsage);
  return options.error().text;
}

TEST(Options, HaveDefaults) {
  const Options options = parsed({});
  EXPECT_EQ(options.folder, wire::kDefaultFolder);
  EXPECT_EQ(options.policy.mode, core::Mode::automatic);
  EXPECT_EQ(options.policy.window, kWindow);
  EXPECT_FALSE(options.policy.turn);
  EXPECT_FALSE(options.gpu_memory.each);
  EXPECT_TRUE(options.gpu_memory.by_uuid.empty());
  EXPECT_FALSE(options.host_memory_bytes);
  EXPECT_EQ(options.limits.memory().source, LimitSource::none);
  EXPECT_EQ(options.limits.cores().source, LimitSource::none);
  EXPECT_EQ(options.policy.quota_period, Duration::from_ms(200));
  EXPECT_FALSE(options.exit_when_unused);
  EXPECT_EQ(options.log_levels.general, Level::info);
}

TEST(Options, AreRead) {
  const Options options = parsed({"--folder", "/run/x/", "--window=5ms", "--turn", "1.5s", "--mode",
                                  "serial", "--gpu-memory", "16GiB", "--host-memory", "64GiB",
                                  "--exit-when-unused", "--log-level", "debug"});
  EXPECT_EQ(options.folder, "/run/x");
  EXPECT_EQ(options.policy.mode, core::Mode::serial);
  EXPECT_EQ(options.policy.window, Duration::from_ms(5));
  EXPECT_EQ(options.policy.turn, Duration::from_ms(1500));
  EXPECT_EQ(options.gpu_memory.each, std::uint64_t{16} << 30U);
  EXPECT_EQ(options.host_memory_bytes, std::uint64_t{64} << 30U);
  EXPECT_EQ(parsed({"--host-memory", "0"}).host_memory_bytes, 0U);
  EXPECT_EQ(parsed({"--host-memory", "64MiB"}).host_memory_bytes, 64U << 20U);
  EXPECT_TRUE(options.exit_when_unused);
  EXPECT_EQ(options.log_levels.general, Level::debug);
}

TEST(Options, LimitsForEverybody) {
  const Options options =
      parsed({"--memory-limit", "25%", "--core-limit=40", "--quota-period", "0.5s"});
  EXPECT_EQ(options.limits.memory(),
            (EffectiveLimit<MemoryAmount>{MemoryAmount{0, 25}, LimitSource::defaults}));
  EXPECT_EQ(options.limits.cores(), (EffectiveLimit<std::uint32_t>{40, LimitSource::defaults}));
  EXPECT_EQ(options.policy.quota_period, Duration::from_ms(500));
  EXPECT_EQ(parsed({"--gpu-memory", "16G"}).gpu_memory.each, 16'000'000'000U) << "as limits";
}

TEST(Options, PodsMayNotAskForHighPriorityUnlessOneSaysSo) {
  EXPECT_EQ(parsed({}).pod_priority, core::Priority::normal);
  EXPECT_EQ(parsed({"--pod-priority", "high"}).pod_priority, core::Priority::high);
  EXPECT_EQ(parsed({"--pod-priority", "low"}).pod_priority, core::Priority::low);
}

TEST(Options, MetricsHaveAnAddress) {
  EXPECT_FALSE(parsed({}).metrics);
  EXPECT_EQ(parsed({"--metrics", ":9402"}).metrics, (os::TcpAddress{"", 9402}));
  EXPECT_EQ(parsed({"--metrics=[::1]:1"}).metrics, (os::TcpAddress{"::1", 1}));
  EXPECT_NE(complaint({"--metrics", "localhost:9402"}).find("not 'localhost:9402'"),
            std::string::npos);
}

TEST(Options, TheLastOneCounts) {
  EXPECT_EQ(parsed({"--window", "5ms", "--window", "7ms"}).policy.window, Duration::from_ms(7));
  EXPECT_FALSE(parsed({"--turn", "5s", "--turn", "auto"}).policy.turn);
}

TEST(Options, OneGpuCanHaveASizeOfItsOwn) {
  const std::string uuid = "GPU-01020304-0506-0708-090a-0b0c0d0e0f10";
  const UuidBytes named{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
  const GpuMemory memory = parsed({"--gpu-memory", uuid + "=5Ki", "--gpu-memory", "9Ki",
                                   "--gpu-memory=" + uuid + "=3Ki", "--gpu-memory", "4Ki"})
                               .gpu_memory;
  EXPECT_EQ(memory.of(named), 3072U) << "the last one of each kind";
  EXPECT_EQ(memory.of({}), 4096U);
  EXPECT_FALSE(parsed({"--gpu-memory", uuid + "=5Ki"}).gpu_memory.of({}));
}

TEST(Options, FlagsCountMoreThanTheEnvironment) {
  const Environment environment{"/from/environment", "warning,sessions:debug"};
  EXPECT_EQ(parsed({}, environment).folder, "/from/environment");
  EXPECT_EQ(parsed({"--folder", "/flag"}, environment).folder, "/flag");
  const Options options = parsed({"--log-level", "error"}, environment);
  EXPECT_EQ(options.log_levels.general, Level::error);
  EXPECT_EQ(options.log_levels.of("sessions"), Level::debug);
  const Environment empty{"", ""};
  EXPECT_EQ(parsed({}, empty).folder, wire::kDefaultFolder);
}

TEST(Options, ModeAndTurnOfTheEnvironment) {
  Environment environment;
  environment.mode = "serial";
  environment.turn = "30";
  const Options options = parsed({}, environment);
  EXPECT_EQ(options.policy.mode, core::Mode::serial);
  EXPECT_EQ(options.policy.turn, Duration::from_s(30));
  environment.turn = "1.5m";
  EXPECT_EQ(parsed({}, environment).policy.turn, Duration::from_s(90));
  environment.mode = "";
  environment.turn = "auto";
  EXPECT_EQ(parsed({}, environment).policy.mode, core::Mode::automatic);
  EXPECT_FALSE(parsed({}, environment).policy.turn);

  environment.mode = "fast";
  environment.turn = "soon";
  const Options flags = parsed({"--mode", "concurrent", "--turn", "2s"}, environment);
  EXPECT_EQ(flags.policy.mode, core::Mode::concurrent);
  EXPECT_EQ(flags.policy.turn, Duration::from_s(2));
  EXPECT_EQ(complaint({"--turn", "2s"}, environment),
            "NVSHARE_SCHEDULING_MODE is auto, serial or concurrent, not 'fast'");
  EXPECT_EQ(complaint({"--mode", "auto"}, environment),
            "NVSHARE_SWITCH_TIME is auto or a time from 100ms to 1h, not 'soon'");
  EXPECT_NE(complaint({"--turn", "30"}).find("--turn is auto or a time"), std::string::npos);
}

TEST(Options, DebugOfTheEnvironment) {
  const auto general = [](const char* debug, const char* log, std::vector<std::string> flags = {}) {
    Environment environment;
    environment.debug = debug;
    environment.log = log;
    return parsed(std::move(flags), environment).log_levels.general;
  };
  EXPECT_EQ(general("1", nullptr), Level::debug);
  EXPECT_EQ(general("0", nullptr), Level::info);
  EXPECT_EQ(general("", ""), Level::info);
  EXPECT_EQ(general("1", "warning"), Level::warning);
  EXPECT_EQ(general("1", "sessions:info"), Level::debug);
  EXPECT_EQ(general("1", nullptr, {"--log-level", "error"}), Level::error);
}

TEST(Options, MistakesAreNamed) {
  using Words = std::vector<std::string>;
  struct Case {
    Words arguments;
    const char* says;
  };
  const Case cases[] = {
      {{"--window", "0ms"}, "--window is a time from 1ms to 1s, not '0ms'"},
      {{"--window", "20"}, "--window"},
      {{"--window", "1e3ms"}, "--window"},
      {{"--turn", "2h"}, "--turn is auto or a time from 100ms to 1h, not '2h'"},
      {{"--mode", "Auto"}, "--mode is auto, serial or concurrent, not 'Auto'"},
      {{"--gpu-memory", "0"}, "--gpu-memory is a size such as 16GiB"},
      {{"--gpu-memory", ""}, "--gpu-memory needs a value"},
      {{"--gpu-memory", "1G", "--gpu-memory", "much"}, "or UUID=SIZE, not 'much'"},
      {{"--gpu-memory", "1G", "2G"}, "2G"},
      {{"--gpu-memory", "0=16GiB"}, "whole UUID, as nvidia-smi -L shows it, not '0'"},
      {{"--gpu-memory", "GPU-01020304-0506-0708-090a-0b0c0d0e0f10=x"}, "UUID=SIZE, not 'GPU-0"},
      {{"--gpu-memory", "=1G"}, "whole UUID"},
      {{"--host-memory", "60M"}, "--host-memory is 0, or a size of at least 64MiB"},
      {{"--memory-limit", "4 GB"},
       "--memory-limit '4 GB' is no size: write 4Gi, 4096Mi, 4G, 512MiB, bytes, or 25%"},
      {{"--memory-limit", "none"}, "is no size"},
      {{"--core-limit", "150"}, "--core-limit '150' is no share: write a number from 1 to 100"},
      {{"--pod-priority", "urgent"}, "--pod-priority is low, normal or high, not 'urgent'"},
      {{"--quota-period", "1ms"}, "--quota-period is a time from 10ms to 1m, not '1ms'"},
      {{"--quota-period", "2m"}, "not '2m'"},
      {{"--host-memory", "much"}, "such as 64GiB, not 'much'"},
      {{"--folder", ""}, "--folder needs a value"},
      {{"--folder=", "--log-level", "debug"}, "--folder needs a value"},
      {{"--folder", "x"}, "must be a path that begins with /"},
      {{"--log-level", "loud"}, "--log-level: "},
      {{"--nonsense"}, "--nonsense"},
  };
  for (const Case& each : cases) {
    EXPECT_NE(complaint(each.arguments).find(each.says), std::string::npos)
        << complaint(each.arguments);
  }
  EXPECT_NE(complaint({}, {nullptr, "loud"}).find("NVSHARE_LOG: "), std::string::npos);
}

TEST(Options, AFolderMustLeaveRoomForItsSockets) {
  const std::string longest = "/" + std::string(84, 'x');
  EXPECT_EQ(parsed({"--folder", longest}).folder, longest);
  const std::string text = complaint({"--folder", longest + "x"});
  EXPECT_NE(text.find("allows 85 characters, and it has 86"), std::string::npos) << text;
}

TEST(Options, HelpIsNoMistake) {
  const auto help = parse_options({"--help"}, {});
  ASSERT_FALSE(help);
  EXPECT_EQ(help.error().code, 0);
  EXPECT_NE(help.error().text.find("--exit-when-unused"), std::string::npos);
  EXPECT_EQ(help.error().text.find("--quota-period"), std::string::npos) << "is for tests";
}

TEST(ParseSeconds, NeedsANumberAndAUnit) {
  EXPECT_EQ(parse_seconds("250us"), 250 * 1e-6);
  EXPECT_EQ(parse_seconds("20ms"), 20 * 1e-3);
  EXPECT_EQ(parse_seconds("1.5s"), 1.5);
  EXPECT_EQ(parse_seconds("2m"), 120.0);
  EXPECT_EQ(parse_seconds("1h"), 3600.0);
  for (const char* wrong : {"", "s", "5", "-5s", "5 s", "5S", "nans", "infs", "0x5s", "5s5"}) {
    EXPECT_EQ(parse_seconds(wrong), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace nvs::daemon
