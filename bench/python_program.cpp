// SPDX-License-Identifier: Apache-2.0
#include "bench/python_program.h"

#include <chrono>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "bench/built_files.h"
#include "bench/failure.h"
#include "bench/program.h"

namespace nvs::bench {
namespace {

constexpr const char* kPython = "python3";
constexpr double kCheckSeconds = 120;
// Until the common start each process loads PyTorch and makes its data; alone it starts at once.
constexpr double kLoadSeconds = 14;
constexpr double kEndSeconds = 60;
constexpr const char* kUnit = " it/s";

// tq.py compares the start with Python's time.time(), which is this clock.
double unix_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

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

std::vector<double> PythonPrograms::rates(const std::string& kind, double seconds,
                                          const std::vector<Child::Environment>& each) const {
  const double start = unix_seconds() + (each.size() > 1 ? kLoadSeconds : 0);
  std::vector<std::unique_ptr<Program>> programs;
  for (const Child::Environment& environment : each) {
    const std::vector<std::string> command = {kPython, program_, kind, fmt::format("{}", seconds),
                                              fmt::format("{:.3f}", start)};
    const std::string log = fmt::format("{}/{}_{}.log", folder_.path(), kind, programs.size());
    std::filesystem::remove(log);
    const std::string name = fmt::format("tq.py {} {}", kind, programs.size() + 1);
    programs.push_back(std::make_unique<Program>(name, command, log, environment));
  }
  std::vector<double> result;
  for (const auto& program : programs) {
    if (program->wait(kLoadSeconds + seconds + kEndSeconds) != 0) {
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
