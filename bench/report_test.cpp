// SPDX-License-Identifier: Apache-2.0
#include "bench/report.h"

#include <array>
#include <cstdio>
#include <limits>
#include <regex>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <pty.h>
#include <unistd.h>

#include "bench/progress.h"

namespace nvs::bench {
namespace {

const Heading kHeading = {"driver", "simulated NVIDIA H200, scale 64"};

Row plain() { return {"Copies", "host to device", {55.2, 55, 55.4}, "GB/s", 55.2, {}, 0.001}; }
Row missed() { return {"Copies", "ratio", {1.5, 1.5, 1.5}, "x", 1.84, within(1.84, 0.05), 0.0}; }
Row invalid() { return {"Slicing", "2 tenants", {92, 92, 92}, "%", {}, within(92, 0.05), 0.02}; }

// What has left the buffers of the stream is in the file, and only that would survive a kill.
class TemporaryFile {
 public:
  ~TemporaryFile() { std::fclose(stream_); }
  std::FILE* stream() { return stream_; }
  std::string written() const {
    std::array<char, 4096> text;
    const ssize_t size = ::pread(::fileno(stream_), text.data(), text.size(), 0);
    return {text.data(), size < 0 ? 0 : static_cast<std::size_t>(size)};
  }

 private:
  std::FILE* stream_ = std::tmpfile();
};

// The slave's side of a terminal is what programs write to, the master's side what people see.
class Terminal {
 public:
  Terminal() {
    int slave = -1;
    if (::openpty(&master_, &slave, nullptr, nullptr, nullptr) == 0) stream_ = ::fdopen(slave, "w");
  }
  ~Terminal() {
    std::fclose(stream_);
    ::close(master_);
  }
  std::FILE* stream() { return stream_; }
  // What has been shown since the last call, with line ends as the program wrote them and without
  // the seconds that it took. A mark says where it ends, since a terminal passes on in pieces.
  std::string shown() {
    EXPECT_EQ(::write(::fileno(stream_), "\f", 1), 1) << "the mark";
    std::string result;
    for (char next = 0; ::read(master_, &next, 1) == 1 && next != '\f';) result += next;
    result = std::regex_replace(result, std::regex("\r\n"), "\n");
    result = std::regex_replace(result, std::regex("\\] [0-9]+ s"), "] # s");
    return std::regex_replace(result, std::regex("\r\033\\[K"), "<erase>");
  }

 private:
  int master_ = -1;
  std::FILE* stream_ = nullptr;
};

TEST(Report, AWordStandsWhereFactsHaveNoFigure) {
  Row row = plain();
  row.facts = std::nullopt;
  row.facts_word = "alike";
  EXPECT_EQ(render_row(row, "Copies"),
            "  host to device                                55.20 GB/s           alike\n");
  EXPECT_EQ(nlohmann::json::parse(render_json(kHeading, row))["facts"], "alike");
}

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
  EXPECT_EQ(render_top(kHeading),
            "driver on simulated NVIDIA H200, scale 64\n"
            "\n"
            "  what                                      "
            "    value unit           FACTS          target  ok\n");
  EXPECT_EQ(render_row(missed(), "Copies"),
            "  ratio                                     "
            "     1.50 x               1.84    1.75 .. 1.93  MISSED\n");
  EXPECT_EQ(render_row(invalid(), "Slicing"),
            "  2 tenants                                 "
            "    92.00 %                     87.40 .. 96.60  invalid\n");
}

TEST(Report, AWideNameSticksOutAndLosesNothing) {
  Row row = plain();
  row.what = std::string(50, 'w');
  EXPECT_EQ(render_row(row, "Copies"), "  " + row.what + "    55.20 GB/s           55.20\n");
}

TEST(Report, ASectionStandsAboveItsFirstRow) {
  const std::string line = render_row(plain(), "Copies");
  EXPECT_EQ(render_row(plain(), ""), "Copies\n" + line);
  EXPECT_EQ(render_row(plain(), "Slicing"), "Copies\n" + line);
}

TEST(Report, TheSummaryCountsVerdicts) {
  EXPECT_EQ(render_summary({plain(), missed(), invalid()}),
            "\n3 rows, 0 of 2 targets met, 1 invalid (the simulator was more than 1 % late: the "
            "machine is too busy)\n");
}

TEST(Report, TheTableIsInTheFileRowByRow) {
  TemporaryFile file;
  Report report(kHeading, Format::kTable, file.stream());
  std::string expected = render_top(kHeading);
  EXPECT_EQ(file.written(), expected);
  report.add(plain());
  expected += render_row(plain(), "");
  EXPECT_EQ(file.written(), expected);
  report.add(missed());
  expected += render_row(missed(), "Copies");
  EXPECT_EQ(file.written(), expected);
  report.add(invalid());
  expected += render_row(invalid(), "Copies");
  EXPECT_EQ(file.written(), expected);
  report.finish();
  EXPECT_EQ(file.written(), expected + render_summary({plain(), missed(), invalid()}));
}

TEST(Report, JsonIsInTheFileRowByRowAndHasNothingElse) {
  TemporaryFile file;
  Report report(kHeading, Format::kJson, file.stream());
  report.add(plain());
  EXPECT_EQ(file.written(), render_json(kHeading, plain()));
  report.finish();
  EXPECT_EQ(file.written(), render_json(kHeading, plain()));
}

TEST(Report, LinesOfASectionStandAboveItsRowsAndAreForPeopleAlone) {
  TemporaryFile file;
  Report report(kHeading, Format::kTable, file.stream());
  report.add(missed());
  report.show("Copies", "one\n");
  report.show("Slicing", "two\n\nthree\n");
  report.add(invalid());
  EXPECT_EQ(file.written(), render_top(kHeading) + render_row(missed(), "") +
                                "  one\nSlicing\n  two\n  \n  three\n" +
                                render_row(invalid(), "Slicing"));
  TemporaryFile rows;
  Report(kHeading, Format::kJson, rows.stream()).show("Slicing", "two\n");
  EXPECT_EQ(rows.written(), "");
}

TEST(Report, OnATerminalTheProgressLineMakesWayForARow) {
  Terminal terminal;
  ASSERT_NE(terminal.stream(), nullptr);
  Report report(kHeading, Format::kTable, terminal.stream());
  terminal.shown();
  {
    Progress progress("driver", 2, terminal.stream());
    report.add(plain());
    EXPECT_EQ(terminal.shown(), "<erase>" + render_row(plain(), "")) << "no line stood there";
    progress.step("copies");
    const std::string line = "driver [                    ] # s  copies";
    EXPECT_EQ(terminal.shown(), "<erase>" + line);
    report.add(missed());
    EXPECT_EQ(terminal.shown(), "<erase>" + render_row(missed(), "Copies") + line);
    progress.note("late");
    EXPECT_EQ(terminal.shown(), "<erase>driver: late\n" + line);
  }
  EXPECT_EQ(terminal.shown(), "<erase>");
  report.add(missed());
  EXPECT_EQ(terminal.shown(), render_row(missed(), "Copies")) << "no progress runs any more";
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

TEST(Report, WhatWasNotSeenIsARowThatMissesItsTarget) {
  Row row = missed();
  row.value = summarize({kNothingSeen});
  EXPECT_NE(render_row(row, row.section).find(" - "), std::string::npos);
  EXPECT_NE(render_row(row, row.section).find("MISSED"), std::string::npos);
  const nlohmann::json object = nlohmann::json::parse(render_json(kHeading, row));
  EXPECT_TRUE(object["value"].is_null());
  EXPECT_TRUE(object["low"].is_null());
  EXPECT_EQ(object["ok"], false);
  EXPECT_EQ(object["valid"], true);
}

TEST(Report, IsAcceptableOnlyIfEachRowIs) {
  TemporaryFile file;
  Report report(kHeading, Format::kJson, file.stream());
  EXPECT_FALSE(report.acceptable()) << "nothing was measured";
  report.add(plain());
  EXPECT_TRUE(report.acceptable());
  report.add(missed());
  EXPECT_FALSE(report.acceptable());
}

}  // namespace
}  // namespace nvs::bench
