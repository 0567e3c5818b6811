// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/trace_file.h"

#include <gtest/gtest.h>

#include "cli/ctl/exit_codes.h"

namespace nvs::cli {
namespace {

TEST(TraceFile, AGpuIsAProcessAndATenantAThread) {
  const auto file = make_trace_file(R"({"ok":true,"result":{
    "gpus":[{"index":0,"uuid":"GPU-aa","name":"H200"},{"index":1,"uuid":"GPU-bb","name":"H200"}],
    "tenants":[{"id":4,"name":"a \"b\""}],
    "intervals":[{"gpu":0,"tenant":4,"kind":"wait","start_us":1000,"end_us":1500},
                 {"gpu":0,"tenant":4,"kind":"open","start_us":1500,"end_us":21500},
                 {"gpu":1,"tenant":9,"kind":"drain","start_us":2000,"end_us":2010}]}})");
  ASSERT_TRUE(file) << file.error().text;
  EXPECT_EQ(file->intervals, 3u);
  EXPECT_DOUBLE_EQ(file->seconds, 0.0205);
  EXPECT_EQ(file->text, R"x({"displayTimeUnit":"ms","traceEvents":[
{"args":{"name":"GPU 0 H200 GPU-aa"},"name":"process_name","ph":"M","pid":1,"tid":0},
{"args":{"sort_index":0},"name":"process_sort_index","ph":"M","pid":1,"tid":0},
{"args":{"name":"GPU 1 H200 GPU-bb"},"name":"process_name","ph":"M","pid":2,"tid":0},
{"args":{"sort_index":1},"name":"process_sort_index","ph":"M","pid":2,"tid":0},
{"args":{"name":"a \"b\" (4)"},"name":"thread_name","ph":"M","pid":1,"tid":1001},
{"args":{"sort_index":4},"name":"thread_sort_index","ph":"M","pid":1,"tid":1001},
{"args":{"tenant":4},"cat":"window","dur":500,"name":"wait","ph":"X","pid":1,"tid":1001,"ts":0},
{"args":{"tenant":4},"cat":"window","dur":20000,"name":"open","ph":"X","pid":1,"tid":1001,"ts":500},
{"args":{"name":"tenant 9"},"name":"thread_name","ph":"M","pid":2,"tid":1002},
{"args":{"sort_index":9},"name":"thread_sort_index","ph":"M","pid":2,"tid":1002},
{"args":{"tenant":9},"cat":"window","dur":10,"name":"drain","ph":"X","pid":2,"tid":1002,"ts":1000}
]}
)x");
}

TEST(TraceFile, MemoryIsCountersAndATrackOfItsOwn) {
  const auto file = make_trace_file(R"({"ok":true,"result":{
    "gpus":[],"tenants":[{"id":4,"name":"a"}],
    "intervals":[{"gpu":0,"tenant":4,"kind":"wait","start_us":1000,"end_us":1500}],
    "memory":[{"gpu":0,"tenant":4,"at_us":900,"resident_bytes":512,"swapped_bytes":64,
               "clean_bytes":32,"fixed_bytes":16},
              {"gpu":1,"tenant":5,"at_us":1400,"resident_bytes":0},
              {"gpu":0,"tenant":4,"at_us":1600,"resident_bytes":448,"swapped_bytes":128,
               "clean_bytes":32,"fixed_bytes":16},
              {"gpu":0,"tenant":4,"at_us":1700,"resident_bytes":448,"swapped_bytes":128,
               "clean_bytes":0,"fixed_bytes":17}],
    "moves":[{"gpu":0,"tenant":4,"way":"out","start_us":1200,"end_us":1800,"bytes":64},
             {"gpu":0,"tenant":4,"way":"in","start_us":1900,"end_us":2000}]}})");
  ASSERT_TRUE(file) << file.error().text;
  EXPECT_EQ(file->text, R"x({"displayTimeUnit":"ms","traceEvents":[
{"args":{"name":"a (4)"},"name":"thread_name","ph":"M","pid":1,"tid":1001},
{"args":{"sort_index":4},"name":"thread_sort_index","ph":"M","pid":1,"tid":1001},
{"args":{"tenant":4},"cat":"window","dur":500,"name":"wait","ph":"X","pid":1,"tid":1001,"ts":100},
{"args":{"name":"a (4) memory"},"name":"thread_name","ph":"M","pid":1,"tid":1002},
{"args":{"sort_index":4},"name":"thread_sort_index","ph":"M","pid":1,"tid":1002},
{"args":{"bytes":64,"tenant":4},"cat":"memory","dur":600,"name":"moving out","ph":"X","pid":1,)x"
                        R"x("tid":1002,"ts":300},
{"args":{"tenant":4},"cat":"memory","dur":100,"name":"moving in","ph":"X","pid":1,"tid":1002,)x"
                        R"x("ts":1000},
{"args":{"bytes":512},"cat":"memory","name":"a (4) resident","ph":"C","pid":1,"ts":0},
{"args":{"bytes":64},"cat":"memory","name":"a (4) swapped","ph":"C","pid":1,"ts":0},
{"args":{"bytes":32},"cat":"memory","name":"a (4) clean","ph":"C","pid":1,"ts":0},
{"args":{"bytes":16},"cat":"memory","name":"a (4) fixed","ph":"C","pid":1,"ts":0},
{"args":{"bytes":0},"cat":"memory","name":"tenant 5 resident","ph":"C","pid":2,"ts":500},
{"args":{"bytes":448},"cat":"memory","name":"a (4) resident","ph":"C","pid":1,"ts":700},
{"args":{"bytes":128},"cat":"memory","name":"a (4) swapped","ph":"C","pid":1,"ts":700},
{"args":{"bytes":0},"cat":"memory","name":"a (4) clean","ph":"C","pid":1,"ts":800},
{"args":{"bytes":17},"cat":"memory","name":"a (4) fixed","ph":"C","pid":1,"ts":800}
]}
)x");
}

TEST(TraceFile, NothingHappened) {
  const auto file =
      make_trace_file(R"({"ok":true,"result":{"gpus":[],"tenants":[],"intervals":[]}})");
  ASSERT_TRUE(file);
  EXPECT_EQ(file->text, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n\n]}\n");
  EXPECT_EQ(file->seconds, 0);
}

TEST(TraceFile, ItIsSaidThatThereWereMore) {
  const std::string answer = R"({"ok":true,"result":{"gpus":[],"tenants":[],"intervals":[],"cut":)";
  EXPECT_TRUE(make_trace_file(answer + "true}}")->is_cut);
  EXPECT_FALSE(make_trace_file(answer + "false}}")->is_cut);
  EXPECT_FALSE(make_trace_file(answer + "7}}"));
}

TEST(TraceFile, WhatIsNotUnderstoodIsAFailure) {
  for (const char* answer : {"", R"({"ok":true,"result":{}})",
                             R"({"ok":true,"result":{"gpus":[],"tenants":[],"intervals":[{}]}})"}) {
    const auto file = make_trace_file(answer);
    ASSERT_FALSE(file) << answer;
    EXPECT_EQ(file.error().code, kCtlFailed);
  }
}

}  // namespace
}  // namespace nvs::cli
