// SPDX-License-Identifier: Apache-2.0
#include "bench/python_program.h"

#include <chrono>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "bench/built_files.h"
#include "bench/failure.h"
#include "bench/python_turns.h"

namespace nvs::bench {
namespace {

constexpr double kCheckSeconds = 120;
// Until the common start each process loads PyTorch and makes its data.
constexpr double kLoadSeconds = 14;
constexpr double kEndSeconds = 60;
constexpr const char* kUnit = " it/s";

}  // namespace

PythonPrograms::PythonPrograms(const std::string& folder)
    : program_(existing(std::filesystem::path(folder) / "tq.py", "the program for PyTorch")) {}

std::string PythonPrograms::missing() const {
  const std::vector<std::string> command = {
      kPython, "-c", "import sys, torch; sys.exit(0 if torch.cuda.is_available() else 9)"};
  try {
    Program program("python3", command, folder_.path() + "/check.log", bare_tenant());
    const int code = program.wait(kCheckSeconds);
    if (code == 0) return "";
    return code == 9 ? "PyTorch finds no GPU" : "python3 has no PyTorch";
  } catch (const Failure& failure) {
    return failure.what();
  }
}

PythonRun PythonPrograms::start(const std::string& kind, double seconds,
                                const std::vector<Child::Environment>& each, Start start) const {
  PythonRun run;
  run.start_ = unix_seconds() + (start == Start::common ? kLoadSeconds : 0);
  run.seconds_ = seconds;
  for (const Child::Environment& environment : each) {
    const std::vector<std::string> command = {kPython, program_, kind, fmt::format("{}", seconds),
                                              fmt::format("{:.3f}", run.start_)};
    const std::string log = fmt::format("{}/{}_{}.log", folder_.path(), kind, run.programs_.size());
    std::filesystem::remove(log);
    const std::string name = fmt::format("tq.py {} {}", kind, run.programs_.size() + 1);
    run.programs_.push_back(std::make_unique<Program>(name, command, log, environment));
  }
  return run;
}

void PythonRun::wait_for_start(double before_s) const {
  const double left_s = start_ - before_s - unix_seconds();
  if (left_s > 0) std::this_thread::sleep_for(std::chrono::duration<double>(left_s));
}

std::vector<pid_t> PythonRun::pids() const {
  std::vector<pid_t> result;
  for (const auto& program : programs_) result.push_back(program->pid());
  return result;
}

std::vector<double> PythonRun::rates() const {
  std::vector<double> result;
  for (const auto& program : programs_) {
    if (program->wait(kLoadSeconds + seconds_ + kEndSeconds) != 0) {
      throw Failure("tq.py failed:\n" + program->last_lines());
    }
    result.push_back(rate_printed(program->printed()));
  }
  return result;
}

double rate_printed(const std::string& text) {
  const std::size_t end = text.find(kUnit);
  const std::size_t begin = end == std::string::npos ? end : text.rfind(' ', end - 1);
  try {
    if (begin != std::string::npos) return std::stod(text.substr(begin + 1, end - begin - 1));
  } catch (const std::exception&) {
    // It is no number; the text tells more than this exception.
  }
  throw Failure("no rate in what tq.py printed: " + text);
}

}  // namespace nvs::bench
