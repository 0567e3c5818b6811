// SPDX-License-Identifier: Apache-2.0
// Every row that is gated: marked inside the driver, and a call nested in it is known as such. How
// far under the mark the driver's return address lies differs from row to row.
#include <gtest/gtest.h>

#include "interposer/exports/test_real.h"
#include "interposer/gate/gated_call.h"
#include "interposer/gate/test_gate.h"

namespace nvs::interposer {
namespace {

int row_calls = 0;
int marked_before = 0;
int marked_after = 0;

// Once for all rows: a copy of it for each would be most of what this file costs.
void expect_gated(Row row, CUresult result) {
  EXPECT_EQ(result, CUDA_ERROR_NOT_READY) << row_name(row);
  EXPECT_EQ(row_calls, 1) << row_name(row);
  EXPECT_EQ(marked_before, 1) << row_name(row);
  EXPECT_EQ(marked_after, 1) << row_name(row) << ": the nested call took the mark over";
  EXPECT_EQ(gate::threads_inside(), 0) << row_name(row);
}

template <class Function>
struct GatedRow;
template <class... Arguments>
struct GatedRow<CUresult(Arguments...)> {
  static CUresult nest(Arguments...) {
    ++row_calls;
    marked_before = gate::threads_inside();
    launch();
    marked_after = gate::threads_inside();
    return CUDA_ERROR_NOT_READY;
  }

  template <Row row>
  static void check() {
    set_real_for_test<row>(&nest);
    row_calls = 0;
    expect_gated(row, GatedCall<row>::call(Arguments{}...));
  }
};

template <Row row>
void check_row() {
  // The nested call is a launch, so that its own row goes to the fake driver.
  if constexpr (row != Row::cuLaunchKernel) {
    GatedRow<typename RowFunction<row>::Type>::template check<row>();
  }
}

void check_all_rows() {
#define NVS_ROW(symbol, library, action) NVS_CHECK_##action(symbol)
#define NVS_CHECK_gate(symbol) check_row<Row::symbol>();
#define NVS_CHECK_own(symbol)
#define NVS_CHECK_jump(symbol)
#define NVS_CHECK_none(symbol)
#include "interposer/exports/rows.inc"
#undef NVS_ROW
#undef NVS_CHECK_gate
#undef NVS_CHECK_own
#undef NVS_CHECK_jump
#undef NVS_CHECK_none
}

class GateRowsTest : public GateTest {};

TEST_F(GateRowsTest, NestOnTheShortWay) {
  launch();
  check_all_rows();
}

TEST_F(GateRowsTest, NestOnTheLongWay) {
  EXPECT_EQ(in_child([] {
              forbid_membarrier(Membarrier::refused);
              launch();
              check_all_rows();
            }),
            0);
}

TEST_F(GateRowsTest, ALaunchNestsInItself) {
  fake.in_launch = [] {
    if (fake.launches > 1) return;
    launch();
    EXPECT_EQ(gate::threads_inside(), 1);
  };
  launch();
  EXPECT_EQ(fake.launches, 2);
}

}  // namespace
}  // namespace nvs::interposer
