// SPDX-License-Identifier: Apache-2.0
// For tests of gangs: two GPUs, a single tenant for each, and one that uses both. Nobody wants
// anything yet.
#pragma once

#include <gtest/gtest.h>

#include "core/sim_node.h"

namespace nvs::core {

class TwoGpus : public testing::Test {
 protected:
  TwoGpus() {
    for (const int client : {1, 2, 9}) node.join(client, client);
  }

  // Tenant 1 on GPU 0 and tenant 2 on GPU 1 have had their windows.
  void let_singles_run() {
    node.want(1, 0);
    node.want(2, 1);
    node.pass_ms(20);
  }
  void gang_wants() {
    node.want(9, 0);
    node.want(9, 1);
  }
  // The gang has had its window, and loses both GPUs to tenant 1, which has the one that it wants.
  void gang_gives_way_on(int gpu) {
    gang_wants();
    node.pass_ms(30);
    node.want(1, gpu);
    node.drained(9, 0);
    node.drained(9, 1);
  }

  SimNode node{2};
};

}  // namespace nvs::core
