// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/socket.h>

#include "base/test_folder.h"
#include "device_plugin/answers.h"
#include "device_plugin/daemon_link.h"
#include "device_plugin/node_offer.h"
#include "device_plugin/probe_server.h"
#include "device_plugin/test_gpus.h"
#include "os/file_text.h"
#include "os/unix_socket.h"

namespace nvs::plugin {
namespace {

TEST(DaemonLink, LoadIsWhatTenantsHadAndWhatWaits) {
  const auto status = parse_status(
      R"({"ok": true, "result": {"pid": 7, "uptime_s": 1.5,
          "gpus": [{"uuid": "GPU-a", "waiting": 1}, {"uuid": "GPU-b"}],
          "tenants": [{"gpus": [{"gpu": 0, "share_10s": 0.25}, {"gpu": 1, "share_10s": null}]},
                      {"gpus": [{"gpu": 0, "share_10s": 0.5}, {"gpu": 7, "share_10s": 1}]}]}})");
  ASSERT_TRUE(status);
  EXPECT_EQ(status->loads, (GpuLoads{{"GPU-a", 1.75}, {"GPU-b", 0}}));
  EXPECT_EQ(status->pid, 7U);
  EXPECT_EQ(status->uptime_s, 1.5);
}

TEST(DaemonLink, NonsenseIsAnError) {
  for (const char* text : {"", "{", "[]", R"({"ok": false, "error": "no"})", R"({"result": 3})"}) {
    EXPECT_FALSE(parse_status(text)) << text;
  }
  EXPECT_TRUE(parse_status(R"({"result": {"pid": "x", "gpus": [3, {"uuid": 1, "waiting": "x"}],
                                           "tenants": [{"gpus": [{}]}]}})"));
  const TestFolder folder;
  EXPECT_FALSE(DaemonLink(folder.path("none"), Duration::from_ms(10)).talk({}, 1));
}

TEST(DaemonLink, WhatContainersAskedForGoesWithTheirSlots) {
  const auto request = nlohmann::json::parse(
      slot_requests({.holders = {{"GPU-1::0", "ml", "train", "main", 4, 250}}, .is_whole = true},
                    std::uint64_t{1} << 30U)
          .at(0));
  EXPECT_EQ(request["used"][0]["memory_bytes"], std::uint64_t{4} << 30U);
  EXPECT_EQ(request["used"][0]["cores"], 100);
}

TEST(DaemonLink, AListOfSlotsGoesInPiecesThatTheDaemonTakes) {
  EXPECT_EQ(slot_requests({.holders = {}, .is_whole = true}, 1),
            std::vector<std::string>{R"({"command":"slots","begins":true,"ends":true,"used":[]})"
                                     "\n"});
  std::vector<SlotHolder> holders;
  for (int i = 0; i < 1000; ++i) {
    holders.push_back({"GPU-" + std::to_string(i), "space", std::string(200, 'p'), "main"});
  }
  const std::vector<std::string> requests = slot_requests({holders, true}, 1);
  std::size_t used = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto request = nlohmann::json::parse(requests[i]);
    EXPECT_LE(requests[i].size(), std::size_t{64} << 10U);
    EXPECT_EQ(request.contains("begins"), i == 0);
    EXPECT_EQ(request.contains("ends"), i + 1 == requests.size());
    for (const auto& one : request["used"]) {
      EXPECT_EQ(one["slot"], holders.at(used++).slot);
      EXPECT_EQ(one["namespace"], "space");
    }
  }
  EXPECT_EQ(used, holders.size());
  EXPECT_GT(requests.size(), 3U);
}

TEST(DaemonLink, AListThatIsNotWholeTakesNothingFromAnybody) {
  EXPECT_TRUE(slot_requests({}, 1).empty());
  for (const std::string& request :
       slot_requests({.holders = {{"GPU-1::0", "ml", "train", "main"}}, .is_whole = false}, 1)) {
    EXPECT_EQ(request.find("begins"), std::string::npos);
    EXPECT_EQ(request.find("ends"), std::string::npos);
    EXPECT_NE(request.find("GPU-1::0"), std::string::npos);
  }
}

// A daemon that keeps all requests for slots, in a thread of its own.
class FakeSlotDaemon {
 public:
  explicit FakeSlotDaemon(const std::string& path)
      : listener_(*os::listen_unix(path, os::SocketKind::stream, 0600)),
        thread_([this] { serve(); }) {}
  ~FakeSlotDaemon() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  FakeSlotDaemon(const FakeSlotDaemon&) = delete;
  FakeSlotDaemon& operator=(const FakeSlotDaemon&) = delete;

  // Those since the last time.
  std::vector<std::string> take() {
    const std::lock_guard<std::mutex> guard(lock_);
    return std::exchange(requests_, {});
  }

 private:
  bool wait(int fd) {
    pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
    return ::poll(&ready, 1, -1) > 0;
  }
  void serve() {
    while (wait(listener_.get())) {
      const auto visitor = os::accept_unix(listener_.get());
      if (!visitor) return;
      std::string text;
      std::array<char, 4096> buffer{};
      while (wait(visitor->get())) {
        const os::Moved moved = os::receive_bytes(visitor->get(), buffer.data(), buffer.size());
        if (moved.outcome == os::Transfer::closed) break;
        text.append(buffer.data(), moved.bytes);
        if (text.empty() || text.back() != '\n') continue;
        constexpr std::string_view kAnswer = "{\"ok\":true,\"result\":{\"pid\":7}}\n";
        // The test asks for what was said when it has the answer.
        if (text.find("slots") != std::string::npos) {
          const std::lock_guard<std::mutex> guard(lock_);
          requests_.push_back(text);
        }
        text.clear();
        os::send(visitor->get(), kAnswer.data(), kAnswer.size());
      }
    }
  }

  UniqueFd listener_;
  std::mutex lock_;  // of the next
  std::vector<std::string> requests_;
  std::thread thread_;  // the last, because it uses the others
};

TEST(DaemonLink, TheWholeListIsToldWhenItIsKnown) {
  const TestFolder folder;
  FakeSlotDaemon daemon(folder.path("plugin.sock"));
  DaemonLink link(folder.path("plugin.sock"), Duration::from_s(60));
  SlotList slots{.holders = {{"GPU-1::0", "ml", "train", "main"}}, .is_whole = false};
  const auto told = [&] {
    const auto loads = link.talk(slots, 1);
    EXPECT_TRUE(loads) << loads.error();
    return daemon.take();
  };
  EXPECT_EQ(told(), slot_requests(slots, 1));
  EXPECT_TRUE(told().empty());
  // The same holders, and now nobody else is one.
  slots.is_whole = true;
  EXPECT_EQ(told(), slot_requests(slots, 1));
  slots.is_whole = false;
  EXPECT_TRUE(told().empty());
  slots.holders.push_back({"GPU-1::1", "ml", "serve", "main"});
  EXPECT_EQ(told(), slot_requests(slots, 1));
}

TEST(NodeLabels, AreLinesOfAFile) {
  const TestFolder folder;
  Offer offer;
  offer.config.resources = {{.name = "nvidia.com/gpu", .replicas = 4}};
  offer.inventory.gpus = test_gpus(2);
  PluginOptions options;
  EXPECT_TRUE(write_labels_file(options, offer)) << "nobody wants them";
  options.labels_file = folder.path("nvshare");
  ASSERT_TRUE(write_labels_file(options, offer));
  EXPECT_EQ(os::read_file(options.labels_file, 1000),
            "nvshare.com/gpu.count=2\nnvshare.com/gpu.replicas=4\n"
            "nvshare.com/gpu.sharing-strategy=nvshare\n");
  const PlacedFile first = *write_labels_file(options, offer);
  const PlacedFile second = *write_labels_file(options, offer);
  remove_labels_file(options, first);
  EXPECT_TRUE(os::read_file(options.labels_file, 1000)) << "it is another one's by now";
  remove_labels_file(options, second);
  EXPECT_FALSE(os::read_file(options.labels_file, 1000));
  offer.config.resources.clear();
  EXPECT_EQ(label_lines(offer),
            "nvshare.com/gpu.count=2\nnvshare.com/gpu.replicas=1\n"
            "nvshare.com/gpu.sharing-strategy=none\n");
  options.labels_file = folder.path("none/nvshare");
  EXPECT_FALSE(write_labels_file(options, offer));
}

TEST(NumaNodes, AreTheKernelsWord) {
  const TestFolder folder;
  const PciAddress pci{.domain = 0, .bus = 0x41, .device = 2};
  EXPECT_FALSE(numa_node_of(pci, folder.path()));
  folder.write("bus/pci/devices/0000:41:02.0/numa_node", "1\n");
  EXPECT_EQ(numa_node_of(pci, folder.path()), 1);
  folder.write("bus/pci/devices/0000:41:02.0/numa_node", "-1\n");
  EXPECT_FALSE(numa_node_of(pci, folder.path()));
}

TEST(Answers, AllDevicesOfABrokenGpuAreUnhealthy) {
  Offer offer;
  offer.config.cores.is_offered = true;
  std::vector<OfferedGpu> gpus = test_gpus(2);
  gpus[1].numa_node = 3;
  offer.inventory = *make_inventory(gpus, offer.config);
  Answers answers;
  EXPECT_TRUE(answers.devices("nvshare.com/gpu").empty());
  answers.set_offer(std::make_shared<Offer>(offer));
  answers.set_unhealthy({test_uuid(1)});
  for (const char* resource : {"nvshare.com/gpu", "nvshare.com/gpu-core"}) {
    for (const ListedDevice& device : answers.devices(resource)) {
      const bool is_second = device.id.starts_with(test_uuid(1));
      EXPECT_EQ(device.is_healthy, !is_second);
      EXPECT_EQ(device.numa_node, is_second ? std::optional<int>(3) : std::nullopt);
    }
  }
  EXPECT_TRUE(answers.prefers("nvshare.com/gpu"));
  EXPECT_FALSE(answers.prefers("nvshare.com/gpu-core"));
  EXPECT_FALSE(answers.prefers("other"));
  EXPECT_FALSE(answers.allocate(Instant(), "other", {"x"}));
  EXPECT_FALSE(answers.prefer(Instant(), "other", {}));
}

TEST(Answers, WhoHasSlotsIsKnownWhenTheKubeletKnows) {
  Answers answers;
  const SlotHolder train{"GPU-1::0", "ml", "train", "main"};
  const SlotHolder serve{"GPU-1::1", "ml", "serve", "main"};
  const auto at = [](int second) { return Instant() + Duration::from_s(second); };
  EXPECT_FALSE(answers.slots().is_whole);
  answers.kubelet_came(at(1));
  answers.listed(at(2), {});
  EXPECT_FALSE(answers.slots().is_whole);
  EXPECT_TRUE(answers.listed(at(3), {.devices = {}, .holders = {train, serve}}));
  EXPECT_FALSE(answers.listed(at(4), {.devices = {}, .holders = {train}}));
  EXPECT_EQ(answers.holders(), (std::vector<SlotHolder>{train, serve}));
  EXPECT_FALSE(answers.slots().is_whole);
  EXPECT_TRUE(answers.listed(at(61), {.devices = {}, .holders = {train, serve}}));
  EXPECT_TRUE(answers.slots().is_whole);
  EXPECT_TRUE(answers.listed(at(62), {.devices = {}, .holders = {train}}));
  EXPECT_EQ(answers.holders(), (std::vector<SlotHolder>{train}));
}

TEST(Answers, TheSlotOfAGpuWithLessMemoryPromisedIsPreferred) {
  Offer offer;
  std::vector<OfferedGpu> gpus = test_gpus(3);
  gpus[2].memory_bytes *= 4;
  offer.inventory = *make_inventory(gpus, offer.config);
  Answers answers;
  answers.set_offer(std::make_shared<Offer>(offer));
  const auto slot = [](unsigned gpu, unsigned number) {
    return test_uuid(gpu) + "::" + std::to_string(number);
  };
  const auto lands = [&](const std::set<std::string>& taken) {
    PreferredRequest request{.available = {}, .must_include = {}, .size = 1};
    for (const OfferedDevice& device : offer.inventory.resources[0].devices) {
      if (!taken.contains(device.id)) request.available.push_back(device.id);
    }
    const auto picked = answers.prefer(Instant(), kOwnResource, request);
    EXPECT_TRUE(picked) << picked.error();
    return parse_device_id(picked->at(0))->uuid;
  };
  const std::set<std::string> taken = {slot(0, 0), slot(0, 1), slot(1, 0),
                                       slot(1, 1), slot(2, 0), slot(2, 1)};
  ListedPods pods;
  for (const std::string& id : taken) pods.devices.insert({kOwnResource, id});
  const auto holder = [&](unsigned gpu, unsigned number, const char* pod, std::uint64_t units) {
    pods.holders.push_back({slot(gpu, number), "ml", pod, "main", units, 0, kOwnResource});
  };
  // Two slots of one container are one promise: 10 of 16, 12 of 16, 16 of 64 GiB.
  holder(0, 0, "a", 10);
  holder(0, 1, "a", 10);
  holder(1, 0, "b", 6);
  holder(1, 1, "c", 6);
  holder(2, 0, "d", 8);
  holder(2, 1, "e", 8);
  answers.listed(Instant(), pods);
  EXPECT_EQ(lands(taken), test_uuid(2));
  pods.holders.back().memory_units = 40;
  answers.listed(Instant(), pods);
  EXPECT_EQ(lands(taken), test_uuid(0));
  // What the kubelet calls free is promised to nobody.
  EXPECT_EQ(lands({slot(0, 0), slot(1, 0), slot(2, 0)}), test_uuid(2));
}

TEST(Answers, AnInstanceIsUnhealthyAloneOrWithItsGpu) {
  Offer offer;
  std::vector<OfferedGpu> gpus = test_gpus(2);
  gpus[0].parent_uuid = gpus[1].parent_uuid = "GPU-whole";
  offer.inventory = *make_inventory(gpus, offer.config);
  Answers answers;
  answers.set_offer(std::make_shared<Offer>(offer));
  const auto healthy = [&answers] {
    std::size_t count = 0;
    for (const ListedDevice& device : answers.devices("nvshare.com/gpu")) {
      count += device.is_healthy ? 1 : 0;
    }
    return count;
  };
  answers.set_unhealthy({test_uuid(1)});
  EXPECT_EQ(healthy(), 10U);
  answers.set_unhealthy({"GPU-whole"});
  EXPECT_EQ(healthy(), 0U);
}

TEST(Answers, ControlFilesArePassedIfTheyAreThere) {
  Offer offer;
  offer.config.passes_device_files = true;
  offer.inventory = *make_inventory(test_gpus(1), offer.config);
  bool has_uvm = false;
  Answers answers([&has_uvm](const std::string& path) {
    EXPECT_NE(path, "/dev/nvidia0") << "what a GPU cannot do without is never left out";
    return path == "/dev/nvidiactl" || (has_uvm && path == "/dev/nvidia-uvm");
  });
  answers.set_offer(std::make_shared<Offer>(offer));
  const auto paths = [&answers] {
    std::vector<std::string> found;
    const auto answer = answers.allocate(Instant(), "nvshare.com/gpu", {test_uuid(0) + "::0"});
    for (const DeviceFile& file : answer->devices) found.push_back(file.host_path);
    return found;
  };
  EXPECT_EQ(paths(), (std::vector<std::string>{"/dev/nvidiactl", "/dev/nvidia0"}));
  has_uvm = true;  // as on a host where its module was loaded since
  EXPECT_EQ(paths(),
            (std::vector<std::string>{"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia0"}));
}

TEST(NodeOffer, MissingControlFilesAreRemarkedOnIfTheyAreToBePassed) {
  Config config;
  std::set<std::string> there = {"/dev/nvidiactl"};
  const auto remark = [&] {
    return remark_on_control_files(
        config, [&there](const std::string& path) { return there.contains(path); });
  };
  EXPECT_EQ(remark(), "");
  config.passes_device_files = true;
  EXPECT_TRUE(remark().starts_with("passDeviceSpecs: /dev/nvidia-uvm is not here")) << remark();
  there.clear();
  EXPECT_TRUE(remark().starts_with("passDeviceSpecs: /dev/nvidiactl and /dev/nvidia-uvm are not"));
  config.device_lists = {DeviceList::cdi_cri};
  EXPECT_EQ(remark(), "");
  config.device_lists = {DeviceList::envvar};
  // The others are of use to few.
  there = {"/dev/nvidiactl", "/dev/nvidia-uvm"};
  EXPECT_EQ(remark(), "");
}

TEST(Probes, AnswerWhatTheyAreAsked) {
  const auto first_line = [](const std::string& request, const std::string& why_not) {
    const std::string text = ProbeServer::answer(request, [&] { return why_not; });
    return text.substr(0, text.find("\r\n"));
  };
  EXPECT_EQ(first_line("GET /healthz HTTP/1.1\r\n\r\n", "x"), "HTTP/1.1 200 OK");
  EXPECT_EQ(first_line("GET /readyz HTTP/1.1\r\n\r\n", ""), "HTTP/1.1 200 OK");
  EXPECT_EQ(first_line("GET /readyz HTTP/1.1\r\n\r\n", "x"), "HTTP/1.1 503 Service Unavailable");
  for (const char* nonsense : {"\r\n\r\n", "GET\r\n\r\n", "GET  \r\n\r\n", "\x01\r\n\r\n"}) {
    EXPECT_NE(first_line(nonsense, ""), "HTTP/1.1 200 OK");
  }
}

}  // namespace
}  // namespace nvs::plugin
