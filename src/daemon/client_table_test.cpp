// SPDX-License-Identifier: Apache-2.0
#include "daemon/client_table.h"

#include <gtest/gtest.h>

#include "daemon/limits.h"

namespace nvs::daemon {
namespace {

Tenant named(const std::string& key) {
  Tenant tenant;
  tenant.key = key;
  tenant.name = "name of " + key;
  return tenant;
}

TEST(ClientTable, ATenantIsThereWhileItHasClients) {
  ClientTable table;
  const core::TenantId id = table.add_tenant(core::TenantId{7}, named("a")).id;
  EXPECT_EQ(id, core::TenantId{7});
  table.add_client(core::ClientId{1}, id, 100);
  table.add_client(core::ClientId{2}, id, 101);
  EXPECT_EQ(table.find("a"), &table.at(id));
  EXPECT_EQ(table.client(core::ClientId{2}).pid, 101);
  table.remove_client(core::ClientId{1});
  EXPECT_EQ(table.at(id).clients, std::vector{core::ClientId{2}});
  table.remove_client(core::ClientId{2});
  EXPECT_EQ(table.find("a"), nullptr);
  EXPECT_TRUE(table.tenants().empty());
  EXPECT_TRUE(table.clients().empty());
}

TEST(ClientTable, NamesOfThoseWhoLeftAreKeptForAWhile) {
  ClientTable table;
  for (std::size_t i = 0; i <= kDepartedMax; ++i) {
    const auto id = static_cast<core::TenantId>(i + 1);
    table.add_tenant(id, named(std::to_string(i)));
    table.add_client(static_cast<core::ClientId>(i), id, 1);
    table.remove_client(static_cast<core::ClientId>(i));
  }
  ASSERT_EQ(table.departed().size(), kDepartedMax);
  EXPECT_EQ(table.departed().front().second, "name of 1");
}

}  // namespace
}  // namespace nvs::daemon
