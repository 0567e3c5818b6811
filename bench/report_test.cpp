// SPDX-License-Identifier: Apache-2.0
#include "bench/report.h"

#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace nvs::bench {
namespace {

const Heading kHeading = {"driver", "simulated NVIDIA H200, scale 64"};

Row plain() { return {"Copies", "host to device", {55.2, 55, 55.4}, "GB/s", 55.2, {}, 0.001}; }
Row missed() { return {"Copies", "ratio", {1.5, 1.5, 1.5}, "x", 1.84, within(1.84, 0.05), 0.0}; }
Row invalid() { return {"Slicing", "2 tenants", {92, 92, 92}, "%", {}, within(92, 0.05), 0.02}; }

TEST(Report, ValuesKeepAboutFourDigits) {
  EXPECT_EQ(format_value(0), "0");
  EXPECT_EQ(format_value(0.18), "0.180");
  EXPECT_EQ(format_value(1.8404), "1.84");
  EXPECT_EQ(format_value(55.249), "55.25");
  EXPECT_EQ(format_value(101.62), "101.6");
  EXPECT_EQ(format_value(2457.3), "2457");
  EXPECT_EQ(format_value(-12.345), "-12.35");
  EXPECT_EQ(format_value(std::numeric_limits<double>::quiet_NaN()), "-");
}

TEST(Report, TargetsReadLikeBounds) {
  EXPECT_EQ(format_target({1.75, 1.93}), "1.75 .. 1.93");
  EXPECT_EQ(format_target({99, std::nullopt}), ">= 99.00");
  EXPECT_EQ(format_target({std::nullopt, 5}), "<= 5.00");
}

TEST(Report, TableHasAlignedColumnsAndAVerdict) {
  EXPECT_EQ(render_table(kHeading, {plain(), missed(), invalid()}),
            "driver on simulated NVIDIA H200, scale 64\n"
            "\n"
            "  what            value unit  FACTS          target  ok\n"
            "Copies\n"
            "  host to device  55.20 GB/s  55.20\n"
            "  ratio            1.50 x      1.84    1.75 .. 1.93  MISSED\n"
            "Slicing\n"
            "  2 tenants       92.00 %            87.40 .. 96.60  invalid\n"
            "\n"
            "3 rows, 0 of 2 targets met, 1 invalid (the simulator was more than 1 % late: the "
            "machine is too busy)\n");
}

TEST(Report, JsonIsOneObjectALine) {
  const std::string text = render_json(kHeading, missed());
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  const nlohmann::json object = nlohmann::json::parse(text);
  EXPECT_EQ(object["case"], "driver");
  EXPECT_EQ(object["what"], "ratio");
  EXPECT_DOUBLE_EQ(object["value"].get<double>(), 1.5);
  EXPECT_EQ(object["unit"], "x");
  EXPECT_DOUBLE_EQ(object["target"]["min"].get<double>(), 1.84 * 0.95);
  EXPECT_EQ(object["ok"], false);
  EXPECT_EQ(object["valid"], true);
}

TEST(Report, JsonOfARowWithoutATargetHasNullsThere) {
  const nlohmann::json object = nlohmann::json::parse(render_json(kHeading, plain()));
  EXPECT_TRUE(object["target"].is_null());
  EXPECT_TRUE(object["ok"].is_null());
  EXPECT_EQ(object["valid"], true);
}

TEST(Report, AnInvalidRowIsNeverOk) {
  const nlohmann::json object = nlohmann::json::parse(render_json(kHeading, invalid()));
  EXPECT_EQ(object["ok"], false);
  EXPECT_EQ(object["valid"], false);
}

TEST(Report, JsonHasNoNumberForWhatIsNone) {
  Row row = plain();
  row.value.median = std::numeric_limits<double>::infinity();
  const nlohmann::json object = nlohmann::json::parse(render_json(kHeading, row));
  EXPECT_TRUE(object["value"].is_null());
  EXPECT_EQ(object["valid"], false);
}

TEST(Report, IsAcceptableOnlyIfEachRowIs) {
  std::FILE* sink = std::tmpfile();
  ASSERT_NE(sink, nullptr);
  Report report(kHeading, Format::kJson, sink);
  EXPECT_FALSE(report.acceptable()) << "nothing was measured";
  report.add(plain());
  EXPECT_TRUE(report.acceptable());
  report.add(missed());
  EXPECT_FALSE(report.acceptable());
  std::fclose(sink);
}

}  // namespace
}  // namespace nvs::bench
