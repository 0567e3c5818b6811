// SPDX-License-Identifier: Apache-2.0
#include "tests/interposer/run.h"

#include <array>
#include <chrono>
#include <csignal>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace nvs::interposer_test {
namespace {

constexpr std::chrono::seconds kPatience{180};

std::string text_of(const UniqueFd& file) {
  std::string text;
  std::array<char, 4096> buffer{};
  ssize_t size = 0;
  while ((size = ::pread(file.get(), buffer.data(), buffer.size(),
                         static_cast<off_t>(text.size()))) > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(size));
  }
  return text;
}

std::string preload_of(const Command& command, Library library) {
  std::string list;
  const auto add = [&list](const std::string& path) {
    if (!list.empty()) list += ':';
    list += path;
  };
  for (const std::string& path : command.before) add(path);
  if (library != Library::none) add(library_path(library));
  for (const std::string& path : command.after) add(path);
  return list;
}

// Nothing of the caller's: neither his locale nor his settings of ours.
std::vector<std::string> environment_of(const Command& command, Library library) {
  Environment all{{"LC_ALL", "C"}, {"PATH", "/usr/bin:/bin"}};
  if (!command.driver.empty()) all["LD_LIBRARY_PATH"] = built("lib/fake/" + command.driver);
  all["NVS_TEST_LIBRARY"] = library_path(Library::product);
  const std::string preload = preload_of(command, library);
  if (!preload.empty()) all["LD_PRELOAD"] = preload;
  for (const auto& [name, value] : command.environment) all[name] = value;
  std::vector<std::string> list;
  for (const auto& [name, value] : all) list.push_back(name + "=" + value);
  return list;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

pid_t start(const Command& command, Library library, const UniqueFd& output,
            const UniqueFd& errors) {
  const bool is_path = command.program.front() == '/';
  std::vector<std::string> words{is_path ? command.program
                                         : built("test/strangers/" + command.program)};
  words.insert(words.end(), command.arguments.begin(), command.arguments.end());
  std::vector<std::string> settings = environment_of(command, library);
  const std::vector<char*> arguments = pointers_to(words);
  const std::vector<char*> environment = pointers_to(settings);
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("cannot fork");
  if (child > 0) return child;
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (command.addresses == Addresses::fixed) ::personality(ADDR_NO_RANDOMIZE);
  ::dup2(output.get(), STDOUT_FILENO);
  ::dup2(errors.get(), STDERR_FILENO);
  ::execve(arguments[0], arguments.data(), environment.data());
  ::_exit(126);
}

int wait_for(pid_t child, const std::string& what) {
  auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    int status = 0;
    if (::waitpid(child, &status, WNOHANG) == child) {
      // Whatever it left behind goes with it.
      ::kill(-child, SIGKILL);
      return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    }
    if (std::chrono::steady_clock::now() > deadline) {
      ADD_FAILURE() << what << " does not end";
      deadline += kPatience;
      ::kill(-child, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

std::string difference(const std::string& with, const std::string& alone) {
  std::istringstream with_lines(with);
  std::istringstream alone_lines(alone);
  std::string text;
  int shown = 0;
  while (shown < 8 && (with_lines || alone_lines)) {
    std::string left = "(end)";
    std::string right = "(end)";
    std::getline(with_lines, left);
    std::getline(alone_lines, right);
    if (left == right) continue;
    text += "  with:  " + left + "\n  alone: " + right + "\n";
    ++shown;
  }
  return text;
}

std::string built(const std::string& path) { return std::string(NVS_BUILD_FOLDER "/") + path; }

std::string library_path(Library library) {
  return built(library == Library::test ? "lib/test/libnvshare.so" : "lib/libnvshare.so");
}

Outcome run(const Command& command, Library library) {
  const UniqueFd output(::memfd_create("stdout", MFD_CLOEXEC));
  const UniqueFd errors(::memfd_create("stderr", MFD_CLOEXEC));
  const pid_t child = start(command, library, output, errors);
  Outcome outcome;
  outcome.status = wait_for(child, command.program);
  outcome.output = text_of(output);
  std::istringstream lines(text_of(errors));
  for (std::string line; std::getline(lines, line);) {
    std::string& part = line.rfind("evidence: ", 0) == 0 ? outcome.evidence : outcome.errors;
    part += line + "\n";
  }
  return outcome;
}

Outcome same_as_alone(const Command& command, Library library) {
  const Outcome alone = run(command, Library::none);
  Outcome with = run(command, library);
  const std::string what =
      command.program + " " + (command.arguments.empty() ? "" : command.arguments.front());
  EXPECT_EQ(with.status, alone.status) << what << "\n" << with.output << with.errors;
  EXPECT_TRUE(with.output == alone.output) << what << "\n" << difference(with.output, alone.output);
  EXPECT_TRUE(with.errors == alone.errors) << what << "\n" << difference(with.errors, alone.errors);
  EXPECT_FALSE(is_hooked(alone));
  return with;
}

bool is_hooked(const Outcome& outcome) {
  return outcome.evidence.find("from libnvshare.so") != std::string::npos;
}

}  // namespace nvs::interposer_test
