// SPDX-License-Identifier: Apache-2.0
#include "interposer/debug/log.h"

#include <filesystem>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "interposer/debug/test_child.h"
#include "interposer/memory/books.h"
#include "interposer/memory/report.h"

namespace nvs::interposer::debug {
namespace {

using std::to_string;

constexpr memory::Owner kContext{memory::OwnerType::context, 0xabc};

class LogTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static std::string hello(int pid, const std::string& file) {
    return "nvshare: " NVS_VERSION ", pid " + to_string(pid) + ", debug log in " + file + "\n";
  }
  static std::string header(int pid) {
    const std::string begin = to_string(pid) + " ";
    return begin + "nvshare " NVS_VERSION "\n" + begin + "program interposer_debu\n";
  }
  static std::string farewell(int pid, const std::string& what, const std::string& file) {
    return "nvshare: pid " + to_string(pid) + ", peak " + what + ", details in " + file + "\n";
  }

  std::string folder_ = make_folder();
  std::string file_ = folder_ + "/log";
};

void allocate(std::uint64_t id, std::uint64_t bytes) {
  memory::books().allocated({.id = id, .bytes = bytes, .owner = kContext}, 0);
}

TEST_F(LogTest, WithoutAStartThereIsNothingToSee) {
  const ChildResult child = run_in_child([] {
    allocate(0x100, 10);
    note_unknown_name("cuNever");
  });
  EXPECT_EQ(child.status, 0);
  EXPECT_EQ(child.errors, "");
  EXPECT_FALSE(std::filesystem::exists("/tmp/nvshare-" + to_string(child.pid) + ".log"));
}

TEST_F(LogTest, OneLineAtTheStartAndOneAtTheEnd) {
  const ChildResult child = run_in_child([this] {
    start(file_.c_str());
    allocate(0x100, 3U << 20U);
    memory::books().take(memory::Space::address, 0x100);
    allocate(0x100, 1U << 19U);
  });
  EXPECT_EQ(child.status, 0);
  EXPECT_EQ(child.errors,
            hello(child.pid, file_) + farewell(child.pid, "3.0 MiB in 2 allocations", file_));
  const std::string begin = to_string(child.pid) + " ";
  const std::string text = read_whole(file_);
  EXPECT_EQ(text.find(header(child.pid) + begin + "at the end\n"), 0U) << text;
  EXPECT_NE(text.find("bytes_now       bytes_peak    count_now  allocations\n"), std::string::npos);
  EXPECT_NE(text.find(begin + "process peak 3145728 bytes, 2 allocations\n"), std::string::npos);
  EXPECT_EQ(text.find("incomplete"), std::string::npos);
}

TEST_F(LogTest, PeaksAreRoundedToATenth) {
  const ChildResult child = run_in_child([this] {
    start(file_.c_str());
    allocate(0x100, (10U << 20U) + (1U << 16U));
  });
  EXPECT_EQ(child.errors,
            hello(child.pid, file_) + farewell(child.pid, "10.1 MiB in 1 allocation", file_));
}

TEST_F(LogTest, ANamedFileIsAppendedTo) {
  const ChildResult first = run_in_child([this] { start(file_.c_str()); });
  const ChildResult second = run_in_child([this] { start(file_.c_str()); });
  const std::string text = read_whole(file_);
  EXPECT_EQ(text.find(header(first.pid)), 0U);
  EXPECT_NE(text.find(header(second.pid)), std::string::npos);
}

TEST_F(LogTest, ContextsAreLoggedWithTheirDeviceAndAtTheirEndWithTheirTable) {
  const ChildResult child = run_in_child([this] {
    start(file_.c_str());
    CUuuid uuid{};
    for (int i = 0; i < 16; ++i) uuid.bytes[i] = static_cast<char>(0xf0 + i);
    memory::report_context(0xabc, memory::RowUse::primary_context, 3, &uuid, "created");
    memory::report_context(0xdef, memory::RowUse::context, 0, nullptr, "created");
    memory::OwnerRow last;
    last.use = memory::RowUse::context;
    last.value = 0xdef;
    last.device = 0;
    memory::report_ended(last);
  });
  const std::string begin = to_string(child.pid) + " ";
  const std::string text = read_whole(file_);
  EXPECT_EQ(text.find(header(child.pid) + begin +
                      "primary context 0xabc of device 3 GPU-f0f1f2f3-f4f5-f6f7-f8f9-fafbfcfdfeff "
                      "created\n" +
                      begin + "context 0xdef of device 0 created\n" + begin +
                      "context 0xdef of device 0 ended\n" + begin),
            0U)
      << text;
  EXPECT_NE(text.find("context 0xdef              0      all"), std::string::npos) << text;
}

TEST_F(LogTest, EachUnknownNameIsLoggedOnce) {
  const ChildResult child = run_in_child([this] {
    start(file_.c_str());
    for (const char* name : {"cuNew", "cuOther", "cuNew", "cu\nOdd"}) note_unknown_name(name);
  });
  const std::string begin = to_string(child.pid) + " unknown name ";
  const std::string text = read_whole(file_);
  EXPECT_EQ(text.find(header(child.pid) + begin + "cuNew\n" + begin + "cuOther\n" + begin +
                      "cu?Odd\n" + to_string(child.pid) + " at the end"),
            0U)
      << text;
}

TEST_F(LogTest, TooManyUnknownNamesAreOneLine) {
  run_in_child([this] {
    start(file_.c_str());
    for (std::size_t i = 0; i < kUnknownNamesMax + 5; ++i) {
      note_unknown_name(("cuNew" + to_string(i)).c_str());
    }
  });
  const std::string text = read_whole(file_);
  EXPECT_NE(text.find("cuNew" + to_string(kUnknownNamesMax - 1) + "\n"), std::string::npos);
  EXPECT_EQ(text.find("cuNew" + to_string(kUnknownNamesMax) + "\n"), std::string::npos);
  const std::string more = "more unknown names, which are not shown\n";
  EXPECT_NE(text.find(more), std::string::npos);
  EXPECT_EQ(text.find(more), text.rfind(more));
}

TEST_F(LogTest, WithoutAFileTheProgramGoesOn) {
  const ChildResult child = run_in_child([this] {
    start((folder_ + "/none/log").c_str());
    note_unknown_name("cuNew");
    allocate(0x100, 10);
  });
  EXPECT_EQ(child.status, 0);
  EXPECT_EQ(child.errors, "nvshare: " NVS_VERSION ", pid " + to_string(child.pid) +
                              ", no debug log: " + folder_ + "/none/log: no such folder\n" +
                              "nvshare: pid " + to_string(child.pid) +
                              ", peak 0.0 MiB in 1 allocation, no details\n");
}

TEST_F(LogTest, AForkedChildIsSilent) {
  const ChildResult child = run_in_child([this] {
    start(file_.c_str());
    const pid_t grandchild = ::fork();
    if (grandchild == 0) {
      stop_in_child();
      note_unknown_name("cuOfTheChild");
      std::exit(0);
    }
    ::waitpid(grandchild, nullptr, 0);
  });
  EXPECT_EQ(child.errors,
            hello(child.pid, file_) + farewell(child.pid, "0.0 MiB in 0 allocations", file_));
  EXPECT_EQ(read_whole(file_).find("cuOfTheChild"), std::string::npos);
}

// vfork, clone and the like call nobody in the child.
TEST_F(LogTest, AChildThatNobodyToldOfItsForkIsSilentToo) {
  const ChildResult child = run_in_child([this] {
    start(file_.c_str());
    const pid_t grandchild = ::fork();
    if (grandchild == 0) {
      note_unknown_name("cuOfTheChild");
      std::exit(0);
    }
    ::waitpid(grandchild, nullptr, 0);
  });
  EXPECT_EQ(child.errors,
            hello(child.pid, file_) + farewell(child.pid, "0.0 MiB in 0 allocations", file_));
  EXPECT_EQ(read_whole(file_).find("cuOfTheChild"), std::string::npos);
}

TEST_F(LogTest, AFileThatTookTheNumberOfOursIsLeftAlone) {
  const std::string other = folder_ + "/other";
  const ChildResult child = run_in_child([&] {
    start(file_.c_str());
    const int fd = ::open(other.c_str(), O_WRONLY | O_CREAT, 0600);
    for (int number = 3; number < fd; ++number) ::dup2(fd, number);
    ::dup2(fd, STDERR_FILENO);
    note_unknown_name("cuNew");
  });
  EXPECT_EQ(child.status, 0);
  EXPECT_EQ(child.errors, hello(child.pid, file_));
  EXPECT_EQ(read_whole(other), "");
  EXPECT_EQ(read_whole(file_), header(child.pid));
}

TEST_F(LogTest, AStderrThatNobodyReadsEndsNobody) {
  const ChildResult child = run_in_child([this] {
    int ends[2];
    if (::pipe(ends) != 0) ::_exit(1);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    start(file_.c_str());
    note_unknown_name("cuNew");
  });
  EXPECT_EQ(child.status, 0);
  EXPECT_NE(read_whole(file_).find("cuNew"), std::string::npos);
}

}  // namespace
}  // namespace nvs::interposer::debug
