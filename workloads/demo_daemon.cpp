// SPDX-License-Identifier: Apache-2.0
#include "workloads/demo_daemon.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "os/unix_socket.h"

namespace nvs::workloads {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kStartMax{10};
constexpr std::chrono::seconds kStopMax{3};
constexpr std::chrono::seconds kAnswerMax{1};
constexpr int kPauseMs = 10;
constexpr std::size_t kOutputBytesMax = 4096;
constexpr std::size_t kAnswerBytesMax = 4u << 20;

std::string variable(const char* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): this program has one thread.
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

Result<std::string> make_temporary_folder() {
  const std::string parent = variable("TMPDIR");
  std::string path = (parent.empty() ? "/tmp" : parent) + "/nvshare-demo-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return tl::unexpected(Error::from_errno(errno, "mkdtemp"));
  return path;
}

void remove_folder(const std::string& path) {
  std::error_code ignored;  // a file that stays behind in the temporary folder harms nobody
  std::filesystem::remove_all(path, ignored);
}

void pause_for(int milliseconds) { ::poll(nullptr, 0, milliseconds); }

}  // namespace

tl::expected<std::unique_ptr<DemoDaemon>, std::string> DemoDaemon::start(const Settings& settings) {
  for (const std::string* file : {&settings.program, &settings.library}) {
    if (::access(file->c_str(), R_OK) != 0) {
      return tl::unexpected(*file + " cannot be read");
    }
  }
  auto folder = make_temporary_folder();
  if (!folder) return tl::unexpected("no temporary folder: " + folder.error().message());
  std::vector<std::string> environment = settings.environment;
  if (!settings.nvml_library.empty())
    environment.push_back("NVSHARE_NVML=" + settings.nvml_library);
  auto child = Child::start({settings.program, "--folder", *folder}, environment);
  if (!child) {
    remove_folder(*folder);
    return tl::unexpected(child.error().message());
  }
  std::unique_ptr<DemoDaemon> daemon(
      new DemoDaemon(*std::move(folder), settings.library, *std::move(child)));
  if (const auto answers = daemon->wait_until_it_answers(); !answers) {
    return tl::unexpected(answers.error());
  }
  return daemon;
}

DemoDaemon::DemoDaemon(std::string folder, std::string library, Child child)
    : folder_(std::move(folder)), library_(std::move(library)), child_(std::move(child)) {}

DemoDaemon::~DemoDaemon() {
  child_.terminate();
  const Clock::time_point deadline = Clock::now() + kStopMax;
  while (!child_.has_ended() && Clock::now() < deadline) {
    read_output();
    pause_for(kPauseMs);
  }
  child_.kill();
  remove_folder(folder_);
}

tl::expected<void, std::string> DemoDaemon::wait_until_it_answers() {
  const Clock::time_point deadline = Clock::now() + kStartMax;
  std::string why;
  while (Clock::now() < deadline) {
    const bool ended = child_.has_ended();
    read_output();
    if (ended) {
      why = "it " + child_.how_it_ended();
      break;
    }
    const auto answer = status();
    if (answer) return {};
    why = answer.error().message();
    pause_for(kPauseMs);
  }
  return tl::unexpected(output_.empty() ? why : fmt::format("{}; it printed:\n{}", why, output_));
}

std::vector<std::string> DemoDaemon::tenant_environment() const {
  const std::string others = variable("LD_PRELOAD");
  return {"LD_PRELOAD=" + library_ + (others.empty() ? "" : ":" + others),
          "NVSHARE_FOLDER=" + folder_};
}

Result<NodeStatus> DemoDaemon::status() {
  read_output();
  return parse_node_status(NVS_TRY(ask("{\"command\":\"status\"}\n")));
}

Result<void> DemoDaemon::limit_cores(std::uint64_t tenant, int percent) {
  return parse_node_answer(NVS_TRY(ask(
      fmt::format("{{\"command\":\"limit\",\"tenant\":{},\"cores\":\"{}\"}}\n", tenant, percent))));
}

Result<std::string> DemoDaemon::ask(const std::string& request) {
  if (admin_.get() < 0) {
    admin_ = NVS_TRY(os::connect_unix(folder_ + "/admin.sock", os::SocketKind::stream));
  }
  auto answer = ask_connected(request);
  // Half an answer that comes late would be taken for the next one.
  if (!answer) admin_.reset();
  return answer;
}

Result<std::string> DemoDaemon::ask_connected(const std::string& request) {
  if (os::send(admin_.get(), request.data(), request.size()).bytes != request.size()) {
    return tl::unexpected(Error::from_errno(EPIPE, "the daemon takes no request"));
  }
  const Clock::time_point deadline = Clock::now() + kAnswerMax;
  std::string answer;
  std::array<char, 16384> buffer{};
  while (Clock::now() < deadline && answer.size() < kAnswerBytesMax) {
    pollfd waiting{admin_.get(), POLLIN, 0};
    ::poll(&waiting, 1, kPauseMs);
    const os::Moved moved = os::receive_bytes(admin_.get(), buffer.data(), buffer.size());
    if (moved.outcome == os::Transfer::closed) break;
    answer.append(buffer.data(), moved.bytes);
    if (!answer.empty() && answer.back() == '\n') return answer;
  }
  return tl::unexpected(Error{Errc::kNotFound, 0, "the daemon does not answer"});
}

void DemoDaemon::read_output() {
  std::array<char, 4096> buffer{};
  ssize_t got = 0;
  while ((got = ::read(child_.output_fd(), buffer.data(), buffer.size())) > 0) {
    output_.append(buffer.data(), static_cast<std::size_t>(got));
  }
  if (output_.size() > kOutputBytesMax) output_.erase(0, output_.size() - kOutputBytesMax);
}

}  // namespace nvs::workloads
