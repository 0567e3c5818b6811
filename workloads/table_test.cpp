// SPDX-License-Identifier: Apache-2.0
#include "workloads/table.h"

#include <gtest/gtest.h>

#include "workloads/statistics.h"

namespace nvs::workloads {
namespace {

TEST(Table, LinesColumnsUp) {
  Table table({{"tenant"}, {"GPU"}, {"seconds", Align::kRight}});
  table.add_row({"add", "0", "15.1"});
  table.add_row({"add-small", "1", "120.0"});
  table.add_rule();
  table.add_row({"average", "", "67.6"});
  EXPECT_EQ(table.render(),
            "tenant     GPU  seconds\n"
            "---------  ---  -------\n"
            "add        0       15.1\n"
            "add-small  1      120.0\n"
            "---------  ---  -------\n"
            "average            67.6\n");
}

TEST(Table, FillsMissingCellsAndTrimsLineEnds) {
  Table table({{"a"}, {"b"}});
  table.add_row({"one"});
  EXPECT_EQ(table.render(), "a    b\n---  -\none\n");
}

TEST(Statistics, SummarizesAColumn) {
  const double values[] = {4.0, 1.0, 7.0};
  const Summary summary = summarize(values);
  EXPECT_DOUBLE_EQ(summary.min, 1.0);
  EXPECT_DOUBLE_EQ(summary.max, 7.0);
  EXPECT_DOUBLE_EQ(summary.average, 4.0);
  EXPECT_DOUBLE_EQ(summarize({}).average, 0.0);
}

TEST(Statistics, HasNoRateWithoutTime) {
  EXPECT_DOUBLE_EQ(per_second(10, 0), 0.0);
  EXPECT_DOUBLE_EQ(per_second(10, 4), 2.5);
}

}  // namespace
}  // namespace nvs::workloads
