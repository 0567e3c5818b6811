// SPDX-License-Identifier: Apache-2.0
// The conduct of a machine that nothing stands in the way of, and of one whose place in the
// server's history is lost. Sections are those of the facts about Kubernetes that the machine
// builds on.
#include "kube/watch_machine.h"

#include <gtest/gtest.h>

#include "kube/test_machine.h"

namespace nvs::kube {
namespace {

constexpr const char* kWatching = "!watching the annotations of 0 pods of node node-1";

// Section 5.1: a list, and a watch from its version.
TEST(WatchMachine, ListsAndThenWatches) {
  TestMachine test;
  EXPECT_EQ(test.start(), "list");
  EXPECT_EQ(test.target(), "/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-1&limit=500");
  EXPECT_EQ(test.headers(), "reachable");
  EXPECT_EQ(test.bytes(list_json({pod_json("a", "1Gi", "3"), pod_json("b", "1Gi", "4")}, "10")),
            "");
  EXPECT_EQ(test.end(), "watch:10 +a +b !watching the annotations of 2 pods of node node-1");
  EXPECT_EQ(test.target(),
            "/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-1&watch=1&allowWatchBookmarks=true"
            "&resourceVersion=10&timeoutSeconds=300");
  EXPECT_EQ(test.headers(), "");
  EXPECT_EQ(test.bytes(event_line("MODIFIED", pod_json("a", "2Gi", "11"))), "~a");
  EXPECT_EQ(test.bytes(event_line("MODIFIED", pod_json("a", "2Gi", "12"))), "") << "no news";
  EXPECT_EQ(test.bytes(event_line("ADDED", pod_json("c", "", "13")) +
                       event_line("DELETED", pod_json("b", "", "14"))),
            "+c -b");
}

TEST(WatchMachine, AsksForTheRightForms) {
  std::vector<Effect> effects;
  WatchMachine machine("n", {}, [] { return 1.0; });
  machine.step(Instant{}, Started{}, effects);
  EXPECT_EQ(std::get<StartRequest>(effects.at(0)).accept,
            "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io");
  machine.step(Instant{}, ResponseHeaders{200, {}}, effects);
  machine.step(Instant{}, ResponseBytes{list_json({}, "1")}, effects);
  effects.clear();
  machine.step(Instant{}, ResponseEnd{}, effects);
  const auto& watch = std::get<StartRequest>(effects.at(0));
  EXPECT_EQ(watch.accept, "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io");
  EXPECT_TRUE(watch.target.ends_with("&timeoutSeconds=600")) << "by chance from 300 to 600";
}

TEST(WatchMachine, PagesAreOneList) {
  TestMachine test;
  test.start();
  EXPECT_EQ(test.answer(200, list_json({pod_json("a", "", "1")}, "10", "t/1")),
            "reachable list:t%2F1");
  EXPECT_EQ(test.answer(200, list_json({pod_json("b", "", "2")}, "10", "t2")), "list:t2");
  EXPECT_EQ(test.answer(200, list_json({pod_json("c", "", "3")}, "10")),
            "watch:10 +a +b +c !watching the annotations of 3 pods of node node-1");
}

// Section 5.2: lines are torn anywhere.
TEST(WatchMachine, LinesMayComeByteByByte) {
  TestMachine test;
  test.reach_watch();
  std::string words;
  for (const char byte : event_line("ADDED", pod_json("a", "1", "11")) + bookmark_line("20"))
    words += test.bytes({&byte, 1});
  EXPECT_EQ(words, "+a");
  EXPECT_EQ(test.end(), "cancel watch:20");
}

// Section 5.2: the version of every event and every bookmark counts, and is opaque.
TEST(WatchMachine, AWatchGoesOnWhereItEnded) {
  TestMachine test;
  test.reach_watch();
  test.now += Duration::from_s(301);
  test.bytes(event_line("ADDED", pod_json("a", "", "x9")));
  EXPECT_EQ(test.end(), "cancel watch:x9") << "at once, and without a list";
  test.headers();
  test.bytes(bookmark_line("x10"));
  test.now += Duration::from_s(301);
  EXPECT_EQ(test.end(), "cancel watch:x10");
  EXPECT_EQ(test.machine.health().count(Reason::closed), 2U);
  EXPECT_TRUE(test.machine.health().is_reachable);
}

TEST(WatchMachine, AServerThatEndsEachWatchAtOnceIsNotAskedInALoop) {
  TestMachine test;
  test.reach_watch();
  int at_once = 0;
  while (test.end() == "cancel watch:10") {
    ASSERT_LT(++at_once, 10);
    test.headers();
    test.bytes(bookmark_line("10"));
  }
  EXPECT_EQ(at_once, 3);
  EXPECT_EQ(test.until_deadline(), Duration::from_ms(800));
  EXPECT_TRUE(test.machine.health().is_reachable) << "nothing is wrong with it";
  EXPECT_EQ(test.pass(Duration::from_ms(800)), "watch:10");
  test.headers();
  EXPECT_EQ(test.end(), "cancel");
  EXPECT_EQ(test.until_deadline(), Duration::from_ms(1600));
  test.pass(Duration::from_ms(1600));
  test.headers();
  test.now += Duration::from_s(10);
  EXPECT_EQ(test.end(), "cancel watch:10") << "a watch that held forgives the earlier ones";
}

// Section 5.1: 410 on a watch is a line in an answer of 200.
TEST(WatchMachine, ALostHistoryIsListedAgainAndCompared) {
  TestMachine test;
  test.start();
  test.answer(200, list_json({pod_json("a", "1", "1"), pod_json("b", "1", "1")}, "10"));
  test.headers();
  EXPECT_EQ(test.bytes(event_line("ERROR", status_json(410, "Expired")) + "not looked at\n"),
            "cancel list");
  EXPECT_EQ(test.answer(200, list_json({pod_json("c", "1", "1"), pod_json("b", "2", "1")}, "20")),
            "watch:20 -a +c ~b");
  EXPECT_EQ(test.machine.health().count(Reason::expired), 1U);
  EXPECT_TRUE(test.machine.health().is_reachable);
}

TEST(WatchMachine, ALostHistoryMayAlsoBeAStatus) {
  TestMachine test;
  test.reach_watch();
  test.end();
  EXPECT_EQ(test.refuse(410, "Gone"), "cancel list");
}

// Section 5.1: a paged list that took too long is 410 with a token of its own, which is for those
// who can live with a list of two moments.
TEST(WatchMachine, AListThatExpiresOnAPageBeginsAnew) {
  TestMachine test;
  test.start();
  test.answer(200, list_json({pod_json("gone", "", "1")}, "10", "t1"));
  EXPECT_EQ(test.refuse(410, "Expired"), "cancel list");
  EXPECT_EQ(test.answer(200, list_json({pod_json("a", "", "1")}, "20")),
            "watch:20 +a !watching the annotations of 1 pods of node node-1");
}

TEST(WatchMachine, AServerThatForgetsAtOnceIsNotAskedInALoop) {
  TestMachine test;
  test.reach_watch();
  int at_once = 0;
  while (test.bytes(event_line("ERROR", status_json(410, "Expired"))) == "cancel list") {
    ASSERT_LT(++at_once, 10);
    test.answer(200, list_json({}, "10"));
    test.headers();
  }
  EXPECT_EQ(at_once, 3);
  EXPECT_EQ(test.until_deadline(), Duration::from_ms(800));
  EXPECT_EQ(test.pass(Duration::from_s(1)), "list");
}

// Section 5.2: a slow list again, as a safety.
TEST(WatchMachine, ListsAgainNowAndThen) {
  WatchTiming timing;
  timing.watch_least = timing.watch_most = Duration::from_s(3600);
  TestMachine test(timing);
  test.chance = 0.5;
  test.start();
  test.answer(200, list_json({pod_json("a", "", "1")}, "10"));
  test.headers();
  EXPECT_EQ(test.until_deadline(), Duration::from_s(1200)) << "between 10 and 30 minutes";
  EXPECT_EQ(test.pass(Duration::from_s(1199)), "");
  EXPECT_EQ(test.pass(Duration::from_s(1)), "cancel list");
  EXPECT_EQ(test.answer(200, list_json({pod_json("b", "", "1")}, "20")), "watch:20 -a +b");
  test.headers();
  EXPECT_EQ(test.until_deadline(), Duration::from_s(1200));
}

// Section 5.1: a version of the future hangs in silence. Some servers end such a watch in time.
TEST(WatchMachine, AWatchInWhichNothingWasHeardIsFollowedByAList) {
  TestMachine test;
  test.reach_watch();
  test.now += Duration::from_s(300);
  EXPECT_EQ(test.end(), "cancel list");
  test.answer(200, list_json({}, "10"));
  test.headers();
  test.bytes(bookmark_line("11"));
  test.now += Duration::from_s(300);
  EXPECT_EQ(test.end(), "cancel watch:11") << "a bookmark is enough";
}

TEST(WatchMachine, WhatComesWhenNothingWasAskedIsIgnored) {
  TestMachine test;
  EXPECT_EQ(test.headers() + test.bytes("x") + test.end() + test.fail(Reason::cut), "");
  test.start();
  test.fail(Reason::connect);
  EXPECT_EQ(test.headers() + test.bytes("x") + test.end() + test.fail(Reason::cut), "");
  EXPECT_EQ(test.machine.health().count(Reason::cut), 0U);
}

TEST(WatchMachine, AnEmptyNodeIsWatchedToo) {
  TestMachine test;
  test.start();
  EXPECT_EQ(test.answer(200, R"({"metadata":{"resourceVersion":"10"},"items":null})"),
            std::string("reachable watch:10 ") + kWatching);
  EXPECT_TRUE(test.machine.health().has_listed);
}

}  // namespace
}  // namespace nvs::kube
