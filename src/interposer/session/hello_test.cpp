// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/hello.h"

#include <string>

#include <gtest/gtest.h>

namespace nvs::interposer::session {
namespace {

using namespace std::string_literals;

std::string label(const std::string& arguments) {
  char text[64];
  label_of(arguments.c_str(), arguments.size(), text, sizeof text);
  return text;
}

TEST(Hello, AProgramIsKnownByItsName) {
  EXPECT_EQ(label("/usr/bin/train\0--fast\0"s), "train");
  EXPECT_EQ(label("./a.out\0"s), "a.out");
  EXPECT_EQ(label("plain"s), "plain");
  EXPECT_EQ(label(""s), "");
}

TEST(Hello, AScriptIsKnownByItsOwn) {
  EXPECT_EQ(label("/usr/bin/python3\0/home/me/train.py\0--epochs\0"s), "train.py");
  EXPECT_EQ(label("python\0-u\0-O\0train.py\0"s), "train.py");
  EXPECT_EQ(label("python3\0-m\0torch.distributed.run\0x.py\0"s), "torch.distributed.run");
  EXPECT_EQ(label("python3\0-c\0import torch\0"s), "python3");
  EXPECT_EQ(label("python3\0"s), "python3");
  EXPECT_EQ(label("python3\0-m\0"s), "python3");
}

TEST(Hello, LongNamesAreCutBeforeTheirEnd) {
  const std::string name(200, 'x');
  EXPECT_EQ(label(name + '\0'), name.substr(0, 63));
}

TEST(Hello, SettingsAreTakenIfTheyMakeSense) {
  Settings settings;
  settings.run = "00000000deadbeef";
  settings.priority = "high";
  settings.pod = "pod-1";
  settings.pod_namespace = "team";
  const wire::Hello hello = make_hello(settings);
  EXPECT_EQ(hello.run, 0xdeadbeefU);
  settings.run = "00000000DEADBEEF";
  EXPECT_EQ(make_hello(settings).run, 0xdeadbeefU) << "nvshare run accepts it";
  EXPECT_EQ(hello.priority, static_cast<wire::u32>(wire::WirePriority::high));
  EXPECT_STREQ(hello.pod, "pod-1");
  EXPECT_STREQ(hello.pod_namespace, "team");
  EXPECT_STRNE(hello.program, "");
}

TEST(Hello, SettingsThatMakeNoneAreLeftOut) {
  Settings settings;
  for (const char* run : {"", "xyz", "12 ", "123456789012345678", "-1"}) {
    settings.run = run;
    EXPECT_EQ(make_hello(settings).run, 0U) << run;
  }
  for (const char* priority : {"", "HIGH", "higher", "2"}) {
    settings.priority = priority;
    EXPECT_EQ(make_hello(settings).priority, 0U) << priority;
  }
  const std::string pod(1000, 'p');
  settings.pod = pod.c_str();
  EXPECT_EQ(make_hello(settings).pod, std::string(127, 'p'));
}

TEST(Hello, LimitsAreHandedOnAsTheyAreWritten) {
  Settings settings;
  EXPECT_STREQ(make_hello(settings).memory_limit, "");
  EXPECT_STREQ(make_hello(settings).core_limit, "");
  EXPECT_EQ(make_hello(settings).flags, 0U);
  settings.memory_limit = "1.5 Gi?";
  settings.core_limit = "40";
  settings.cores_of_run = true;
  EXPECT_EQ(make_hello(settings).flags, wire::u32{wire::kCoresOfRun});
  settings.memory_of_run = true;
  const wire::Hello hello = make_hello(settings);
  EXPECT_STREQ(hello.memory_limit, "1.5 Gi?");
  EXPECT_STREQ(hello.core_limit, "40");
  EXPECT_EQ(hello.flags, wire::kLimitsOfRun | wire::kMemoryOfRun | wire::kCoresOfRun);
}

// What is left of a long number is another number.
TEST(Hello, ALimitThatDoesNotFitIsNoLimit) {
  Settings settings;
  const std::string fits(31, '1');
  const std::string longer(32, '1');
  settings.memory_limit = fits.c_str();
  EXPECT_EQ(make_hello(settings).memory_limit, fits);
  settings.memory_limit = longer.c_str();
  EXPECT_STREQ(make_hello(settings).memory_limit, "too long");
  settings.core_limit = longer.c_str();
  EXPECT_STREQ(make_hello(settings).core_limit, "too long");
}

}  // namespace
}  // namespace nvs::interposer::session
