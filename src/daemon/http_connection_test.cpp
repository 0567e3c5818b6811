// SPDX-License-Identifier: Apache-2.0
#include "daemon/http_connection.h"

#include <gtest/gtest.h>

#include "daemon/limits.h"

namespace nvs::daemon {
namespace {

HttpPage test_page(std::string_view path) {
  if (path != "/page") return {};
  return {"text/x-test", std::make_shared<const std::string>("hello\n")};
}

constexpr const char* kWhole =
    "HTTP/1.1 200 OK\r\nContent-Type: text/x-test\r\nContent-Length: 6\r\n"
    "Connection: close\r\n\r\nhello\n";

// All that is sent, in pieces of so many bytes at most.
std::string sent_by(HttpConnection& connection, std::size_t most = 1000) {
  std::string all;
  while (!connection.to_send().empty()) {
    const std::string_view piece = connection.to_send().substr(0, most);
    all += piece;
    connection.sent(piece.size());
  }
  return all;
}

std::string answer_to(std::string_view request) {
  HttpConnection connection;
  connection.received(test_page, request);
  return sent_by(connection);
}

std::string status_of(std::string_view request) {
  const std::string answer = answer_to(request);
  return answer.substr(0, answer.find("\r\n"));
}

TEST(HttpConnection, AnswersARequest) {
  EXPECT_EQ(answer_to("GET /page HTTP/1.1\r\nHost: a\r\nAccept: */*\r\n\r\n"), kWhole);
  EXPECT_EQ(answer_to("GET /page HTTP/1.0\r\n\r\n"), kWhole);
  EXPECT_EQ(answer_to("GET /page?name=a HTTP/1.1\r\nHost: a\r\n\r\n"), kWhole);
  EXPECT_EQ(answer_to("GET /page HTTP/1.1\nHost: a\n\n"), kWhole) << "lines of a person";
}

TEST(HttpConnection, AnswersOneThatComesByteByByteAndGoesSo) {
  const std::string request = "GET /page HTTP/1.1\r\nHost: a\r\n\r\n";
  HttpConnection connection;
  for (std::size_t i = 0; i < request.size(); ++i) {
    EXPECT_FALSE(connection.has_answer()) << i;
    EXPECT_TRUE(connection.to_send().empty()) << i;
    connection.received(test_page, request.substr(i, 1));
  }
  EXPECT_EQ(sent_by(connection, 1), kWhole);
}

TEST(HttpConnection, AnswersTheFirstOfSeveral) {
  EXPECT_EQ(answer_to("GET /page HTTP/1.1\r\n\r\nGET /nowhere HTTP/1.1\r\n\r\n"), kWhole);
  HttpConnection connection;
  connection.received(test_page, "GET /page HTTP/1.1\r\n\r\n");
  connection.received(test_page, "GET /nowhere HTTP/1.1\r\n\r\n");
  EXPECT_EQ(sent_by(connection), kWhole);
}

TEST(HttpConnection, TellsOfAPageWithoutIt) {
  const std::string whole = kWhole;
  EXPECT_EQ(answer_to("HEAD /page HTTP/1.1\r\n\r\n"), whole.substr(0, whole.size() - 6));
  EXPECT_EQ(status_of("HEAD /nowhere HTTP/1.1\r\n\r\n"), "HTTP/1.1 404 Not Found");
  EXPECT_TRUE(answer_to("HEAD /nowhere HTTP/1.1\r\n\r\n").ends_with("\r\n\r\n")) << "no body";
}

TEST(HttpConnection, RefusesWhatIsNotThereOrNotDone) {
  EXPECT_EQ(answer_to("GET /nowhere HTTP/1.1\r\n\r\n"),
            "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain; charset=utf-8\r\n"
            "Content-Length: 14\r\nConnection: close\r\n\r\n404 Not Found\n");
  const std::string post = answer_to("POST /page HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_TRUE(post.starts_with("HTTP/1.1 405 Method Not Allowed\r\n")) << post;
  EXPECT_NE(post.find("\r\nAllow: GET, HEAD\r\n"), std::string::npos) << post;
}

TEST(HttpConnection, RefusesWhatIsNoRequest) {
  for (const char* request :
       {"\r\n\r\n", "GET\r\n\r\n", "GET /page\r\n\r\n", "GET  /page HTTP/1.1\r\n\r\n",
        "GET /page HTTP/2.0\r\n\r\n", "GET page HTTP/1.1\r\n\r\n", "GET /page HTTP/1.1 \r\n\r\n",
        "GET /pa\tge HTTP/1.1\r\n\r\n", "\x16\x03\x01\x02\n\n", "GET /\xc3\xa4 HTTP/1.1\r\n\r\n",
        " /page HTTP/1.1\r\n\r\n"}) {
    EXPECT_EQ(status_of(request), "HTTP/1.1 400 Bad Request") << request;
  }
}

TEST(HttpConnection, HoldsNoMoreThanIsAllowed) {
  const std::string begin = "GET /page HTTP/1.1\r\nX: ";
  const std::string end = "\r\n\r\n";
  const std::string filler(kHttpRequestMax - begin.size() - end.size(), 'x');
  EXPECT_EQ(status_of(begin + filler + end), "HTTP/1.1 200 OK");
  EXPECT_EQ(status_of(begin + filler + "x" + end), "HTTP/1.1 431 Request Header Fields Too Large");
  HttpConnection slow;
  for (std::size_t i = 0; i + 1 < kHttpRequestMax; ++i) slow.received(test_page, "x");
  EXPECT_FALSE(slow.has_answer());
  slow.received(test_page, "x");
  EXPECT_TRUE(slow.to_send().starts_with("HTTP/1.1 431 "));
}

}  // namespace
}  // namespace nvs::daemon
