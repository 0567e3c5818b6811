// SPDX-License-Identifier: Apache-2.0
// Scenarios of a few lines and the whole trace that the core must give for them. Run with
// NVS_UPDATE_GOLDEN=1 to write the traces anew, and read the difference before you keep it.
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "core/sim_node.h"

namespace nvs::core {
namespace {

void expect_golden(const std::string& name, SimNode& node) {
  std::string path = NVS_GOLDEN_FOLDER "/";
  path.append(name).append(".txt");
  const std::string trace = node.take_trace();
  if (std::getenv("NVS_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << trace;
    return;
  }
  std::ostringstream expected;
  expected << std::ifstream(path).rdbuf();
  EXPECT_EQ(trace, expected.str()) << path;
}

TEST(Golden, TwoTenantsTakeWindows) {
  SimNode node;
  node.join(1, 1);
  node.join(2, 2);
  node.saturate(1);
  node.saturate(2);
  node.pass_ms(100);
  expect_golden("two_tenants", node);
}

TEST(Golden, ASleeperWakes) {
  SimNode node;
  node.join(1, 1);
  node.join(2, 2);
  node.burst(2, 0, Duration::from_us(50), Duration::from_ms(10));
  node.pass_ms(5);
  node.saturate(1);
  node.pass_ms(50);
  expect_golden("sleeper", node);
}

TEST(Golden, PrioritiesAndFloors) {
  SimNode node;
  node.join(1, 1, Priority::high);
  node.join(2, 2, Priority::low);
  node.join(3, 3);
  for (int client : {1, 2, 3}) node.saturate(client);
  node.pass_ms(500);
  expect_golden("priorities", node);
}

TEST(Golden, AGangBesideATenantOnEachGpu) {
  SimNode node(2);
  for (int client : {1, 2, 9}) node.join(client, client);
  node.saturate(1, 0);
  node.saturate(2, 1);
  node.saturate(9, 0);
  node.saturate(9, 1);
  node.pass_ms(100);
  expect_golden("gang", node);
}

TEST(Golden, CatchUp) {
  SimNode node(2);
  for (int client : {1, 2, 9}) node.join(client, client);
  node.want(9, 0);
  node.want(1, 1);
  node.pass_ms(20);
  node.want(2, 0);
  node.want(9, 1);
  node.pass_ms(5);
  node.stalled(9, 0);
  node.drained(9, 0);
  node.want(9, 0);
  node.pass_ms(20);
  node.drained(1, 1);
  node.drained(2, 0);
  expect_golden("catch_up", node);
}

TEST(Golden, ClosingFaults) {
  SimNode node;
  for (int client : {1, 2, 3}) node.join(client, client);
  node.want(1);
  node.pass_ms(20);
  node.want(2);
  node.pass_ms(350);
  node.want(3);
  node.refused(2);
  node.pass_ms(700);
  node.drained(1);
  node.want(1);
  node.pass_ms(400);
  node.drained(2);
  node.leave(3);
  expect_golden("closing_faults", node);
}

TEST(Golden, SerialTurns) {
  SimNode node(1, {Mode::serial, Duration::from_ms(20), Duration::from_s(1)});
  node.join(1, 1);
  node.join(2, 2);
  node.saturate(1);
  node.saturate(2);
  node.pass_ms(2500);
  node.step(PolicySet{GpuId{0}, {Mode::concurrent, Duration::from_ms(20), std::nullopt}});
  node.step(PolicySet{GpuId{0}, {}});
  node.pass_ms(50);
  expect_golden("modes", node);
}

TEST(Golden, ARestartedDaemonAndAPause) {
  SimNode node;
  for (int client : {1, 2}) node.join(client, client);
  node.found_open(1);
  node.found_open(2);
  node.pass_ms(1);
  node.drained(2);
  node.want(2);
  node.drained(1);
  node.step(TenantPaused{TenantId{2}});
  node.want(1);
  node.drained(2);
  node.want(2);
  node.step(TenantResumed{TenantId{2}});
  expect_golden("restart_and_pause", node);
}

TEST(Golden, CapsOf30And60) {
  SimNode node(1, {Mode::automatic, Duration::from_ms(40), {}});
  for (int client : {1, 2}) node.join(client, client);
  node.cap(1, 30);
  node.cap(2, 60);
  node.saturate(1, 0, Duration::from_ms(9));
  node.saturate(2, 0, Duration::from_ms(9));
  node.pass_ms(500);
  node.cap(1, 0);
  expect_golden("caps", node);
}

}  // namespace
}  // namespace nvs::core
