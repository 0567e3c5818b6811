// SPDX-License-Identifier: Apache-2.0
#include "bench/program.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "bench/failure.h"

namespace nvs::bench {
namespace {

constexpr std::size_t kShownBytes = 1500;

UniqueFd open_or_throw(const char* path, int flags) {
  UniqueFd fd(::open(path, flags | O_CLOEXEC, 0600));
  if (!fd) throw Failure(fmt::format("{}: {}", path, std::strerror(errno)));
  return fd;
}

}  // namespace

Program::Program(std::string name, const std::vector<std::string>& command, std::string log,
                 const Child::Environment& extra)
    : name_(std::move(name)), log_(std::move(log)) {
  const nlohmann::json config = {{"command", command}, {"log", log_}};
  child_ = std::make_unique<Child>(name_, kProgramRole, config, extra);
}

void Program::terminate() { ::kill(pid(), SIGTERM); }

int Program::wait(double timeout_s) { return child_->wait_for_end(timeout_s); }

std::string Program::printed() const {
  const std::ifstream file(log_);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string Program::last_lines() const {
  std::string text = printed();
  if (text.size() > kShownBytes) text.erase(0, text.size() - kShownBytes);
  return text.empty() ? name_ + " printed nothing" : text;
}

void run_program(ParentLink&, const nlohmann::json& config) {
  const auto command = config.at("command").get<std::vector<std::string>>();
  const UniqueFd null = open_or_throw("/dev/null", O_RDONLY);
  const UniqueFd log =
      open_or_throw(config.at("log").get<std::string>().c_str(), O_WRONLY | O_CREAT | O_APPEND);
  ::dup2(null.get(), STDIN_FILENO);
  ::dup2(log.get(), STDOUT_FILENO);
  ::dup2(log.get(), STDERR_FILENO);
  // The benchmark ignores it for its own sake; this program has not asked for that.
  ::signal(SIGPIPE, SIG_DFL);
  std::vector<std::string> texts = command;
  std::vector<char*> arguments;
  for (std::string& text : texts) arguments.push_back(text.data());
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  throw Failure(fmt::format("{} could not be started: {}", command[0], std::strerror(errno)));
}

}  // namespace nvs::bench
