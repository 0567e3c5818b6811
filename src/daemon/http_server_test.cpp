// SPDX-License-Identifier: Apache-2.0
#include "daemon/http_server.h"

#include <cerrno>
#include <vector>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "daemon/limits.h"
#include "os/clock.h"
#include "os/tcp_socket.h"
#include "os/unix_socket.h"

namespace nvs::daemon {
namespace {

constexpr std::size_t kLargePage = std::size_t{1} << 20U;  // more than these sockets hold
constexpr int kSocketBytes = 16 << 10U;                    // less than the server sends at once

class HttpServerTest : public testing::Test {
 protected:
  void SetUp() override {
    auto listener = os::listen_tcp({"127.0.0.1", 0});
    ASSERT_TRUE(listener) << listener.error().message();
    port_ = os::local_port(listener->get());
    ::setsockopt(listener->get(), SOL_SOCKET, SO_SNDBUF, &kSocketBytes, sizeof kSocketBytes);
    ASSERT_TRUE(server_.listen(std::move(*listener)));
  }

  // One whose connection the kernel has taken; the server may not have yet.
  UniqueFd connect() {
    UniqueFd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return fd;
  }
  static void say(const UniqueFd& fd, std::string_view text) {
    EXPECT_EQ(os::send(fd.get(), text.data(), text.size()).bytes, text.size());
  }

  void round() { ASSERT_TRUE(loop_->run_round(os::monotonic_now() + Duration::from_ms(5))); }
  // Rounds until so many are connected.
  void until_count(std::size_t count) {
    while (server_.count() != count) round();
  }

  // All that comes until the end, and how it ends; the server's rounds go on meanwhile.
  std::string read_all(const UniqueFd& fd) {
    std::string all;
    std::vector<char> data(1U << 20U);
    while (true) {
      round();
      const ssize_t got = ::recv(fd.get(), data.data(), data.size(), MSG_DONTWAIT);
      if (got == 0) return all;
      if (got > 0) all.append(data.data(), static_cast<std::size_t>(got));
      if (got < 0 && errno != EAGAIN) return all + "<reset>";
    }
  }
  bool has_ended(const UniqueFd& fd) {
    char byte = 0;
    return os::receive_bytes(fd.get(), &byte, 1).outcome == os::Transfer::closed;
  }

  Result<os::EventLoop> loop_ = os::EventLoop::create();
  std::shared_ptr<const std::string> large_ = std::make_shared<const std::string>(kLargePage, 'x');
  HttpServer server_{*loop_, [this](std::string_view path) {
                       if (path == "/large") return HttpPage{"text/plain", large_};
                       return HttpPage{"text/plain", std::make_shared<const std::string>("ok\n")};
                     }};
  std::uint16_t port_ = 0;
};

TEST_F(HttpServerTest, AnswersAndEnds) {
  const UniqueFd client = connect();
  say(client, "GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(read_all(client).ends_with("\r\n\r\nok\n"));
  EXPECT_EQ(server_.count(), 1U) << "until the other side has ended too";
  os::end_output(client.get());
  until_count(0);
  EXPECT_FALSE(server_.next_deadline());
}

TEST_F(HttpServerTest, AnotherCanHaveThePortOnceItIsStopped) {
  const UniqueFd client = connect();
  until_count(1);
  EXPECT_FALSE(os::listen_tcp({"127.0.0.1", port_}));
  server_.stop();
  EXPECT_TRUE(os::listen_tcp({"127.0.0.1", port_}));
  EXPECT_TRUE(has_ended(client));
  EXPECT_FALSE(server_.next_deadline());
}

TEST_F(HttpServerTest, AnswersWhoSaysAtOnceThatNothingMoreComes) {
  const UniqueFd client = connect();
  say(client, "GET / HTTP/1.1\r\n\r\n");
  os::end_output(client.get());
  EXPECT_TRUE(read_all(client).ends_with("\r\n\r\nok\n"));
  until_count(0);
}

TEST_F(HttpServerTest, SendsWhatDoesNotFitIntoASocket) {
  const UniqueFd client = connect();
  say(client, "GET /large HTTP/1.1\r\n\r\n");
  const std::string answer = read_all(client);
  EXPECT_EQ(answer.substr(answer.find("\r\n\r\n") + 4), *large_);
}

TEST_F(HttpServerTest, AnswersWhoStillTalks) {
  const UniqueFd client = connect();
  say(client, "POST / HTTP/1.1\r\n\r\n" + std::string(20'000, 'x'));
  const std::string answer = read_all(client);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 405 ")) << answer;
  EXPECT_FALSE(answer.ends_with("<reset>")) << "which may take the answer with it";
}

TEST_F(HttpServerTest, DropsWhoTalksOnAndOn) {
  const UniqueFd client = connect();
  say(client, "POST / HTTP/1.1\r\n\r\n");
  until_count(1);
  const std::string piece(4096, 'x');
  for (std::size_t said = 0; server_.count() > 0; said += piece.size()) {
    ASSERT_LE(said, 2 * kHttpIgnoredMax);
    os::send(client.get(), piece.data(), piece.size());
    round();
  }
}

TEST_F(HttpServerTest, GivesUpWhoNeverAsksNorReads) {
  const UniqueFd silent = connect();
  until_count(1);
  const Instant first = *server_.next_deadline();
  EXPECT_LE(first - loop_->now(), kHttpWait);
  say(silent, "GET / HT");
  round();
  EXPECT_EQ(*server_.next_deadline(), first) << "talking slowly gains no time";
  server_.on_deadline(first - Duration::from_ns(1));
  EXPECT_EQ(server_.count(), 1U);
  server_.on_deadline(first);
  EXPECT_EQ(server_.count(), 0U);

  const UniqueFd greedy = connect();
  say(greedy, "GET /large HTTP/1.1\r\n\r\n");
  until_count(1);
  while (large_.use_count() < 2) round();
  server_.on_deadline(*server_.next_deadline());
  EXPECT_EQ(server_.count(), 0U);
  EXPECT_EQ(large_.use_count(), 1) << "nothing is kept for it";
}

TEST_F(HttpServerTest, KeepsFewAndTheSlowDoNotKeepOthersOut) {
  std::vector<UniqueFd> slow;
  for (int i = 0; i < 100; ++i) {
    slow.push_back(connect());
    say(slow.back(), "GET /");
  }
  const UniqueFd client = connect();
  say(client, "GET / HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(read_all(client).ends_with("\r\n\r\nok\n"));
  EXPECT_EQ(server_.count(), kHttpConnectionsMax);
  EXPECT_TRUE(has_ended(slow.front())) << "the oldest have gone";
  EXPECT_FALSE(has_ended(slow.back()));
}

TEST_F(HttpServerTest, ForgetsWhoLeavesInTheMiddle) {
  for (const char* said : {"", "GET /", "GET /large HTTP/1.1\r\n\r\n"}) {
    UniqueFd client = connect();
    say(client, said);
    until_count(1);
    round();
    client.reset();
    until_count(0);
  }
}

}  // namespace
}  // namespace nvs::daemon
