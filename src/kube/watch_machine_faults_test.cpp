// SPDX-License-Identifier: Apache-2.0
// The conduct of a machine whose server refuses, is silent, dies or talks nonsense.
#include <gtest/gtest.h>

#include "kube/limits.h"
#include "kube/test_machine.h"
#include "kube/watch_machine.h"

namespace nvs::kube {
namespace {

constexpr auto kMs = [](int ms) { return Duration::from_ms(ms); };

// Section 5.2: the token is read anew for each request, so once more is with a new one.
TEST(WatchMachineFaults, ATokenThatIsTooOldIsReadOnceMore) {
  TestMachine test;
  test.start();
  EXPECT_EQ(test.refuse(401, "Unauthorized"), "cancel list");
  EXPECT_EQ(test.refuse(401, "Unauthorized"), "cancel !the API server answers 401: because")
      << "then it waits";
  EXPECT_EQ(test.until_deadline(), kMs(800));
  EXPECT_EQ(test.pass(kMs(800)), "list");
  EXPECT_EQ(test.refuse(401, "Unauthorized"), "cancel") << "said before";
  EXPECT_EQ(test.until_deadline(), kMs(1600));
  test.pass(kMs(1600));
  EXPECT_EQ(test.headers(), "!the API server answers again reachable");
  EXPECT_EQ(test.machine.health().count(Reason::unauthorized), 3U);
  test.bytes(list_json({}, "10"));
  test.end();
  EXPECT_EQ(test.refuse(401, "Unauthorized"), "cancel watch:10") << "a new chance after success";
}

// Section 5.1.
TEST(WatchMachineFaults, AMissingRightIsNamed) {
  TestMachine test;
  test.start();
  EXPECT_EQ(test.refuse(403, "Forbidden", "pods is forbidden"),
            "cancel !the service account may not list and watch pods; it needs a ClusterRole with "
            "pods: [list, watch]; the API server answers 403: pods is forbidden");
  EXPECT_EQ(test.pass(kMs(800)), "list");
  EXPECT_EQ(test.machine.health().count(Reason::forbidden), 1U);
}

TEST(WatchMachineFaults, ARightToWatchMayBeMissingAlone) {
  TestMachine test;
  test.start();
  test.answer(200, list_json({}, "10"));
  EXPECT_TRUE(test.refuse(403, "Forbidden").starts_with("cancel !the service account"));
  EXPECT_FALSE(test.machine.health().is_reachable);
  EXPECT_EQ(test.pass(kMs(800)), "watch:10") << "what was listed is not listed again";
}

// Section 5.2: 429 with Retry-After, and 503 likewise.
TEST(WatchMachineFaults, AServerThatNamesATimeIsLeftAloneUntilThen) {
  for (const int status : {429, 503, 500}) {
    TestMachine test;
    test.start();
    test.headers(status, Duration::from_s(7));
    test.end();
    EXPECT_EQ(test.until_deadline(), kMs(7800)) << status;
    EXPECT_EQ(test.pass(kMs(7799)), "");
    EXPECT_EQ(test.pass(kMs(1)), "list");
  }
}

TEST(WatchMachineFaults, ATimeMayBeNamedInTheBodyAndIsNotBelievedForEver) {
  TestMachine test;
  test.reach_watch();
  test.bytes(event_line("ERROR", R"({"code":429,"details":{"retryAfterSeconds":7}})"));
  EXPECT_EQ(test.until_deadline(), kMs(7800));
  EXPECT_EQ(test.pass(kMs(7800)), "watch:10") << "its place in the history is still good";
  test.headers(503, Duration::from_s(1'000'000));
  test.end();
  EXPECT_EQ(test.until_deadline(), Duration::from_s(300) + kMs(1600));
}

// Section 5.2: 0.8 s to 30 s, with chance; forgiven after a good watch, and only then.
TEST(WatchMachineFaults, EachFailureWaitsLonger) {
  TestMachine test;
  test.start();
  for (const int ms : {800, 1600, 3200, 6400, 12'800, 15'000, 15'000}) {
    test.chance = 0;
    EXPECT_EQ(test.fail(Reason::connect), ms == 800 ? "cancel !no luck" : "cancel");
    EXPECT_EQ(test.until_deadline(), kMs(ms));
    EXPECT_EQ(test.pass(kMs(ms)), "list");
  }
  test.chance = 1;
  test.fail(Reason::connect);
  EXPECT_EQ(test.until_deadline(), Duration::from_s(30));
  test.pass(Duration::from_s(30));
  test.answer(200, list_json({}, "10"));
  test.headers();
  test.chance = 0;
  test.now += kMs(9'999);
  test.fail(Reason::cut);
  EXPECT_EQ(test.until_deadline(), kMs(15'000)) << "that was no good watch yet";
  test.pass(kMs(15'000));
  test.headers();
  test.now += kMs(10'000);
  test.fail(Reason::cut);
  EXPECT_EQ(test.until_deadline(), kMs(800));
}

TEST(WatchMachineFaults, ABrokenWatchGoesOnWhereItWas) {
  TestMachine test;
  test.reach_watch();
  test.bytes(event_line("ADDED", pod_json("a", "", "11")) + R"({"type":"ADD)");
  EXPECT_EQ(test.fail(Reason::cut), "cancel !no luck unreachable");
  EXPECT_EQ(test.pass(kMs(800)), "watch:11");
  test.headers();
  EXPECT_EQ(test.bytes(event_line("ADDED", pod_json("b", "", "12"))), "+b")
      << "half a line of the old watch is forgotten";
}

TEST(WatchMachineFaults, AWatchThatEndsInTheMiddleOfALineWasBroken) {
  TestMachine test;
  test.reach_watch();
  test.bytes(R"({"type":)");
  EXPECT_EQ(test.end(), "cancel !a watch ended in the middle of a line unreachable");
  EXPECT_EQ(test.pass(kMs(800)), "watch:10");
  EXPECT_EQ(test.machine.health().count(Reason::cut), 1U);
}

// libcurl takes a connection that ends between two headers for an answer that ends.
TEST(WatchMachineFaults, AnAnswerWithoutAStatusWasBroken) {
  TestMachine test;
  test.start();
  EXPECT_EQ(test.end(), "cancel !an answer ended before it began");
  test.pass(kMs(800));
  EXPECT_EQ(test.answer(200, list_json({}, "10")).substr(0, 1), "!");
  EXPECT_EQ(test.end(), "cancel !an answer ended before it began unreachable");
  EXPECT_EQ(test.pass(kMs(1600)), "watch:10");
  EXPECT_EQ(test.machine.health().count(Reason::cut), 2U);
}

// Section 5.2: the CA is read anew when the server cannot be believed.
TEST(WatchMachineFaults, AnUnknownCertificateIsLookedAtWithTheCaOfNow) {
  TestMachine test;
  test.start();
  EXPECT_EQ(test.fail(Reason::tls), "ca list");
  EXPECT_EQ(test.fail(Reason::tls), "ca cancel !no luck") << "then it waits, and reads it again";
  test.pass(kMs(800));
  EXPECT_EQ(test.fail(Reason::tls), "ca cancel");
  EXPECT_EQ(test.machine.health().count(Reason::tls), 3U);
}

// Section 5.1: a server that hangs.
TEST(WatchMachineFaults, AListThatIsNeverAnsweredIsGivenUp) {
  TestMachine test;
  test.start();
  EXPECT_EQ(test.pass(Duration::from_s(59)), "");
  EXPECT_EQ(test.pass(Duration::from_s(1)), "cancel !the API server is silent");
  EXPECT_EQ(test.pass(kMs(800)), "list");
  test.headers();
  test.now += Duration::from_s(59);
  test.bytes("{");
  EXPECT_EQ(test.pass(Duration::from_s(59)), "") << "something came";
  EXPECT_TRUE(test.pass(Duration::from_s(1)).starts_with("cancel"));
  EXPECT_EQ(test.machine.health().count(Reason::timeout), 2U);
}

TEST(WatchMachineFaults, AListThatTricklesIsGivenUpInTheEnd) {
  TestMachine test;
  test.start();
  test.headers();
  std::string words;
  for (int i = 0; i < 11 && words.empty(); ++i) {
    words = test.pass(Duration::from_s(30));
    if (words.empty()) test.bytes(" ");
  }
  EXPECT_TRUE(words.starts_with("cancel")) << words;
}

TEST(WatchMachineFaults, AWatchThatIsNeverAnsweredIsGivenUp) {
  TestMachine test;
  test.start();
  test.answer(200, list_json({}, "10"));
  EXPECT_EQ(test.pass(Duration::from_s(60)), "cancel !the API server is silent unreachable");
  EXPECT_EQ(test.pass(kMs(800)), "list") << "it may wait for a version that never comes";
}

TEST(WatchMachineFaults, AWatchMayBeQuietUntilItsEndIsOverdue) {
  TestMachine test;
  test.reach_watch();
  EXPECT_EQ(test.pass(Duration::from_s(329)), "");
  EXPECT_EQ(test.pass(Duration::from_s(1)), "cancel !the API server is silent unreachable");
  EXPECT_EQ(test.pass(kMs(800)), "list");
}

TEST(WatchMachineFaults, OtherErrorsInAWatchAreFollowedByAList) {
  for (const int code : {0, 400, 500, 504}) {
    TestMachine test;
    test.reach_watch();
    EXPECT_TRUE(test.bytes(event_line("ERROR", status_json(code, "Weird"))).starts_with("cancel"));
    EXPECT_EQ(test.pass(kMs(800)), "list") << code;
    EXPECT_EQ(test.machine.health().count(Reason::refused), 1U);
  }
}

TEST(WatchMachineFaults, StrangeStatusesAreSaidAndTriedAgain) {
  for (const int status : {204, 302, 400, 404, 406, 504}) {
    TestMachine test;
    test.start();
    EXPECT_EQ(test.answer(status, "<html>proxy</html>"),
              "cancel !the API server answers " + std::to_string(status) + ": <html>proxy</html>");
    EXPECT_EQ(test.pass(kMs(800)), "list");
  }
}

TEST(WatchMachineFaults, NonsenseInAWatchIsFollowedByAList) {
  TestMachine test;
  test.reach_watch();
  EXPECT_EQ(test.bytes("<html>\n" + event_line("ADDED", pod_json("a", "", "1"))),
            "cancel !a watch's line is not understood: it is not a JSON object unreachable");
  EXPECT_EQ(test.pass(kMs(800)), "list");
  EXPECT_EQ(test.machine.health().count(Reason::garbage), 1U);
}

TEST(WatchMachineFaults, ALineThatNeverEndsIsFollowedByAList) {
  TestMachine test;
  test.reach_watch();
  const std::string piece(1U << 20U, 'x');
  std::string words;
  for (std::size_t i = 0; i < kLineBytesMax / piece.size() && words.empty(); ++i)
    words = test.bytes(piece);
  EXPECT_EQ(words, "");
  EXPECT_EQ(test.bytes("x"), "cancel !a watch's line is too long unreachable");
  EXPECT_EQ(test.pass(kMs(800)), "list");
}

TEST(WatchMachineFaults, NonsenseInAListLeavesWhatIsKnown) {
  TestMachine test;
  test.start();
  test.answer(200, list_json({pod_json("a", "", "1")}, "10"));
  test.headers();
  test.bytes(event_line("ERROR", status_json(410, "Expired")));
  EXPECT_TRUE(test.answer(200, "[]").starts_with("cancel !a list of pods is not understood"));
  test.pass(kMs(800));
  EXPECT_EQ(test.answer(200, list_json({pod_json("a", "", "1")}, "20")),
            "!the API server answers again reachable watch:20");
}

TEST(WatchMachineFaults, AListThatIsTooLongIsAskedForInSmallerPages) {
  TestMachine test;
  test.start();
  const std::string piece(1U << 20U, ' ');
  for (const char* limit : {"&limit=500", "&limit=50", "&limit=5", "&limit=5"}) {
    EXPECT_TRUE(test.target().ends_with(limit)) << test.target();
    test.headers();
    for (std::size_t i = 0; i < kPageBytesMax / piece.size(); ++i) EXPECT_EQ(test.bytes(piece), "");
    EXPECT_TRUE(test.bytes("x").starts_with("cancel"));
    test.pass(Duration::from_s(30));
  }
}

TEST(WatchMachineFaults, AListThatNeverEndsIsGivenUp) {
  TestMachine test;
  test.start();
  int pages = 0;
  while (test.answer(200, list_json({}, "1", "more")).find("list:more") != std::string::npos)
    ASSERT_LT(++pages, 10'000);
  EXPECT_EQ(pages, kPagesMax - 1);
  EXPECT_EQ(test.machine.health().count(Reason::garbage), 1U);
}

TEST(WatchMachineFaults, HealthSaysSinceWhenAndWhy) {
  TestMachine test;
  test.start();
  EXPECT_FALSE(test.machine.health().is_reachable);
  EXPECT_EQ(test.machine.health().since, test.now);
  test.now += kMs(10);
  const Instant reached = test.now;
  test.headers();
  test.now += kMs(10);
  EXPECT_TRUE(test.machine.health().is_reachable);
  EXPECT_EQ(test.machine.health().since, reached);
  EXPECT_FALSE(test.machine.health().has_listed);
  test.fail(Reason::cut);
  EXPECT_EQ(test.machine.health().since, test.now);
  EXPECT_EQ(test.machine.health().last_error, "no luck");
}

TEST(WatchMachineFaults, NoTokenIsWaitedFor) {
  TestMachine test;
  test.start();
  EXPECT_EQ(test.fail(Reason::credentials), "cancel !no luck");
  EXPECT_EQ(test.pass(kMs(800)), "list");
}

TEST(WatchMachineFaults, ReasonsHaveWords) {
  EXPECT_EQ(reason_word(Reason::closed), "closed");
  EXPECT_EQ(reason_word(Reason::garbage), "garbage");
  EXPECT_EQ(reason_word(Reason::last), "credentials");
}

}  // namespace
}  // namespace nvs::kube
