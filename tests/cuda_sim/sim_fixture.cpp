// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_sim/sim_fixture.h"

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <ostream>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cuda_sim/gpu.h"

namespace nvs::sim_test {
namespace {

constexpr std::chrono::seconds kPatience{60};

std::string segment_path(const std::string& name) {
  return "/dev/shm/nvshare-sim-" + std::to_string(::getuid()) + "-" + name;
}

int failures() {
  const testing::TestResult& result =
      *testing::UnitTest::GetInstance()->current_test_info()->result();
  int count = 0;
  for (int i = 0; i < result.total_part_count(); ++i) {
    count += result.GetTestPartResult(i).failed() ? 1 : 0;
  }
  return count;
}

[[noreturn]] void run_child(const SimMachine& machine, const SimProcess::Body& body,
                            const Environment& more, Line& line) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const auto& [name, value] : machine.settings()) ::setenv(name.c_str(), value.c_str(), 1);
  for (const auto& [name, value] : more) ::setenv(name.c_str(), value.c_str(), 1);
  // Failures of the test so far are not the child's.
  const int before = failures();
  bool threw = false;
  try {
    body(line);
  } catch (const std::exception& error) {
    threw = true;
    std::printf("process %d: %s\n", ::getpid(), error.what());
  }
  std::fflush(stdout);
  std::exit(threw || failures() != before ? 1 : 0);
}

}  // namespace

const char* library_path() {
  const char* other = std::getenv("NVSHARE_TEST_LIB");
  return other != nullptr ? other : NVS_SIM_LIBRARY;
}

void PrintTo(const Books& books, std::ostream* out) {
  *out << books.bytes << " bytes, " << books.processes << " processes, " << books.contexts
       << " contexts, " << books.violations << " violations";
}

SimMachine::SimMachine(Environment settings) : settings_(std::move(settings)) {
  static unsigned made = 0;
  name_ = "test-" + std::to_string(::getpid()) + "-" + std::to_string(++made);
  settings_.emplace("NVSHARE_SIM_MACHINE", name_);
  settings_.emplace("NVSHARE_SIM_PRESET", "t4");
  settings_.emplace("NVSHARE_SIM_SCALE", "512");
  settings_.emplace("NVSHARE_SIM_TIME", "0.2");
}

SimMachine::~SimMachine() {
  EXPECT_FALSE(segment_exists()) << segment_path(name_) << " is left over";
  ::unlink(segment_path(name_).c_str());
}

bool SimMachine::segment_exists() const {
  struct stat info {};
  return ::stat(segment_path(name_).c_str(), &info) == 0;
}

Books SimMachine::books(int gpu) const {
  SimProcess auditor(*this, [gpu](Line& line) {
    const Driver& driver = initialised_driver();
    Books books;
    if (driver.sim()->cusimLedger(gpu, &books.bytes, &books.processes, &books.contexts) != 0) {
      throw std::runtime_error("no ledger for that GPU");
    }
    --books.processes;
    books.violations = driver.sim()->cusimViolationCount();
    line.tell_value(books);
  });
  const auto books = auditor.line().hear_value<Books>();
  EXPECT_EQ(auditor.wait(), 0) << auditor.errors();
  return books;
}

SimProcess::SimProcess(const SimMachine& machine, const Body& body, const Environment& more)
    : errors_(::memfd_create("stderr", MFD_CLOEXEC)) {
  auto [own, theirs] = Line::make();
  line_ = std::move(own);
  std::fflush(stdout);
  pid_ = ::fork();
  if (pid_ == 0) {
    line_.close();
    ::dup2(errors_.get(), STDERR_FILENO);
    run_child(machine, body, more, theirs);
  }
  if (pid_ < 0) throw std::runtime_error("cannot fork");
}

SimProcess::~SimProcess() {
  if (!ended_) kill();
  // The exit status of a process that is killed does not tell.
  for (const char* report : {"Sanitizer: ", "runtime error: "}) {
    EXPECT_EQ(errors().find(report), std::string::npos) << errors();
  }
}

void SimProcess::send(int signal) const { ::kill(pid_, signal); }

void SimProcess::kill() {
  send(SIGKILL);
  wait();
}

int SimProcess::wait() {
  auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!ended_) {
    int status = 0;
    const pid_t got = ::waitpid(pid_, &status, WNOHANG);
    if (got == pid_) {
      ended_ = true;
      status_ = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    } else if (std::chrono::steady_clock::now() > deadline) {
      ADD_FAILURE() << "process " << pid_ << " does not end";
      deadline += kPatience;
      send(SIGKILL);
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  return status_;
}

std::string SimProcess::errors() const {
  std::string text;
  std::array<char, 4096> buffer{};
  ssize_t size = 0;
  while ((size = ::pread(errors_.get(), buffer.data(), buffer.size(),
                         static_cast<off_t>(text.size()))) > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
  return text;
}

std::string run_process(const SimMachine& machine, const SimProcess::Body& body,
                        const Environment& more) {
  SimProcess process(machine, body, more);
  const int status = process.wait();
  EXPECT_EQ(status, 0) << process.errors();
  return process.errors();
}

}  // namespace nvs::sim_test
