// SPDX-License-Identifier: Apache-2.0
#include "daemon/status.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace nvs::daemon {
namespace {

using nlohmann::json;

constexpr core::GpuId kStatusGpu{0};
constexpr core::TenantId kStatusTenant{5};
constexpr core::ClientId kStatusClient{9};

NodeLabels labels() {
  NodeLabels node;
  node.version = "0.1.0";
  node.folder = "/var/run/nvshare";
  node.pid = 321;
  node.uptime = Duration::from_ms(1500);
  node.gpus = {{.uuid = "GPU-1",
                .name = "NVIDIA H200",
                .is_mig = false,
                .mps_active = true,
                .memory_bytes = 160,
                .visible_bytes = 150,
                .other_bytes = 20}};
  node.tenants[kStatusTenant] = {.name = "ml/train",
                                 .program = "python3",
                                 .pod = "train",
                                 .pod_namespace = "ml",
                                 .container = "3f4e1c0d9b8a",
                                 .memory = {{kStatusGpu,
                                             {.allocated_bytes = 1024,
                                              .held = {.resident = 600,
                                                       .away = 300,
                                                       .fixed = 100,
                                                       .asked = 7,
                                                       .clean = 50,
                                                       .host = 400,
                                                       .copied_out = 800,
                                                       .copied_in = 500,
                                                       .managed = 70},
                                              .driver_bytes = 526,
                                              .limit_bytes = 4096,
                                              .account_bytes = 900}}},
                                 .shares = {{kStatusGpu, {0.5, 0.25}}},
                                 .priority_asked = core::Priority::low,
                                 .memory_limit = {"4Ki", "admin"},
                                 .core_limit = {"60", "environment"},
                                 .limit_errors = {"not \"understood\""},
                                 .kubernetes = {.standing = Standing::unverified,
                                                .reason = "another pod's",
                                                .slot = "GPU-1::3",
                                                .container = "main"}};
  node.clients[kStatusClient] = 4242;
  node.kubernetes = {.health = {.is_reachable = true, .has_listed = true, .last_error = "slow"},
                     .pods = 12,
                     .slots = 3,
                     .bad_annotations = 2};
  node.kubernetes->health.reconnects[static_cast<std::size_t>(kube::Reason::closed)] = 7;
  node.host = {.cap_bytes = 900,
               .segment_bytes = 100,
               .held_bytes = 300,
               .kept_bytes = 40,
               .promised_bytes = 10,
               .ready_bytes = 200,
               .touching_bytes = 20,
               .freeing_bytes = 30,
               .refused = 4,
               .huge_pages = true,
               .tenants = {{kStatusTenant, 300}}};
  return node;
}

core::NodeView view() {
  core::GpuView gpu;
  gpu.gpu = kStatusGpu;
  gpu.policy = {
      .mode = core::Mode::serial, .window = Duration::from_us(2500), .turn = Duration::from_s(30)};
  gpu.capacity_bytes = 140;
  gpu.holder = kStatusTenant;
  gpu.loose = {core::TenantId{6}, core::TenantId{7}};
  gpu.waiting = 3;
  gpu.switches = 44;
  gpu.held = Duration::from_s(12);
  gpu.handover = Duration::from_us(1500);
  gpu.caps = 1'250'000;
  gpu.swap_idle = Duration::from_ms(250);
  core::TenantView tenant;
  tenant.tenant = kStatusTenant;
  tenant.priority = core::Priority::high;
  tenant.weight = 250;
  tenant.paused = true;
  tenant.clients = {kStatusClient};
  tenant.gpus = {{.gpu = kStatusGpu,
                  .state = core::TenantState::draining,
                  .used = Duration::from_ms(1100),
                  .waited = Duration::from_ms(200),
                  .waiting_now = Duration::from_ms(20),
                  .longest_wait = Duration::from_ms(150),
                  .windows = 17,
                  .cap = 600'000,
                  .cap_in_force = 480'000,
                  .throttled = Duration::from_ms(700),
                  .memory_wait = Duration::from_ms(30)}};
  return {.gpus = {gpu}, .tenants = {tenant}};
}

TEST(StatusText, SaysEverythingInItsPlace) {
  EXPECT_EQ(
      status_text(view(), labels()),
      R"({"version":"0.1.0","folder":"/var/run/nvshare","pid":321,"uptime_s":1.5,)"
      R"("host_memory":{"cap_bytes":900,"segment_bytes":100,"held_bytes":300,)"
      R"("kept_bytes":40,"promised_bytes":10,"ready_bytes":200,"touching_bytes":20,)"
      R"("freeing_bytes":30,)"
      R"("refused":4,"huge_pages":true,"tenants":[{"id":5,"held_bytes":300}]},)"
      R"("kubernetes":{"reachable":true,"listed":true,"last_error":"slow","pods":12,"slots":3,)"
      R"("bad_annotations":2,"reconnects":{"closed":7,"expired":0,"unauthorized":0,)"
      R"("forbidden":0,"throttled":0,"refused":0,"garbage":0,"connect":0,"tls":0,"timeout":0,)"
      R"("cut":0,"credentials":0}},"gpus":[)"
      R"({"index":0,"uuid":"GPU-1","name":"NVIDIA H200","memory_bytes":160,)"
      R"("capacity_bytes":140,"visible_bytes":150,"other_bytes":20,"mig":false,)"
      R"("mps":true,"nvml_error":null,"mode":"serial","window_ms":2.5,"turn_s":30,"holder":5,)"
      R"("waiting":3,)"
      R"("switches":44,"held_s":12,"handover_s":0.0015,)"
      R"("caps_percent":125,"swap_idle_s":0.25,"loose":[6,7]}],"tenants":[)"
      R"({"id":5,"name":"ml/train","program":"python3","pod":"train","namespace":"ml",)"
      R"("container":"3f4e1c0d9b8a","priority":"high","priority_asked":"low",)"
      R"("weight":250,"paused":true,)"
      R"("limits":{"memory":{"value":"4Ki","source":"admin"},)"
      R"("cores":{"value":"60","source":"environment"}},)"
      R"("limit_errors":["not \"understood\""],)"
      R"("kubernetes":{"standing":"unverified","reason":"another pod's","slot":"GPU-1::3",)"
      R"("container":"main"},)"
      R"("clients":[{"id":9,"pid":4242}],"gpus":[{"gpu":0,"state":"draining","used_s":1.1,)"
      R"("waited_s":0.2,"waiting_now_s":0.02,"longest_wait_s":0.15,"windows":17,)"
      R"("memory_bytes":1024,"resident_bytes":600,"swapped_bytes":300,"clean_bytes":50,)"
      R"("fixed_bytes":100,"host_bytes":400,"copied_out_bytes":800,"copied_in_bytes":500,)"
      R"("managed_bytes":70,"driver_bytes":526,"memory_limit_bytes":4096,"memory_used_bytes":900,)"
      R"("cap_percent":60,"cap_in_force_percent":48,"share_10s":0.5,"share_60s":0.25,)"
      R"("throttled_s":0.7,"throttled_now":false,"memory_wait_s":0.03}]}]})");
}

TEST(StatusText, WhatIsNotSetIsNull) {
  core::NodeView node = view();
  node.gpus[0].holder.reset();
  node.gpus[0].policy.turn.reset();
  const json status = json::parse(status_text(node, labels()));
  EXPECT_TRUE(status["gpus"][0]["holder"].is_null());
  EXPECT_TRUE(status["gpus"][0]["turn_s"].is_null());
}

TEST(StatusText, WithoutLimitsTheyAreNull) {
  core::NodeView node = view();
  node.tenants[0].gpus[0].cap = node.tenants[0].gpus[0].cap_in_force = core::kNoCap;
  node.tenants[0].gpus[0].state = core::TenantState::throttled;
  const json status = json::parse(status_text(node, {}));
  const json& tenant = status["tenants"][0];
  EXPECT_EQ(tenant["limits"]["memory"], json::parse(R"({"value":null,"source":"none"})"));
  EXPECT_EQ(tenant["limit_errors"], json::array());
  for (const char* name : {"driver_bytes", "memory_limit_bytes", "cap_percent",
                           "cap_in_force_percent", "share_10s", "share_60s"}) {
    EXPECT_TRUE(tenant["gpus"][0][name].is_null()) << name;
  }
  EXPECT_EQ(tenant["gpus"][0]["throttled_now"], true);
}

TEST(StatusText, SaysWhyAGpuDoesNotAnswer) {
  NodeLabels node = labels();
  node.gpus[0].nvml_error = "GPU is \"lost\"";
  EXPECT_EQ(json::parse(status_text(view(), node))["gpus"][0]["nvml_error"], "GPU is \"lost\"");
}

TEST(StatusText, LabelsMayLack) {
  const json status = json::parse(status_text(view(), {}));
  EXPECT_EQ(status["gpus"][0]["name"], "unknown");
  EXPECT_EQ(status["tenants"][0]["name"], "");
  EXPECT_EQ(status["tenants"][0]["clients"][0]["pid"], 0);
  EXPECT_EQ(status["tenants"][0]["gpus"][0]["memory_bytes"], 0);
  EXPECT_EQ(status["tenants"][0]["gpus"][0]["resident_bytes"], 0);
}

TEST(StatusText, HostileNamesStayNames) {
  NodeLabels node = labels();
  node.tenants[kStatusTenant].name = "\xff\",\"id\":1,\"x\":\"\n\x1b[2J";
  const std::string text = status_text(view(), node);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  const json status = json::parse(text);
  EXPECT_EQ(status["tenants"][0]["name"], "\ufffd\",\"id\":1,\"x\":\"\n\x1b[2J");
  EXPECT_EQ(status["tenants"][0]["id"], 5);
}

TEST(TraceText, NamesWhoIsInIt) {
  TraceExtract extract;
  extract.intervals = {{kStatusGpu, kStatusTenant, 2, TraceKind::open, Instant::from_ns(1'000'999),
                        Instant::from_ns(5'000'000)},
                       {kStatusGpu, core::TenantId{6}, 1, TraceKind::wait, Instant::from_ns(0),
                        Instant::from_ns(7'000)},
                       {kStatusGpu, kStatusTenant, 1, TraceKind::drain, Instant::from_ns(5'000'000),
                        Instant::from_ns(6'000'000)}};
  const core::TenantId third{8};
  const MemoryExtract memory{
      .points = {{kStatusGpu, kStatusTenant, Instant::from_ns(2'000'500), {512, 64, 32, 16}}},
      .moves = {{kStatusGpu, kStatusTenant, MemoryMove::Way::out, Instant::from_ns(3'000),
                 Instant::from_ns(4'000), 128},
                {kStatusGpu, third, MemoryMove::Way::in, Instant::from_ns(5'000),
                 Instant::from_ns(6'000), 256}}};
  EXPECT_EQ(trace_text(extract, memory, labels()),
            R"({"gpus":[{"index":0,"uuid":"GPU-1","name":"NVIDIA H200"}],)"
            R"("tenants":[{"id":5,"name":"ml/train"},{"id":6,"name":""},{"id":8,"name":""}],)"
            R"("cut":false,"intervals":[)"
            R"({"gpu":0,"tenant":5,"kind":"open","clients":2,"start_us":1000,"end_us":5000},)"
            R"({"gpu":0,"tenant":6,"kind":"wait","clients":1,"start_us":0,"end_us":7},)"
            R"({"gpu":0,"tenant":5,"kind":"drain","clients":1,"start_us":5000,"end_us":6000}],)"
            R"("memory":[{"gpu":0,"tenant":5,"at_us":2000,"resident_bytes":512,)"
            R"("swapped_bytes":64,"clean_bytes":32,"fixed_bytes":16}],"moves":[)"
            R"({"gpu":0,"tenant":5,"way":"out","start_us":3,"end_us":4,"bytes":128},)"
            R"({"gpu":0,"tenant":8,"way":"in","start_us":5,"end_us":6,"bytes":256}]})");
  extract.is_cut = true;
  EXPECT_EQ(json::parse(trace_text(extract, {}, labels()))["cut"], true);
}

TEST(TenantName, IsThePodThenTheProgramThenTheProcess) {
  EXPECT_EQ(tenant_name("ml", "train", "python3", 1), "ml/train");
  EXPECT_EQ(tenant_name("", "train", "python3", 1), "train");
  EXPECT_EQ(tenant_name("ml", "", "python3", 1), "python3");
  EXPECT_EQ(tenant_name("", "", "", 42), "pid 42");
}

}  // namespace
}  // namespace nvs::daemon
