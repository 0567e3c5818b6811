// SPDX-License-Identifier: Apache-2.0
// What is read out of /proc/PID/cgroup and /proc/PID/stat, with texts of real systems.
#include <string>

#include <gtest/gtest.h>

#include "daemon/identity.h"

namespace nvs::daemon {
namespace {

const std::string kId = "3f4e1c0d9b8a7f6e5d4c3b2a190807060504030201f0e0d0c0b0a09080706050";
const std::string kOther = "aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbccccccccccccccccdddddddddddddddd";
const std::string kPod = "pod0a1b2c3d_1111_2222_3333_444455556666";

struct Case {
  const char* what;
  std::string cgroups;
  std::string path;  // empty: not in a container
};

// The daemon stands on the host.
const std::string kHost = "0::/system.slice/nvshare.service\n";

std::vector<Case> real_world() {
  const std::string slices =
      "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-" + kPod + ".slice/";
  return {
      {"login", "0::/user.slice/user-1000.slice/session-2.scope\n", ""},
      {"service", "0::/system.slice/ssh.service\n", ""},
      {"root of everything", "0::/\n", ""},
      {"no cgroups", "", ""},
      {"containerd, systemd, v2", "0::" + slices + "cri-containerd-" + kId + ".scope\n",
       slices + "cri-containerd-" + kId + ".scope"},
      {"containerd, cgroupfs, v2", "0::/kubepods/burstable/pod0a1b2c3d-1111/" + kId + "\n",
       "/kubepods/burstable/pod0a1b2c3d-1111/" + kId},
      {"containerd, systemd names with the cgroupfs driver",
       "0::/system.slice/containerd.service/kubepods-besteffort-" + kPod +
           ".slice:cri-containerd:" + kId + "\n",
       "/system.slice/containerd.service/kubepods-besteffort-" + kPod +
           ".slice:cri-containerd:" + kId},
      {"guaranteed pod",
       "0::/kubepods.slice/kubepods-" + kPod + ".slice/cri-containerd-" + kId + ".scope\n",
       "/kubepods.slice/kubepods-" + kPod + ".slice/cri-containerd-" + kId + ".scope"},
      {"crio, systemd, with a leaf below", "0::" + slices + "crio-" + kId + ".scope/container\n",
       slices + "crio-" + kId + ".scope"},
      {"crio, cgroupfs", "0::/kubepods/pod1/crio-" + kId + "\n", "/kubepods/pod1/crio-" + kId},
      {"docker, systemd", "0::/system.slice/docker-" + kId + ".scope\n",
       "/system.slice/docker-" + kId + ".scope"},
      {"docker, cgroupfs", "0::/docker/" + kId + "\n", "/docker/" + kId},
      {"podman as root", "0::/machine.slice/libpod-" + kId + ".scope/container\n",
       "/machine.slice/libpod-" + kId + ".scope"},
      {"podman of a user",
       "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + kId +
           ".scope/container\n",
       "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + kId + ".scope"},
      {"podman, cgroupfs", "0::/libpod_parent/libpod-" + kId + "\n",
       "/libpod_parent/libpod-" + kId},
      {"nerdctl", "0::/system.slice/nerdctl-" + kId + ".scope\n",
       "/system.slice/nerdctl-" + kId + ".scope"},
      {"ecs", "0::/ecs/55091c13-b8cf-4801-b527-f4601742204d/" + kId + "\n",
       "/ecs/55091c13-b8cf-4801-b527-f4601742204d/" + kId},
      {"systemd inside the container", "0::/docker/" + kId + "/system.slice/jupyter.service\n",
       "/docker/" + kId},
      {"a container in a container", "0::/docker/" + kId + "/docker/" + kOther + "\n",
       "/docker/" + kId},
      {"from within a cgroup namespace", "0::/../cri-containerd-" + kId + ".scope\n",
       "/../cri-containerd-" + kId + ".scope"},
      {"its cgroup was removed", "0::/docker/" + kId + " (deleted)\n", "/docker/" + kId},
      {"v1",
       "12:devices:/docker/" + kId + "\n11:cpu,cpuacct:/docker/" + kId +
           "\n1:name=systemd:/docker/" + kId + "\n0::/system.slice/containerd.service\n",
       "/docker/" + kId},
      {"v1 without systemd", "3:cpuset:/\n2:memory:/kubepods/pod1/" + kId + "\n1:cpu:/\n",
       "/kubepods/pod1/" + kId},
      {"v1, only in a hierarchy that is rarely there", "2:rdma:/docker/" + kId + "\n1:cpu:/\n",
       "/docker/" + kId},
      {"no end of line", "0::/docker/" + kId, "/docker/" + kId},
  };
}

TEST(ContainerPath, IsFoundOnRealSystems) {
  for (const Case& real : real_world())
    EXPECT_EQ(container_path(real.cgroups, kHost).value_or(""), real.path) << real.what;
}

TEST(ContainerPath, OneHierarchyDecidesForAllProcessesOfAContainer) {
  const std::string v2_last =
      "5:memory:/docker/" + kId + "/a\n1:name=systemd:/system/docker-" + kId + ".scope\n";
  const std::string v2_first =
      "1:name=systemd:/system/docker-" + kId + ".scope\n5:memory:/docker/" + kId + "/b\n";
  EXPECT_EQ(container_path(v2_last, kHost), container_path(v2_first, kHost));
}

TEST(ContainerPath, NamesThatLookLikeIdsAreNot) {
  for (const std::string& name :
       {kId.substr(1), kId + "0", "A" + kId.substr(1), "g" + kId.substr(1), "x" + kId, kId + "x",
        "docker-" + kId.substr(0, 63) + "G.scope", std::string("docker-.scope"),
        std::string(5000, 'a')})
    EXPECT_FALSE(container_path("0::/docker/" + name + "\n", kHost)) << name;
}

// Whoever may make cgroups can name them as he likes, but not place them above his own.
TEST(ContainerPath, NobodyGetsIntoAnothersTenantByName) {
  const std::string victim = "0::/system.slice/docker-" + kId + ".scope\n";
  for (const std::string& hostile :
       {"0::/system.slice/docker-" + kOther + ".scope/docker-" + kId + ".scope\n",
        "0::/user.slice/user-1000.slice/user@1000.service/docker-" + kId + ".scope\n",
        "0::/docker/" + kOther + "/0::/system.slice/docker-" + kId + ".scope\n"})
    EXPECT_NE(container_path(hostile, kHost), container_path(victim, kHost)) << hostile;
}

TEST(ContainerPath, LinesThatAreNoneArePassedOver) {
  EXPECT_FALSE(container_path("docker/" + kId + "\n:\n\n1:/docker/" + kId + "\n", kHost));
  EXPECT_EQ(container_path("garbage\n\n0::/docker/" + kId + "\n", kHost), "/docker/" + kId);
  EXPECT_FALSE(container_path("0::docker\n0::\n::\n0::////\n", kHost));
  EXPECT_EQ(container_path("0:::" + kId + ":\n", "").value_or(""), "");
}

// Kubernetes in Docker on cgroups of version 1: the daemon sees the node's own container around
// everything.
TEST(ContainerPath, ContainersAroundTheDaemonDoNotCount) {
  const std::string node = "/docker/" + kOther;
  const std::string own = "0::" + node + "/kubepods/podD/" + std::string(64, 'd') + "/leaf\n";
  EXPECT_EQ(container_path("0::" + node + "/kubepods/podA/" + kId + "/leaf\n", own),
            node + "/kubepods/podA/" + kId);
  EXPECT_FALSE(container_path(own, own));
  EXPECT_FALSE(
      container_path("0::" + node + "/kubepods/podD/" + std::string(64, 'd') + "/other\n", own));
  EXPECT_FALSE(container_path("0::" + node + "/system.slice/kubelet.service\n", own));
  EXPECT_FALSE(container_path("0::/user.slice\n", own));
  EXPECT_EQ(container_path("0::/docker/" + kId + "\n", own), "/docker/" + kId);
}

TEST(ContainerPath, APartIsSharedAsAWholeOrNotAtAll) {
  const std::string own = "0::/pods/" + kId + "\n";
  EXPECT_EQ(container_path("0::/pods/" + kId + ".scope\n", own), "/pods/" + kId + ".scope");
}

TEST(ContainerId, IsInTheLastPart) {
  EXPECT_EQ(container_id("/docker/" + kId), kId);
  EXPECT_EQ(container_id("/a/cri-containerd-" + kId + ".scope"), kId);
  EXPECT_EQ(container_id("/docker/" + kId + "/leaf"), "");
  EXPECT_EQ(container_id(""), "");
}

TEST(StartTime, IsTheFieldBehindTheName) {
  const std::string rest =
      " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 987654321 20 21 22 23\n";
  for (const char* name :
       {"(train.py)", "(a b)", "(:-) )", "(a) R 1 2 3 4 5 6)", "((((", "())", "(\n)", "()"}) {
    const std::string stat =
        "42 " + std::string(name) + (*name == '(' && name[1] == '(' ? ")" : "");
    EXPECT_EQ(start_time(stat + rest), 987654321U) << name;
  }
}

TEST(StartTime, IsNotGuessed) {
  for (const char* stat :
       {"", "42", "42 (a", "42 (a)", "42 (a) S", "42 (a) S 1 2 3",
        "42 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18",
        "42 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 x",
        "42 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 99999999999999999999999"})
    EXPECT_FALSE(start_time(stat)) << stat;
}

}  // namespace
}  // namespace nvs::daemon
