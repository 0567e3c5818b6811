// SPDX-License-Identifier: Apache-2.0
#include "os/sd_notify.h"

#include <cstring>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace nvs::os {
namespace {

// What a service manager listens on.
UniqueFd listen_as_manager(const std::string& name) {
  UniqueFd fd{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name.data(), name.size());
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  return fd;
}

std::string heard(const UniqueFd& manager) {
  char text[64];
  const ssize_t size = ::recv(manager.get(), text, sizeof text, 0);
  return size < 0 ? "" : std::string(text, static_cast<std::size_t>(size));
}

TEST(ServiceManager, HearsThroughAnAbstractNameAndThroughAPath) {
  const std::string tail = "nvshare_sd_notify_test_" + std::to_string(::getpid());
  const UniqueFd abstract = listen_as_manager(std::string(1, '\0') + tail);
  ServiceManager(("@" + tail).c_str()).tell("READY=1");
  EXPECT_EQ(heard(abstract), "READY=1");

  const std::string path = ::testing::TempDir() + tail;
  const UniqueFd at_path = listen_as_manager(path);
  ServiceManager(path.c_str()).tell("WATCHDOG=1");
  EXPECT_EQ(heard(at_path), "WATCHDOG=1");
  ::unlink(path.c_str());
}

TEST(ServiceManager, MayBeAbsent) {
  EXPECT_TRUE(ServiceManager(nullptr).tell("READY=1"));
  EXPECT_TRUE(ServiceManager("").tell("READY=1"));
  EXPECT_TRUE(ServiceManager("relative").tell("READY=1"));
  EXPECT_TRUE(ServiceManager(("/" + std::string(200, 'x')).c_str()).tell("READY=1"));
  EXPECT_FALSE(ServiceManager("/nobody/listens/here").tell("READY=1")) << "it may come";
}

TEST(ServiceManager, ThatDoesNotReadIsNotWaitedFor) {
  const std::string tail = "nvshare_sd_notify_full_" + std::to_string(::getpid());
  const UniqueFd manager = listen_as_manager(std::string(1, '\0') + tail);
  const ServiceManager full(("@" + tail).c_str());
  while (full.tell("WATCHDOG=1")) {
  }
  EXPECT_FALSE(full.tell("READY=1"));
  EXPECT_EQ(heard(manager), "WATCHDOG=1");
  EXPECT_TRUE(full.tell("READY=1"));
}

TEST(WatchdogPeriod, IsForThisProcessAlone) {
  EXPECT_EQ(watchdog_period("2000000", nullptr, 7), Duration::from_s(2));
  EXPECT_EQ(watchdog_period("2000000", "7", 7), Duration::from_s(2));
  EXPECT_EQ(watchdog_period("2000000", "8", 7), std::nullopt);
  EXPECT_EQ(watchdog_period(nullptr, nullptr, 7), std::nullopt);
  for (const char* wrong : {"", "0", "-5", "2s", "99999999999999999999", "86400000001"}) {
    EXPECT_EQ(watchdog_period(wrong, nullptr, 7), std::nullopt) << wrong;
  }
  EXPECT_EQ(watchdog_period("2000000", "seven", 7), std::nullopt);
}

}  // namespace
}  // namespace nvs::os
