// SPDX-License-Identifier: Apache-2.0
// What is read out of /proc/PID/cgroup and /proc/PID/stat, with texts of real systems.
#include <string>

#include <gtest/gtest.h>

#include "daemon/identity.h"

namespace nvs::daemon {
namespace {

const std::string kContainer = "3f4e1c0d9b8a7f6e5d4c3b2a190807060504030201f0e0d0c0b0a09080706050";
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
      {"containerd, systemd, v2", "0::" + slices + "cri-containerd-" + kContainer + ".scope\n",
       slices + "cri-containerd-" + kContainer + ".scope"},
      {"containerd, cgroupfs, v2", "0::/kubepods/burstable/pod0a1b2c3d-1111/" + kContainer + "\n",
       "/kubepods/burstable/pod0a1b2c3d-1111/" + kContainer},
      {"containerd, systemd names with the cgroupfs driver",
       "0::/system.slice/containerd.service/kubepods-besteffort-" + kPod +
           ".slice:cri-containerd:" + kContainer + "\n",
       "/system.slice/containerd.service/kubepods-besteffort-" + kPod +
           ".slice:cri-containerd:" + kContainer},
      {"guaranteed pod",
       "0::/kubepods.slice/kubepods-" + kPod + ".slice/cri-containerd-" + kContainer + ".scope\n",
       "/kubepods.slice/kubepods-" + kPod + ".slice/cri-containerd-" + kContainer + ".scope"},
      {"crio, systemd, with a leaf below",
       "0::" + slices + "crio-" + kContainer + ".scope/container\n",
       slices + "crio-" + kContainer + ".scope"},
      {"crio, cgroupfs", "0::/kubepods/pod1/crio-" + kContainer + "\n",
       "/kubepods/pod1/crio-" + kContainer},
      {"docker, systemd", "0::/system.slice/docker-" + kContainer + ".scope\n",
       "/system.slice/docker-" + kContainer + ".scope"},
      {"docker, cgroupfs", "0::/docker/" + kContainer + "\n", "/docker/" + kContainer},
      {"podman as root", "0::/machine.slice/libpod-" + kContainer + ".scope/container\n",
       "/machine.slice/libpod-" + kContainer + ".scope"},
      {"podman of a user",
       "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + kContainer +
           ".scope/container\n",
       "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + kContainer + ".scope"},
      {"podman, cgroupfs", "0::/libpod_parent/libpod-" + kContainer + "\n",
       "/libpod_parent/libpod-" + kContainer},
      {"nerdctl", "0::/system.slice/nerdctl-" + kContainer + ".scope\n",
       "/system.slice/nerdctl-" + kContainer + ".scope"},
      {"ecs", "0::/ecs/55091c13-b8cf-4801-b527-f4601742204d/" + kContainer + "\n",
       "/ecs/55091c13-b8cf-4801-b527-f4601742204d/" + kContainer},
      {"systemd inside the container",
       "0::/docker/" + kContainer + "/system.slice/jupyter.service\n", "/docker/" + kContainer},
      {"a container in a container", "0::/docker/" + kContainer + "/docker/" + kOther + "\n",
       "/docker/" + kContainer},
      {"from within a cgroup namespace", "0::/../cri-containerd-" + kContainer + ".scope\n",
       "/../cri-containerd-" + kContainer + ".scope"},
      {"its cgroup was removed", "0::/docker/" + kContainer + " (deleted)\n",
       "/docker/" + kContainer},
      {"v1",
       "12:devices:/docker/" + kContainer + "\n11:cpu,cpuacct:/docker/" + kContainer +
           "\n1:name=systemd:/docker/" + kContainer + "\n0::/system.slice/containerd.service\n",
       "/docker/" + kContainer},
      {"v1 without systemd", "3:cpuset:/\n2:memory:/kubepods/pod1/" + kContainer + "\n1:cpu:/\n",
       "/kubepods/pod1/" + kContainer},
      {"v1, only in a hierarchy that is rarely there",
       "2:rdma:/docker/" + kContainer + "\n1:cpu:/\n", "/docker/" + kContainer},
      {"no end of line", "0::/docker/" + kContainer, "/docker/" + kContainer},
  };
}

TEST(ContainerPath, IsFoundOnRealSystems) {
  for (const Case& real : real_world())
    EXPECT_EQ(container_path(real.cgroups, kHost).value_or(""), real.path) << real.what;
}

TEST(PodUid, IsFoundHoweverTheRuntimeWritesIt) {
  const std::string uid = "0a1b2c3d-1111-2222-3333-444455556666";
  const std::string id = "/cri-containerd-" + kContainer + ".scope";
  for (const std::string& path :
       {"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-" + kPod + ".slice" + id,
        "/kubepods.slice/kubepods-" + kPod + ".slice" + id,
        "/../../kubepods-besteffort-" + kPod + ".slice" + id,
        "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/"
        "kubelet-kubepods-burstable-" +
            kPod + ".slice" + id,
        "/kubepods/burstable/pod" + uid + "/" + kContainer,
        "/docker/" + kOther + "/kubepods/pod" + uid + "/" + kContainer,
        "/system.slice/containerd.service/kubepods-besteffort-" + kPod +
            ".slice:cri-containerd:" + kContainer}) {
    EXPECT_EQ(pod_uid(path), uid) << path;
  }
  const std::string hash = "00112233445566778899aabbccddeeff";
  EXPECT_EQ(pod_uid("/kubepods.slice/kubepods-pod" + hash + ".slice" + id), hash)
      << "of a pod that is made from a file";
}

TEST(PodUid, IsNotReadIntoOtherNames) {
  const std::string uid = "0a1b2c3d-1111-2222-3333-444455556666";
  for (const std::string& path :
       {std::string(), std::string("/"), "/docker/" + kContainer, "/kubepods/pod1/" + kContainer,
        "/kubepods/podx" + uid + "/" + kContainer, "/kubepods/pod" + uid + "0/" + kContainer,
        "/kubepods/mypod" + uid + "/" + kContainer, "/machine-pod" + uid + "/" + kContainer,
        "/kubepods/pod0a1b2c3d_1111-2222-3333-44445555666g/" + kContainer,
        "/user.slice/user-1000.slice/kubepods-pod" + uid + ".slice/" + kContainer}) {
    EXPECT_EQ(pod_uid(path), "") << path;
  }
}

TEST(ContainerPath, OneHierarchyDecidesForAllProcessesOfAContainer) {
  const std::string v2_last = "5:memory:/docker/" + kContainer +
                              "/a\n1:name=systemd:/system/docker-" + kContainer + ".scope\n";
  const std::string v2_first = "1:name=systemd:/system/docker-" + kContainer +
                               ".scope\n5:memory:/docker/" + kContainer + "/b\n";
  EXPECT_EQ(container_path(v2_last, kHost), container_path(v2_first, kHost));
}

TEST(ContainerPath, NamesThatLookLikeIdsAreNot) {
  for (const std::string& name :
       {kContainer.substr(1), kContainer + "0", "A" + kContainer.substr(1),
        "g" + kContainer.substr(1), "x" + kContainer, kContainer + "x",
        "docker-" + kContainer.substr(0, 63) + "G.scope", std::string("docker-.scope"),
        std::string(5000, 'a')})
    EXPECT_FALSE(container_path("0::/docker/" + name + "\n", kHost)) << name;
}

// Whoever may make cgroups can name them as he likes, but not place them above his own.
TEST(ContainerPath, NobodyGetsIntoAnothersTenantByName) {
  const std::string victim = "0::/system.slice/docker-" + kContainer + ".scope\n";
  for (const std::string& hostile :
       {"0::/system.slice/docker-" + kOther + ".scope/docker-" + kContainer + ".scope\n",
        "0::/user.slice/user-1000.slice/user@1000.service/docker-" + kContainer + ".scope\n",
        "0::/docker/" + kOther + "/0::/system.slice/docker-" + kContainer + ".scope\n"})
    EXPECT_NE(container_path(hostile, kHost), container_path(victim, kHost)) << hostile;
}

TEST(ContainerPath, LinesThatAreNoneArePassedOver) {
  EXPECT_FALSE(
      container_path("docker/" + kContainer + "\n:\n\n1:/docker/" + kContainer + "\n", kHost));
  EXPECT_EQ(container_path("garbage\n\n0::/docker/" + kContainer + "\n", kHost),
            "/docker/" + kContainer);
  EXPECT_FALSE(container_path("0::docker\n0::\n::\n0::////\n", kHost));
  EXPECT_EQ(container_path("0:::" + kContainer + ":\n", "").value_or(""), "");
}

// Kubernetes in Docker on cgroups of version 1: the daemon sees the node's own container around
// everything.
TEST(ContainerPath, ContainersAroundTheDaemonDoNotCount) {
  const std::string node = "/docker/" + kOther;
  const std::string own = "0::" + node + "/kubepods/podD/" + std::string(64, 'd') + "/leaf\n";
  EXPECT_EQ(container_path("0::" + node + "/kubepods/podA/" + kContainer + "/leaf\n", own),
            node + "/kubepods/podA/" + kContainer);
  EXPECT_FALSE(container_path(own, own));
  EXPECT_FALSE(
      container_path("0::" + node + "/kubepods/podD/" + std::string(64, 'd') + "/other\n", own));
  EXPECT_FALSE(container_path("0::" + node + "/system.slice/kubelet.service\n", own));
  EXPECT_FALSE(container_path("0::/user.slice\n", own));
  EXPECT_EQ(container_path("0::/docker/" + kContainer + "\n", own), "/docker/" + kContainer);
}

TEST(ContainerPath, APartIsSharedAsAWholeOrNotAtAll) {
  const std::string own = "0::/pods/" + kContainer + "\n";
  EXPECT_EQ(container_path("0::/pods/" + kContainer + ".scope\n", own),
            "/pods/" + kContainer + ".scope");
}

TEST(SliceUser, IsTheUserOfTheFirstSlice) {
  const std::string own = "/user.slice/user-1000.slice";
  const std::string id = "/libpod-" + kContainer + ".scope";
  for (const std::string& cgroups :
       {"0::" + own + "/session-2.scope\n", "0::" + own + "\n",
        "0::" + own + "/user@1000.service/app.slice" + id + "/container\n",
        "0::/../.." + own + "/user@1000.service" + id + "\n",
        "0::/docker/" + kOther + own + "/session-1.scope\n",
        "0::" + own + "/user@1000.service/user.slice/user-7.slice" + id + "\n",
        "9:memory:/user.slice/user-1000.slice\n1:name=systemd:" + own + "/user@1000.service" + id +
            "\n0::/\n",
        "3:cpuset:/\n2:pids:" + own + "/user@1000.service\n"}) {
    EXPECT_EQ(slice_user_of_process(cgroups), std::optional<uid_t>(1000)) << cgroups;
  }
}

TEST(SliceUser, IsNobodyElsewhere) {
  for (const std::string& path :
       {std::string(), std::string("/"), std::string("/user.slice"),
        std::string("/user.slice/user-.slice"), std::string("/user.slice/user-1000.slices"),
        std::string("/user.slice/user-1000"), std::string("/user.slice/user-x.slice"),
        std::string("/user.slice/user--1.slice"), std::string("/user.slice/user-1.5.slice"),
        std::string("/user.slice/user-99999999999.slice"),
        std::string("/x.user.slice/user-1.slice"), "/system.slice/docker-" + kContainer + ".scope",
        "/machine.slice/libpod-" + kContainer}) {
    EXPECT_EQ(slice_user_of_process("0::" + path + "\n"), std::nullopt) << path;
  }
}

TEST(ContainerId, IsInTheLastPart) {
  EXPECT_EQ(container_id("/docker/" + kContainer), kContainer);
  EXPECT_EQ(container_id("/a/cri-containerd-" + kContainer + ".scope"), kContainer);
  EXPECT_EQ(container_id("/docker/" + kContainer + "/leaf"), "");
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
