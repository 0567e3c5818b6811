// SPDX-License-Identifier: Apache-2.0
#include "workloads/share_view.h"

#include <gtest/gtest.h>

namespace nvs::workloads {
namespace {

Tenant running(const char* label, int gpu, pid_t pid) {
  return {.spec = {.label = label, .gpu = gpu, .arguments = {}, .environment = {}},
          .pid = pid,
          .phase = Phase::kRunning};
}

NodeTenant at_node(std::uint64_t id, pid_t pid, GpuUse use) {
  return {.id = id, .pids = {pid}, .gpus = {std::move(use)}};
}

TEST(ShareView, ShowsWhoHoldsAndWhoWaits) {
  const Tenant tenants[] = {running("add", 0, 11), running("infer", 0, 12)};
  ShareView view;
  view.take({.gpus = {{.index = 0, .holder = 7, .switches = 40}},
             .tenants = {at_node(7, 11, {.gpu = 0, .state = "running"}),
                         at_node(8, 12, {.gpu = 0, .state = "waiting"})}},
            tenants);
  EXPECT_EQ(view.render_gpus(),
            std::vector<std::string>{"GPU 0  held by add; waiting: infer; 0 switches"});
  view.take({.gpus = {{.index = 0, .switches = 42}},
             .tenants = {at_node(7, 11, {.gpu = 0, .state = "throttled"}),
                         at_node(8, 12, {.gpu = 0, .state = "throttled"})}},
            tenants);
  EXPECT_EQ(
      view.render_gpus(),
      std::vector<std::string>{"GPU 0  held by nobody; had its share: add, infer; 2 switches"});
  view.take({.gpus = {{.index = 0, .holder = 8, .switches = 43}},
             .tenants = {at_node(7, 11, {.gpu = 0, .state = "idle"}),
                         at_node(8, 12, {.gpu = 0, .state = "running"})}},
            tenants);
  EXPECT_EQ(view.render_gpus(), std::vector<std::string>{"GPU 0  held by infer; 3 switches"});
}

TEST(ShareView, ShowsWhereMemoryIs) {
  const Tenant tenants[] = {running("add", 0, 11), running("infer", 1, 12), running("none", 1, 13)};
  constexpr std::uint64_t kMiB = 1ull << 20;
  ShareView view;
  const NodeTenant half = at_node(
      7, 11,
      {.gpu = 0, .state = "swapped", .resident_bytes = 16 * kMiB, .swapped_bytes = 16 * kMiB});
  view.take(
      {.gpus = {{.index = 0}, {.index = 1}},
       .tenants = {half, at_node(8, 12, {.gpu = 1, .state = "running", .resident_bytes = kMiB}),
                   at_node(9, 13, {.gpu = 1, .state = "idle"})}},
      tenants);
  EXPECT_EQ(view.render_memory(64),
            (std::vector<std::string>{
                "add  GPU 0  [##########..........]  1.0 GiB there, 1.0 GiB swapped out, swapped",
                "infer  GPU 1  [####################]  64.0 MiB there, 0 B swapped out, running"}));
  view.take({.gpus = {{.index = 0}, {.index = 1}}, .tenants = {half}}, tenants);
  EXPECT_EQ(view.render_memory(64).back(), "infer  GPU 1  [....................]  gone");
}

TEST(ShareView, CallsGpusWhatTheTenantsCallThem) {
  const Tenant tenants[] = {running("add", 0, 11), running("infer", 1, 12)};
  ShareView view;
  view.take({.gpus = {{.index = 0}, {.index = 1, .holder = 7}},
             .tenants = {at_node(7, 11, {.gpu = 1, .state = "running"}),
                         at_node(8, 12, {.gpu = 0, .state = "idle"})}},
            tenants);
  const std::vector<std::string> lines = {"GPU 0  held by add; 0 switches",
                                          "GPU 1  held by nobody; 0 switches"};
  EXPECT_EQ(view.render_gpus(), lines);
}

TEST(ShareView, RemembersTenantsThatLeft) {
  const Tenant tenants[] = {running("add", 0, 11), running("infer", 0, 12)};
  ShareView view;
  view.take({.gpus = {{.index = 0, .holder = 7, .switches = 10, .held_seconds = 5}},
             .tenants = {at_node(7, 11,
                                 {.gpu = 0,
                                  .state = "running",
                                  .used_seconds = 1.5,
                                  .longest_wait_seconds = 0.021,
                                  .windows = 75}),
                         at_node(8, 12, {.gpu = 0, .state = "waiting", .used_seconds = 0.5})}},
            tenants);
  view.take({.gpus = {{.index = 0, .switches = 14, .held_seconds = 5.99, .handover_seconds = 0.01}},
             .tenants = {}},
            tenants);
  view.take({.gpus = {{.index = 0, .switches = 14}},
             .tenants = {at_node(8, 12,
                                 {.gpu = 0,
                                  .state = "idle",
                                  .used_seconds = 0.5,
                                  .longest_wait_seconds = 0.04,
                                  .windows = 25})}},
            tenants);
  view.take({}, tenants);
  const std::string table = view.render_table();
  EXPECT_NE(table.find("add       0    1.50       75       75               21\n"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("infer     0    0.50       25       25               40\n"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("GPU 0: 4 switches"), std::string::npos) << table;
}

TEST(ShareView, TellsWhomTheDaemonLostWhileTheyRan) {
  Tenant tenants[] = {running("add", 0, 11), running("infer", 0, 12)};
  const NodeStatus both{.gpus = {{.index = 0}},
                        .tenants = {at_node(7, 11, {.gpu = 0, .state = "running"}),
                                    at_node(8, 12, {.gpu = 0, .state = "waiting"})}};
  const NodeStatus one{.gpus = {{.index = 0}}, .tenants = {both.tenants[0]}};
  ShareView view;
  view.take(both, tenants);
  view.take(one, tenants);
  EXPECT_TRUE(view.lost().empty());  // it may be about to end
  view.take(one, tenants);
  view.take(both, tenants);
  EXPECT_EQ(view.lost(), std::vector<std::string>{"infer"});
}

TEST(ShareView, ATenantThatEndedIsNotLost) {
  Tenant tenants[] = {running("add", 0, 11)};
  ShareView view;
  view.take({.gpus = {{.index = 0}}, .tenants = {at_node(7, 11, {.gpu = 0, .state = "running"})}},
            tenants);
  for (const Phase phase : {Phase::kRunning, Phase::kVerifying, Phase::kEnded, Phase::kEnded}) {
    tenants[0].phase = phase;
    view.take({.gpus = {{.index = 0}}}, tenants);
  }
  EXPECT_TRUE(view.lost().empty());
}

TEST(ShareView, SaysNothingOfStrangers) {
  const Tenant tenants[] = {running("add", 0, 11)};
  ShareView view;
  view.take({.gpus = {{.index = 0, .holder = 7}},
             .tenants = {at_node(7, 99, {.gpu = 0, .state = "running"})}},
            tenants);
  EXPECT_TRUE(view.render_gpus().empty());
  EXPECT_EQ(view.render_table(), "");
}

}  // namespace
}  // namespace nvs::workloads
