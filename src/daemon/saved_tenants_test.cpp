// SPDX-License-Identifier: Apache-2.0
#include "daemon/saved_tenants.h"

#include <set>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/test_folder.h"
#include "daemon/identity.h"

namespace nvs::daemon {
namespace {

constexpr const char* kRunNumber = "00000000000000aa";

class SavedTenantsTest : public ::testing::Test {
 protected:
  SystemRoots roots() const { return {folder_.path("proc"), folder_.path("cgroup")}; }
  void add(const std::string& key) { tenants_[key].paused = true; }
  bool keeps(const std::string& key) const { return tenants_.contains(key); }
  // Of a process that started then.
  void start(int pid, int ticks, const std::string& environment = "") const {
    const std::string process = "proc/" + std::to_string(pid) + "/";
    folder_.write(process + "stat", std::to_string(pid) +
                                        " (a) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 " +
                                        std::to_string(ticks) + " 0 0\n");
    folder_.write(process + "environ", environment);
  }
  void see_cgroups() const {
    folder_.write("proc/self/cgroup", "0::/system.slice/nvshare.service\n");
    folder_.write("cgroup/system.slice/nvshare.service/cgroup.procs", "");
  }
  IsHere here_are(std::set<std::string> keys) {
    return [keys = std::move(keys)](const std::string& key) { return keys.contains(key); };
  }

  TestFolder folder_;
  TenantSettingsByKey tenants_;
};

TEST_F(SavedTenantsTest, ProcessesThatEndedAreForgotten) {
  start(7, 100);
  for (const char* key : {"process:7:100", "process:7:99", "process:8:1", "process:9:1",
                          "run:0:00000000000000aa", "container:/a"}) {
    add(key);
  }
  forget_ended_processes(tenants_, here_are({"process:9:1"}), roots());
  EXPECT_TRUE(keeps("process:7:100"));
  EXPECT_FALSE(keeps("process:7:99")) << "the number is another's by now";
  EXPECT_FALSE(keeps("process:8:1"));
  EXPECT_TRUE(keeps("process:9:1")) << "it is connected";
  EXPECT_EQ(tenants_.size(), 4U) << "of others nothing is known";
}

TEST_F(SavedTenantsTest, ThisProcessIsThere) {
  const auto self = identify_self();
  ASSERT_TRUE(self);
  add(self->tenant_key);
  add("process:" + std::to_string(::getpid()) + ":1");
  forget_ended_processes(tenants_);
  EXPECT_EQ(tenants_.size(), 1U);
  EXPECT_TRUE(keeps(self->tenant_key));
}

TEST_F(SavedTenantsTest, RunsWithoutAProcessAreForgotten) {
  using namespace std::string_literals;
  const std::string user = std::to_string(::getuid());
  start(7, 1, "PATH=/bin\0NVSHARE_RUN="s + kRunNumber + "\0A=b\0"s);
  add("run:" + user + ":" + kRunNumber);
  add("run:" + user + ":00000000000000bb");
  add("run:" + user + ":00000000000000cc");
  add("run:12345:00000000000000aa");
  forget_ended_groups(tenants_, here_are({"run:" + user + ":00000000000000cc"}), roots());
  EXPECT_TRUE(keeps("run:" + user + ":" + kRunNumber));
  EXPECT_TRUE(keeps("run:" + user + ":00000000000000cc")) << "it is connected";
  EXPECT_EQ(tenants_.size(), 2U);
}

// A process may have it written otherwise than keys do.
TEST_F(SavedTenantsTest, RunsAreKnownByTheirNumber) {
  using namespace std::string_literals;
  const std::string user = std::to_string(::getuid());
  start(7, 1, "NVSHARE_RUN=00000000000000AA\0"s);
  start(8, 1, "NVSHARE_RUN=bb\0"s);
  start(9, 1, "NVSHARE_RUN=none\0"s);
  for (const char* run :
       {":00000000000000aa", ":00000000000000bb", ":00000000000000cc", ":xyz", ""}) {
    add("run:" + user + run);
  }
  forget_ended_groups(tenants_, here_are({}), roots());
  EXPECT_TRUE(keeps("run:" + user + ":00000000000000aa"));
  EXPECT_TRUE(keeps("run:" + user + ":00000000000000bb"));
  EXPECT_EQ(tenants_.size(), 2U);
}

TEST_F(SavedTenantsTest, WhoCannotBeLookedAtMayBeOfAnyRun) {
  start(7, 1);
  std::filesystem::remove(folder_.path("proc/7/environ"));
  add("run:" + std::to_string(::getuid()) + ":" + kRunNumber);
  forget_ended_groups(tenants_, here_are({}), roots());
  EXPECT_EQ(tenants_.size(), 1U);
}

TEST_F(SavedTenantsTest, ContainersWithoutACgroupAreForgotten) {
  see_cgroups();
  folder_.write("cgroup/kubepods/a/cgroup.procs", "");
  folder_.write("cgroup/memory/docker/b/tasks", "");  // of version 1
  for (const char* key : {"container:/kubepods/a", "container:/docker/b", "container:/docker/c",
                          "container:/docker/d", "container:/../docker/e"}) {
    add(key);
  }
  forget_ended_groups(tenants_, here_are({"container:/docker/d"}), roots());
  EXPECT_FALSE(keeps("container:/docker/c"));
  EXPECT_EQ(tenants_.size(), 4U);
}

TEST_F(SavedTenantsTest, ContainersStayWhereCgroupsAreNotSeen) {
  folder_.write("proc/self/cgroup", "0::/\n");
  add("container:/docker/c");
  forget_ended_groups(tenants_, here_are({}), roots());
  EXPECT_EQ(tenants_.size(), 1U);
}

}  // namespace
}  // namespace nvs::daemon
