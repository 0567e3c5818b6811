// SPDX-License-Identifier: Apache-2.0
// Gates that a new daemon finds open, of tenants that have memory: settings_test.cpp has the rest.
#include <gtest/gtest.h>

#include "core/sim_memory.h"

namespace nvs::core {
namespace {

class FoundOpenInMemory : public MemoryTest {
 protected:
  FoundOpenInMemory() : MemoryTest(2) {}
};

TEST_F(FoundOpenInMemory, ItsTenantIsServedElsewhereAtOnce) {
  for (const int client : {1, 2, 3}) node.join(client, 5);
  has(2, 0, 4);
  node.want(2, 0);
  node.want(3, 1);
  ASSERT_FALSE(node.is_open(3, 1)) << "its tenant waits for memory on the other GPU";
  has(1, 1);
  node.found_open(1, 0);
  EXPECT_TRUE(node.is_open(1, 0));
  EXPECT_TRUE(node.is_open(3, 1)) << "it has that one, and does not wait for it any more";
}

TEST_F(FoundOpenInMemory, WhoLacksMemoryIsClosed) {
  for (const bool has_company : {false, true}) {
    const int client = has_company ? 2 : 1;
    node.join(client, 5);
    has(client, 0, 4);
    node.found_open(client);
    EXPECT_TRUE(node.is_closing(client)) << "what it runs on is away";
    node.drained(client, 0, true);
    ASSERT_FALSE(node.is_open(client));
    obey_all();
    EXPECT_TRUE(node.is_open(client));
  }
  EXPECT_TRUE(node.is_open(1)) << "of the same tenant, and complete";
}

}  // namespace
}  // namespace nvs::core
