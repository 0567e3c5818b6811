// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

#include "daemon/metrics_writer.h"

namespace nvs::daemon {
namespace {

constexpr core::TenantId kMeasured{5};
const std::string kTenantLabels =
    R"({tenant="5",program="python3",namespace="ml",pod="train",container="main")";
const std::string kOnGpuLabels = kTenantLabels + R"(,gpu="GPU-1"})";

NodeLabels measured_labels() {
  NodeLabels node;
  node.version = "0.1.0";
  node.gpus = {{.uuid = "GPU-1", .name = "NVIDIA H200", .memory_bytes = 160, .other_bytes = 20}};
  node.host.cap_bytes = 900;
  node.host.held_bytes = 300;
  node.kubernetes = WatchLabels{.health = {.is_reachable = true}, .bad_annotations = 2};
  node.kubernetes->health.reconnects[static_cast<std::size_t>(kube::Reason::expired)] = 7;
  TenantLabels& tenant = node.tenants[kMeasured];
  tenant = {.name = "ml/train",
            .program = "python3",
            .pod = "train",
            .pod_namespace = "ml",
            .container = "3f4e1c0d9b8a"};
  tenant.kubernetes = {.standing = Standing::verified, .container = "main"};
  tenant.limit_errors = {"a lot"};
  tenant.memory[core::GpuId{0}] = {.allocated_bytes = 18'446'744'073'709'551'615U,
                                   .held = {.resident = 600, .away = 300, .fixed = 100},
                                   .driver_bytes = 526,
                                   .limit_bytes = 4096,
                                   .account_bytes = 900};
  return node;
}

core::NodeView measured_view() {
  core::NodeView view;
  core::GpuView gpu{};
  gpu.capacity_bytes = 140;
  gpu.waiting = 3;
  gpu.switches = 11;
  gpu.held = Duration::from_ms(1500);
  gpu.handover = Duration::from_ns(1);
  gpu.swap_idle = Duration::from_s(20);
  gpu.moved_out_bytes = 70;
  gpu.moved_in_bytes = 60;
  view.gpus.push_back(gpu);
  core::TenantOnGpu use{};
  use.used = Duration::from_ns(123'456'789'012'345'678);
  use.waited = Duration::from_ms(250);
  use.throttled = Duration::from_us(1020);
  use.memory_wait = Duration::from_s(1);
  use.windows = 44;
  use.cap = core::kWholeGpu / 5 * 2;
  use.cap_in_force = core::kWholeGpu / 3;
  core::TenantView tenant{};
  tenant.tenant = kMeasured;
  tenant.clients = {core::ClientId{1}, core::ClientId{2}};
  tenant.gpus = {use};
  view.tenants.push_back(tenant);
  return view;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool has_line(const std::string& text, const std::string& line) {
  const auto lines = lines_of(text);
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

TEST(Metrics, AreWhatStatusKnows) {
  const std::string text = metrics_text(measured_view(), measured_labels());
  for (const std::string& line : std::vector<std::string>{
           R"(nvshare_build_info{version="0.1.0"} 1)",
           "nvshare_tenants 1",
           "nvshare_clients 2",
           "nvshare_host_memory_capacity_bytes 900",
           "nvshare_host_memory_lent_bytes 300",
           "nvshare_pod_watch_connected 1",
           R"(nvshare_pod_watch_reconnects_total{reason="expired"} 7)",
           R"(nvshare_pod_watch_reconnects_total{reason="closed"} 0)",
           "nvshare_bad_annotations_total 2",
           R"(nvshare_gpu_info{gpu="GPU-1",index="0",name="NVIDIA H200"} 1)",
           R"(nvshare_gpu_memory_size_bytes{gpu="GPU-1",index="0"} 160)",
           R"(nvshare_gpu_memory_capacity_bytes{gpu="GPU-1",index="0"} 140)",
           R"(nvshare_gpu_memory_other_bytes{gpu="GPU-1",index="0"} 20)",
           R"(nvshare_gpu_waiting_tenants{gpu="GPU-1",index="0"} 3)",
           R"(nvshare_gpu_switches_total{gpu="GPU-1",index="0"} 11)",
           R"(nvshare_gpu_held_seconds_total{gpu="GPU-1",index="0"} 1.5)",
           R"(nvshare_gpu_handover_seconds_total{gpu="GPU-1",index="0"} 0.000000001)",
           R"(nvshare_gpu_swap_idle_seconds_total{gpu="GPU-1",index="0"} 20)",
           R"(nvshare_gpu_swap_bytes_total{gpu="GPU-1",index="0",direction="out"} 70)",
           R"(nvshare_gpu_swap_bytes_total{gpu="GPU-1",index="0",direction="in"} 60)",
           "nvshare_tenant_info" + kTenantLabels + R"(,standing="verified"} 1)",
           "nvshare_tenant_limit_errors" + kTenantLabels + "} 1",
           "nvshare_tenant_used_seconds_total" + kOnGpuLabels + " 123456789.012345678",
           "nvshare_tenant_waited_seconds_total" + kOnGpuLabels + " 0.25",
           "nvshare_tenant_throttled_seconds_total" + kOnGpuLabels + " 0.00102",
           "nvshare_tenant_memory_wait_seconds_total" + kOnGpuLabels + " 1",
           "nvshare_tenant_windows_total" + kOnGpuLabels + " 44",
           "nvshare_tenant_memory_bytes" + kOnGpuLabels + " 18446744073709551615",
           "nvshare_tenant_memory_resident_bytes" + kOnGpuLabels + " 600",
           "nvshare_tenant_memory_swapped_bytes" + kOnGpuLabels + " 300",
           "nvshare_tenant_memory_fixed_bytes" + kOnGpuLabels + " 100",
           "nvshare_tenant_memory_driver_bytes" + kOnGpuLabels + " 526",
           "nvshare_tenant_memory_counted_bytes" + kOnGpuLabels + " 900",
           "nvshare_tenant_memory_limit_bytes" + kOnGpuLabels + " 4096",
           "nvshare_tenant_cap_ratio" + kOnGpuLabels + " 0.4",
           "nvshare_tenant_cap_in_force_ratio" + kOnGpuLabels + " 0.333333"}) {
    EXPECT_TRUE(has_line(text, line)) << line << "\nis not in\n" << text;
  }
}

// A metric of the table that nobody fills would be documented and never be there.
TEST(Metrics, AreAllOfThoseInTheTable) {
  std::set<std::string> told;
  std::set<std::string> filled;
  for (const std::string& line : lines_of(metrics_text(measured_view(), measured_labels()))) {
    if (line.starts_with("# TYPE ")) told.insert(line.substr(7, line.find(' ', 7) - 7));
    if (!line.starts_with('#')) filled.insert(line.substr(0, line.find_first_of("{ ")));
  }
  EXPECT_EQ(told.size(), static_cast<std::size_t>(Metric::count));
  EXPECT_EQ(told, filled);
}

TEST(Metrics, OfOneNameStandTogetherAfterWhatTheyMean) {
  core::NodeView view = measured_view();
  view.gpus.push_back(view.gpus[0]);
  view.gpus[1].gpu = core::GpuId{1};
  view.tenants.push_back(view.tenants[0]);
  view.tenants[1].tenant = core::TenantId{6};
  std::set<std::string> seen;
  std::string current;
  for (const std::string& line : lines_of(metrics_text(view, measured_labels()))) {
    if (line.starts_with("# HELP ")) {
      current = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_TRUE(seen.insert(current).second) << current << " twice";
      EXPECT_GT(line.size(), 7 + current.size() + 1) << "no help of " << current;
    } else if (!line.starts_with('#')) {
      EXPECT_EQ(line.substr(0, line.find_first_of("{ ")), current);
    }
  }
}

TEST(Metrics, OfAnEmptyNode) {
  const std::string text = metrics_text({}, {});
  EXPECT_TRUE(has_line(text, "nvshare_tenants 0"));
  EXPECT_TRUE(has_line(text, "nvshare_clients 0"));
  EXPECT_TRUE(has_line(text, "# TYPE nvshare_bad_annotations_total counter"));
  EXPECT_EQ(text.find("\nnvshare_bad_annotations_total"), std::string::npos) << "nobody watches";
  EXPECT_EQ(text.find("\nnvshare_gpu_"), std::string::npos);
  EXPECT_EQ(text.find("\nnvshare_tenant_"), std::string::npos);
  EXPECT_TRUE(text.ends_with('\n'));
}

TEST(Metrics, OfATenantOutsideOfPodsHaveEmptyLabels) {
  NodeLabels labels = measured_labels();
  labels.kubernetes = std::nullopt;
  TenantLabels outside;
  outside.program = "train";
  outside.container = "3f4e1c0d9b8a";
  labels.tenants[kMeasured] = outside;
  core::NodeView view = measured_view();
  view.tenants[0].gpus[0].cap = view.tenants[0].gpus[0].cap_in_force = core::kNoCap;
  const std::string text = metrics_text(view, labels);
  EXPECT_TRUE(has_line(
      text, R"(nvshare_tenant_memory_bytes{tenant="5",program="train",namespace="",pod="",)"
            R"(container="3f4e1c0d9b8a",gpu="GPU-1"} 0)"))
      << text;
  EXPECT_EQ(text.find("\nnvshare_tenant_memory_limit_bytes"), std::string::npos) << "it has none";
  EXPECT_EQ(text.find("\nnvshare_tenant_memory_driver_bytes"), std::string::npos) << "not known";
  EXPECT_EQ(text.find("\nnvshare_tenant_cap"), std::string::npos);
}

TEST(Metrics, OfAGpuThatOnlyClientsKnow) {
  core::NodeView view = measured_view();
  view.tenants[0].gpus[0].gpu = core::GpuId{1};
  view.gpus.push_back(view.gpus[0]);
  view.gpus[1].gpu = core::GpuId{1};
  const std::string text = metrics_text(view, measured_labels());
  EXPECT_TRUE(has_line(text, R"(nvshare_gpu_switches_total{gpu="",index="1"} 11)"));
  EXPECT_EQ(text.find(R"(_bytes{gpu="",index="1"})"), std::string::npos)
      << "nothing is known of it";
}

TEST(Metrics, AreReadableWhateverNamesHold) {
  const auto label = [](std::string_view value) {
    return LabelText(MetricLabels::build, {value}).text();
  };
  EXPECT_EQ(label("a\"b\\c\nd"), R"({version="a\"b\\c\nd"})");
  EXPECT_EQ(label("\xff"
                  "a\xc3"),
            "{version=\"\ufffda\ufffd\"}")
      << "not UTF-8";
  EXPECT_EQ(label("ä日😀"), "{version=\"ä日😀\"}");
  EXPECT_EQ(label("\x1b[2J\r"), "{version=\"\ufffd[2J\ufffd\"}") << "a terminal's";
  EXPECT_EQ(label(std::string_view("a\0b", 3)), "{version=\"a\ufffdb\"}");
}

}  // namespace
}  // namespace nvs::daemon
