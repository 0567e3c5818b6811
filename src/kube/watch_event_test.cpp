// SPDX-License-Identifier: Apache-2.0
#include "kube/watch_event.h"

#include <gtest/gtest.h>

#include "kube/limits.h"

namespace nvs::kube {
namespace {

constexpr const char* kPodObject = R"({"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",
  "metadata":{"name":"trainer","namespace":"lab","uid":"u-1","resourceVersion":"123",
  "labels":{"nvshare.com/gpu-core-limit":"1"},"managedFields":[{"manager":"kubectl"}],
  "annotations":{"nvshare.com/gpu-memory-limit":"4Gi","nvshare.com.evil/x":"1","other":"x"}}})";

std::string line_with(std::string_view type, std::string_view object = kPodObject) {
  return R"({"type":")" + std::string(type) + R"(","object":)" + std::string(object) + "}";
}

std::string error_text_of(const Result<WatchEvent>& event) {
  return event ? "" : event.error().message();
}

TEST(WatchEvent, APodIsWhoItIsAndItsAnnotationsForUs) {
  const Result<WatchEvent> event = parse_watch_line(line_with("ADDED"));
  ASSERT_TRUE(event) << error_text_of(event);
  const auto& added = std::get<PodEvent>(*event);
  EXPECT_EQ(added.kind, PodEvent::Kind::added);
  EXPECT_EQ(added.resource_version, "123");
  EXPECT_EQ(added.pod, (Pod{"u-1", "lab", "trainer", {{"nvshare.com/gpu-memory-limit", "4Gi"}}}));
}

TEST(WatchEvent, APodFromAFileHasAnotherUidOnItsNode) {
  const auto static_uid = [](const std::string& annotation, const std::string& value) {
    const auto event = parse_watch_line(line_with(
        "ADDED", R"({"metadata":{"name":"n","uid":"u","resourceVersion":"1","annotations":{")" +
                     annotation + R"(":")" + value + R"("}}})"));
    return event ? std::get<PodEvent>(*event).pod.static_uid : error_text_of(event);
  };
  const std::string hash = "0123456789abcdef0123456789abcdef";
  EXPECT_EQ(static_uid("kubernetes.io/config.mirror", hash), hash);
  EXPECT_EQ(static_uid("kubernetes.io/config.hash", hash), "") << "whoever has the pod can set it";
  const std::string own = "0a1b2c3d-1111-2222-3333-444455556666";
  EXPECT_EQ(static_uid("kubernetes.io/config.mirror", own), own) << "one that the file gives";
  for (const std::string& other :
       {hash + "0", hash.substr(1), "G" + hash.substr(1), own + "0", own.substr(1),
        "G" + own.substr(1), "-" + own.substr(1), hash + "0000",
        std::string("0a1b2c3d11-11-2222-3333-444455556666"), std::string(),
        std::string("mirror")}) {
    EXPECT_EQ(static_uid("kubernetes.io/config.mirror", other), "") << other;
  }
}

TEST(WatchEvent, TheOtherTypes) {
  EXPECT_EQ(std::get<PodEvent>(*parse_watch_line(line_with("MODIFIED"))).kind,
            PodEvent::Kind::modified);
  EXPECT_EQ(std::get<PodEvent>(*parse_watch_line(line_with("DELETED"))).kind,
            PodEvent::Kind::deleted);
  const auto bookmark = parse_watch_line(
      line_with("BOOKMARK", R"({"kind":"Pod","metadata":{"resourceVersion":"99/x"}})"));
  ASSERT_TRUE(bookmark);
  EXPECT_EQ(std::get<Bookmark>(*bookmark).resource_version, "99/x");
}

// Section 5.1: a watch that is too old is answered with 200, and this line.
TEST(WatchEvent, AnErrorIsAStatus) {
  const auto event = parse_watch_line(line_with("ERROR", R"({"kind":"Status","status":"Failure",
      "message":"too old resource version: 1","reason":"Expired","code":410})"));
  ASSERT_TRUE(event);
  const auto& refusal = std::get<Refusal>(*event);
  EXPECT_EQ(refusal.code, 410);
  EXPECT_EQ(refusal.reason, "Expired");
  EXPECT_EQ(refusal.message, "too old resource version: 1");
  EXPECT_EQ(refusal.retry_after, std::nullopt);
}

TEST(WatchEvent, ARefusalMaySayWhenToComeBack) {
  const Refusal refusal = parse_refusal(R"({"code":429,"reason":"TooManyRequests",
      "message":"slow\ndown","details":{"retryAfterSeconds":7}})");
  EXPECT_EQ(refusal.code, 429);
  EXPECT_EQ(refusal.message, "slow down");
  EXPECT_EQ(refusal.retry_after, Duration::from_s(7));
}

TEST(WatchEvent, ARefusalOfSomebodyElseIsShown) {
  EXPECT_EQ(parse_refusal("<html>\n502 Bad\xff Gateway</html>\n").message,
            "<html> 502 Bad? Gateway</html>");
  EXPECT_EQ(parse_refusal("").message, "");
  EXPECT_EQ(parse_refusal("[1]").message, "[1]");
  EXPECT_EQ(parse_refusal(R"({"code":"x","message":5})").code, 0);
  EXPECT_LT(parse_refusal(std::string(100'000, 'x')).message.size(), kMessageBytesMax + 10);
}

TEST(WatchEvent, AListHasPodsAVersionAndPerhapsMore) {
  const auto page =
      parse_list_page(R"({"kind":"PartialObjectMetadataList","metadata":{"resourceVersion":"7",
      "continue":"abc==","remainingItemCount":3},"items":[)" +
                      std::string(kPodObject) + "]}");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->resource_version, "7");
  EXPECT_EQ(page->next, "abc==");
  ASSERT_EQ(page->pods.size(), 1U);
  EXPECT_EQ(page->pods[0].name, "trainer");

  const auto last = parse_list_page(R"({"metadata":{"resourceVersion":"7"},"items":null})");
  ASSERT_TRUE(last);
  EXPECT_TRUE(last->next.empty());
  EXPECT_TRUE(last->pods.empty());
}

TEST(WatchEvent, WhatIsNoEventIsAnError) {
  for (const std::string& line :
       {std::string(""), std::string("null"), std::string("[]"), std::string("{"),
        std::string("{}"), std::string("\xff\xfe"), std::string(1, '\0'), line_with("ADDED") + "x",
        line_with("ADDED", "null"), line_with("ADDED", "[]"), line_with("ADDED", "{}"),
        line_with("RENAMED"), line_with("BOOKMARK", R"({"metadata":{}})"),
        line_with("BOOKMARK", R"({"metadata":{"resourceVersion":5}})"),
        line_with("ADDED", R"({"metadata":{"resourceVersion":"1","name":"a"}})"),
        line_with("ADDED", R"({"metadata":{"resourceVersion":"1","uid":"a","name":7}})"),
        std::string(R"({"type":7,"object":{}})")}) {
    EXPECT_FALSE(parse_watch_line(line)) << line;
  }
}

TEST(WatchEvent, WhatIsNoListIsAnError) {
  for (const char* body :
       {"", "{}", "[]", R"({"items":[]})", R"({"metadata":{"resourceVersion":"1"},"items":{}})",
        R"({"metadata":{"resourceVersion":"1"},"items":[1]})",
        R"({"metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"x"}}]})",
        R"({"metadata":[],"items":[]})"}) {
    EXPECT_FALSE(parse_list_page(body)) << body;
  }
}

// Every beginning of a good line, and every line with one byte that is another.
TEST(WatchEvent, NoDamageDoesMoreThanAnError) {
  const std::string line = line_with("ADDED");
  for (std::size_t i = 0; i < line.size(); ++i) {
    EXPECT_FALSE(parse_watch_line(line.substr(0, i))) << i;
    for (const char byte : {'\0', '"', '\\', '{', ']', '\x80', '9'}) {
      std::string damaged = line;
      damaged[i] = byte;
      (void)parse_watch_line(damaged);
      (void)parse_list_page(damaged);
      (void)parse_refusal(damaged);
    }
  }
}

TEST(WatchEvent, DepthIsNoDanger) {
  const std::string deep(2'000'000, '[');
  EXPECT_FALSE(parse_watch_line(deep));
  const std::string closed =
      R"({"type":"ADDED","object":)" + deep + std::string(deep.size(), ']') + "}";
  EXPECT_FALSE(parse_watch_line(closed));
}

TEST(WatchEvent, AnnotationsOfStrangeKindsAreLeftOut) {
  const auto event = parse_watch_line(line_with("ADDED", R"({"metadata":{"resourceVersion":"1",
      "uid":"u","name":"n","annotations":{"nvshare.com/a":5,"nvshare.com/b":null,
      "nvshare.com/c":"x"}}})"));
  ASSERT_TRUE(event);
  EXPECT_EQ(std::get<PodEvent>(*event).pod.annotations.size(), 1U);
  EXPECT_TRUE(parse_watch_line(line_with("ADDED", R"({"metadata":{"resourceVersion":"1",
      "uid":"u","name":"n","annotations":"nvshare.com/"}})")));
}

TEST(WatchEvent, WhatAPodCanMakeUsKeepIsBounded) {
  std::string annotations = R"("nvshare.com/0":"x)";
  for (std::size_t i = 0; i < kAnnotationBytesMax; ++i) annotations += "\xc3\xa9";
  annotations += '"';
  for (int i = 1; i < 100; ++i) annotations += ",\"nvshare.com/" + std::to_string(i) + "\":\"v\"";
  const auto event = parse_watch_line(line_with(
      "ADDED", R"({"metadata":{"resourceVersion":"1","uid":"u","name":"n","annotations":{)" +
                   annotations + "}}}"));
  ASSERT_TRUE(event);
  const Pod& pod = std::get<PodEvent>(*event).pod;
  EXPECT_EQ(pod.annotations.size(), kAnnotationsMax);
  const std::string& kept = pod.annotations.at("nvshare.com/0");
  EXPECT_EQ(kept.size(), kAnnotationBytesMax - 1) << "not half a character";
}

}  // namespace
}  // namespace nvs::kube
