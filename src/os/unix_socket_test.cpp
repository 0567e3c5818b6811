// SPDX-License-Identifier: Apache-2.0
#include "os/unix_socket.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace nvs::os {
namespace {

class UnixSocketTest : public ::testing::Test {
 protected:
  void TearDown() override { ::unlink(path_.c_str()); }

  std::string path_ =
      ::testing::TempDir() + "nvshare_socket_test_" + std::to_string(::getpid()) + ".sock";
  char buffer_[16] = {};
};

TEST_F(UnixSocketTest, PacketsKeepTheirEdges) {
  const UniqueFd listener = *listen_unix(path_, SocketKind::packets, 0600);
  EXPECT_EQ(accept_unix(listener.get()).error().sys, EAGAIN);
  const UniqueFd client = *connect_unix(path_, SocketKind::packets);
  const UniqueFd server = *accept_unix(listener.get());
  EXPECT_EQ(peer_pid(server.get()), ::getpid());
  EXPECT_EQ(receive_packet(server.get(), buffer_, 4).outcome, Transfer::not_now);
  EXPECT_EQ(send(client.get(), "abc", 3).outcome, Transfer::done);
  EXPECT_EQ(send(client.get(), "defghi", 6).outcome, Transfer::done);
  EXPECT_EQ(receive_packet(server.get(), buffer_, 4).bytes, 3U);
  EXPECT_EQ(receive_packet(server.get(), buffer_, 4).bytes, 6U) << "its length, though cut";
  EXPECT_EQ(std::string(buffer_, 4), "defg");
}

std::ptrdiff_t open_files() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return std::distance(begin(files), end(files));
}

TEST_F(UnixSocketTest, DescriptorsGoWithTheirPacket) {
  const SocketPair pair = *make_pair(SocketKind::packets);
  std::ofstream(path_) << "precious";
  UniqueFd file{::open(path_.c_str(), O_RDONLY)};
  ASSERT_EQ(send_with_file(pair.a.get(), "abc", 3, file.get()).outcome, Transfer::done);
  ASSERT_EQ(send(pair.a.get(), "defghi", 6).outcome, Transfer::done);
  file.reset();
  ASSERT_EQ(receive_with_file(pair.b.get(), buffer_, 4, file).bytes, 3U);
  ASSERT_TRUE(file);
  EXPECT_EQ(::fcntl(file.get(), F_GETFD), FD_CLOEXEC);
  ASSERT_EQ(::read(file.get(), buffer_, 8), 8);
  EXPECT_EQ(std::string(buffer_, 8), "precious");
  EXPECT_EQ(receive_with_file(pair.b.get(), buffer_, 4, file).bytes, 6U)
      << "its length, though cut";
  EXPECT_FALSE(file) << "this one came without";
  EXPECT_EQ(receive_with_file(pair.b.get(), buffer_, 4, file).outcome, Transfer::not_now);
  EXPECT_EQ(send_with_file(pair.a.get(), "x", 1, -1).outcome, Transfer::closed);
}

// A packet with several descriptors, as only a hostile client sends it.
void send_three(int fd) {
  constexpr std::size_t kSize = 3 * sizeof(int);
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kSize)> control{};
  char byte = 'x';
  iovec part{&byte, 1};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(kSize);
  const int files[] = {fd, fd, fd};
  std::memcpy(CMSG_DATA(head), files, kSize);
  ASSERT_EQ(::sendmsg(fd, &message, 0), 1);
}

TEST_F(UnixSocketTest, DescriptorsThatNobodyAskedForDoNotStay) {
  const SocketPair pair = *make_pair(SocketKind::packets);
  const std::ptrdiff_t before = open_files();
  for (int i = 0; i < 3; ++i) send_three(pair.a.get());
  EXPECT_EQ(receive_packet(pair.b.get(), buffer_, 4).bytes, 1U);
  EXPECT_EQ(receive_bytes(pair.b.get(), buffer_, 4).bytes, 1U);
  EXPECT_EQ(open_files(), before);
  UniqueFd file;
  EXPECT_EQ(receive_with_file(pair.b.get(), buffer_, 4, file).bytes, 1U);
  EXPECT_TRUE(file);
  EXPECT_EQ(open_files(), before + 1);
}

TEST_F(UnixSocketTest, APacketIsLookedAtBeforeItIsTaken) {
  const SocketPair pair = *make_pair(SocketKind::packets);
  ASSERT_EQ(send_with_file(pair.a.get(), "abc", 3, pair.a.get()).outcome, Transfer::done);
  ASSERT_EQ(send(pair.a.get(), "de", 2).outcome, Transfer::done);
  send_three(pair.a.get());
  const std::ptrdiff_t before = open_files();
  bool brings_files = false;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(peek_packet(pair.b.get(), buffer_, 2, brings_files).bytes, 3U)
        << "its length, though cut";
    EXPECT_TRUE(brings_files);
    EXPECT_EQ(open_files(), before);
    const FirstFiles one = peek_files(pair.b.get());
    EXPECT_TRUE(one[0]);
    EXPECT_FALSE(one[1]);
    EXPECT_EQ(open_files(), before + 1);
  }
  drop_packet(pair.b.get());
  EXPECT_EQ(peek_packet(pair.b.get(), buffer_, 4, brings_files).bytes, 2U);
  EXPECT_EQ(std::string(buffer_, 2), "de");
  EXPECT_FALSE(brings_files);
  EXPECT_FALSE(peek_files(pair.b.get())[0]);
  drop_packet(pair.b.get());
  EXPECT_EQ(peek_packet(pair.b.get(), buffer_, 4, brings_files).bytes, 1U);
  EXPECT_TRUE(brings_files);
  const FirstFiles three = peek_files(pair.b.get());
  EXPECT_TRUE(three[0]);
  EXPECT_TRUE(three[1]);
  EXPECT_EQ(open_files(), before + 2);
  drop_packet(pair.b.get());
  EXPECT_EQ(peek_packet(pair.b.get(), buffer_, 4, brings_files).outcome, Transfer::not_now);
  EXPECT_FALSE(peek_files(pair.b.get())[0]);
}

TEST_F(UnixSocketTest, TheEndOfAConnectionIsNotAPacket) {
  for (const SocketKind kind : {SocketKind::packets, SocketKind::stream}) {
    SocketPair pair = *make_pair(kind);
    pair.b.reset();
    const auto receive = kind == SocketKind::packets ? receive_packet : receive_bytes;
    EXPECT_EQ(receive(pair.a.get(), buffer_, 4).outcome, Transfer::closed);
    UniqueFd file;
    EXPECT_EQ(receive_with_file(pair.a.get(), buffer_, 4, file).outcome, Transfer::closed);
    bool brings_files = false;
    EXPECT_EQ(peek_packet(pair.a.get(), buffer_, 4, brings_files).outcome, Transfer::closed);
    EXPECT_EQ(send(pair.a.get(), "x", 1).outcome, Transfer::closed);
  }
}

TEST_F(UnixSocketTest, StreamsFlow) {
  const SocketPair pair = *make_pair(SocketKind::stream);
  EXPECT_EQ(send(pair.a.get(), "abcdef", 6).bytes, 6U);
  EXPECT_EQ(receive_bytes(pair.b.get(), buffer_, 4).bytes, 4U);
  EXPECT_EQ(receive_bytes(pair.b.get(), buffer_, 4).bytes, 2U);
  EXPECT_EQ(receive_bytes(pair.b.get(), buffer_, 4).outcome, Transfer::not_now);
}

TEST_F(UnixSocketTest, AFullSocketDoesNotWait) {
  const SocketPair pair = *make_pair(SocketKind::packets);
  int sent = 0;
  while (send(pair.a.get(), buffer_, sizeof buffer_).outcome == Transfer::done) ++sent;
  EXPECT_EQ(send(pair.a.get(), buffer_, sizeof buffer_).outcome, Transfer::not_now);
  EXPECT_GT(sent, 0);
}

TEST_F(UnixSocketTest, PermissionsAreExactAndStaleSocketsAreReplaced) {
  for (const mode_t mode : {0600U, 0666U}) {
    ASSERT_TRUE(listen_unix(path_, SocketKind::packets, mode));
    struct stat status {};
    ASSERT_EQ(::stat(path_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, mode);
  }
  EXPECT_EQ(connect_unix(path_, SocketKind::packets).error().sys, ECONNREFUSED);
}

TEST_F(UnixSocketTest, AFileInTheWayIsNotTouched) {
  std::ofstream(path_) << "precious";
  EXPECT_EQ(listen_unix(path_, SocketKind::stream, 0600).error().sys, EEXIST);
  std::string text;
  std::ifstream(path_) >> text;
  EXPECT_EQ(text, "precious");
}

TEST_F(UnixSocketTest, LongPathsAreRefusedAndTheLongestWorks) {
  const std::string folder = "/tmp/";
  const std::string longest =
      folder + std::string(kSocketPathMax - folder.size(), static_cast<char>('a' + getpid() % 26));
  EXPECT_TRUE(listen_unix(longest, SocketKind::stream, 0600));
  ::unlink(longest.c_str());
  EXPECT_EQ(listen_unix(longest + "x", SocketKind::stream, 0600).error().sys, ENAMETOOLONG);
  EXPECT_EQ(connect_unix(longest + "x", SocketKind::stream).error().sys, ENAMETOOLONG);
  EXPECT_EQ(connect_unix(path_, SocketKind::stream).error().sys, ENOENT);
}

}  // namespace
}  // namespace nvs::os
