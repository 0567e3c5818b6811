// SPDX-License-Identifier: Apache-2.0
#include "bench/python_turns.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include "bench/failure.h"
#include "bench/python_program.h"

namespace nvs::bench {
namespace {

constexpr double kPyTorchLoadSeconds = 120;
constexpr double kTurnEndSeconds = 60;  // beside what was asked for

// Its first word says that PyTorch is there: until then nothing is sent that it might not read.
// What tq.py itself prints is the answer.
constexpr const char* kScript = R"(
import contextlib, io, json, os, runpy, sys
tq, kind, results = sys.argv[1], sys.argv[2], int(sys.argv[3])
def answer(value):
    os.write(results, (json.dumps(value) + "\n").encode())
def work(arguments):
    sys.argv = [tq, kind, *arguments]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        runpy.run_path(tq, run_name="__main__")
    return {"printed": printed.getvalue()}
try:
    import torch
    answer({"ready": True})
    for line in sys.stdin:
        answer(work(json.loads(line)["arguments"]))
except Exception as error:
    answer({"error": f"{type(error).__name__}: {error}"})
    sys.exit(1)
)";

}  // namespace

PythonTurns::PythonTurns(const std::string& tq, const std::string& kind,
                         const Child::Environment& environment, const std::string& bench)
    : child_("tq.py " + kind, kPythonTurnsRole, {{"tq", tq}, {"kind", kind}}, environment, bench) {}

void PythonTurns::wait_until_ready() {
  if (!ready_) child_.receive(kPyTorchLoadSeconds);
  ready_ = true;
}

void PythonTurns::start(double seconds, std::optional<double> at) {
  wait_until_ready();
  due_s_ = seconds + kTurnEndSeconds;
  std::vector<std::string> arguments = {fmt::format("{}", seconds)};
  if (at) arguments.push_back(fmt::format("{:.3f}", *at));
  child_.send({{"arguments", arguments}});
}

double PythonTurns::finish() {
  return rate_printed(child_.receive(due_s_).at("printed").get<std::string>());
}

double PythonTurns::rate(double seconds) {
  start(seconds);
  return finish();
}

double unix_seconds() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

void run_python_turns(ParentLink&, const nlohmann::json& config) {
  const auto tq = config.at("tq").get<std::string>();
  const auto kind = config.at("kind").get<std::string>();
  const std::string results = fmt::format("{}", ParentLink::kResultFd);
  // The benchmark ignores it for its own sake; this program has not asked for that.
  ::signal(SIGPIPE, SIG_DFL);
  ::execlp(kPython, kPython, "-c", kScript, tq.c_str(), kind.c_str(), results.c_str(), nullptr);
  throw Failure(fmt::format("{} could not be started: {}", kPython, std::strerror(errno)));
}

}  // namespace nvs::bench
