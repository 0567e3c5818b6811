// SPDX-License-Identifier: Apache-2.0
// Tenants are processes, so measuring several of them means several processes that run the same
// code. The benchmark executes itself again as `nvshare-bench --child ROLE`, or another program
// that understands this; parent and child talk in JSON lines over two pipes. A child ends when its
// parent closes the pipe or dies, however that happens.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <sys/types.h>

#include "base/unique_fd.h"

namespace nvs::bench {

// The clock that all processes of a machine share; start times that are sent to children are
// instants of it.
std::int64_t now_ns();
std::int64_t nanoseconds(double seconds);
void sleep_until_ns(std::int64_t at_ns);

// A pipe end that reads or writes JSON lines.
class LineReader {
 public:
  explicit LineReader(int fd) : fd_(fd) {}
  // Nothing at the end of the stream; throws Failure past the deadline (none if negative) or if it
  // is not JSON.
  std::optional<nlohmann::json> next(std::int64_t deadline_ns);

 private:
  int fd_;
  std::string buffer_;
};
bool write_line(int fd, const nlohmann::json& value);

class Child {
 public:
  using Environment = std::map<std::string, std::string>;

  static constexpr const char* kThisProgram = "/proc/self/exe";

  // `name` is how messages call it. `extra` is added to the environment of this process.
  Child(std::string name, const std::string& role, const nlohmann::json& config,
        const Environment& extra = {}, const std::string& program = kThisProgram);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  void send(const nlohmann::json& message);
  // Throws Failure if the child reports an error, is gone, or says nothing for so long.
  nlohmann::json receive(double timeout_s);
  bool exited() const;
  // Waits until it has ended by itself: its exit code, or 128 + the signal that killed it. Throws
  // Failure if it reports an error or does not end in that time.
  int wait_for_end(double timeout_s);

 private:
  // Nothing at the end of what it says.
  std::optional<nlohmann::json> next_message(double timeout_s);
  void spawn(const std::string& role, const Environment& extra, const std::string& program);

  std::string name_;
  pid_t pid_ = -1;
  UniqueFd to_child_;
  UniqueFd from_child_;
  std::optional<LineReader> reader_;
};

// The child's side of the two pipes.
class ParentLink {
 public:
  // Results have a descriptor of their own: whatever a library prints on stdout cannot corrupt
  // them.
  static constexpr int kResultFd = 3;

  ParentLink();
  // Nothing: the parent wants no more.
  std::optional<nlohmann::json> next();
  void send(const nlohmann::json& message);

 private:
  LineReader reader_;
};

struct Role {
  const char* name;
  void (*run)(ParentLink& parent, const nlohmann::json& config);
};

// Runs one of `roles` as the child of a benchmark; returns the exit code of the process.
int child_main(const std::vector<Role>& roles, const std::string& role);

}  // namespace nvs::bench
