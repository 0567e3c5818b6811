// SPDX-License-Identifier: Apache-2.0
#include "daemon/control_socket.h"

#include <string>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>

#include "base/test_folder.h"
#include "daemon/test_admin.h"
#include "os/clock.h"
#include "os/unix_socket.h"

namespace nvs::daemon {
namespace {

// While it lives the process gets no descriptor more.
class NoMoreFiles {
 public:
  NoMoreFiles() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit none{0, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoMoreFiles() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }
  NoMoreFiles(const NoMoreFiles&) = delete;
  NoMoreFiles& operator=(const NoMoreFiles&) = delete;

 private:
  rlimit before_{};
};

bool has_answer(const UniqueFd& fd) {
  pollfd poll_fd{.fd = fd.get(), .events = POLLIN, .revents = 0};
  return ::poll(&poll_fd, 1, 0) == 1;
}

TEST(ControlSocketTest, WhereThereIsNoDescriptorItPausesAndTakesThemLater) {
  const TestFolder folder;
  const std::string path = folder.path("admin.sock");
  auto loop = os::EventLoop::create();
  ASSERT_TRUE(loop);
  FakeNode node;
  const auto self = identify_self();
  ASSERT_TRUE(self);
  ControlSocket socket(*loop, node, *self, Asker::administrator);
  auto listener = os::listen_unix(path, os::SocketKind::stream, 0600);
  ASSERT_TRUE(listener);
  ASSERT_TRUE(socket.listen(std::move(*listener)));
  const auto administrator = os::connect_unix(path, os::SocketKind::stream);
  ASSERT_TRUE(administrator);
  const std::string request = "{\"command\":\"status\"}\n";
  ASSERT_EQ(os::send(administrator->get(), request.data(), request.size()).bytes, request.size());
  {
    const NoMoreFiles limit;
    ASSERT_TRUE(loop->run_round(os::monotonic_now() + Duration::from_s(60)));
    ASSERT_TRUE(socket.next_deadline());
    const Instant again = *socket.next_deadline();
    EXPECT_GT(again, loop->now());
    // Nothing is reported before.
    ASSERT_TRUE(loop->run_round(again));
    EXPECT_GE(loop->now(), again);
    socket.on_deadline();
    EXPECT_FALSE(socket.next_deadline());
    ASSERT_TRUE(loop->run_round(os::monotonic_now() + Duration::from_s(60)));
    ASSERT_TRUE(socket.next_deadline()) << "as before";
  }
  while (!has_answer(*administrator)) {
    ASSERT_TRUE(loop->run_round(socket.next_deadline()));
    socket.on_deadline();
  }
}

}  // namespace
}  // namespace nvs::daemon
