// SPDX-License-Identifier: Apache-2.0
#include "tests/faults/programs/kit.h"

#include <cstdlib>
#include <mutex>

#include <poll.h>
#include <unistd.h>

namespace nvs::faults {
namespace {

// As much as is checked between two looks at the test's word.
constexpr int kStepsInFlight = 8;
constexpr std::uint64_t kStepNs = 1'000'000;

bool has_word(int timeout_ms) {
  pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  return ::poll(&input, 1, timeout_ms) > 0;
}

}  // namespace

void say(const std::string& line) {
  static std::mutex lock;
  const std::lock_guard guard{lock};
  const std::string text = line + "\n";
  if (::write(STDOUT_FILENO, text.data(), text.size()) < 0) ::_exit(9);
}

void say_at(std::uint64_t count) { say("at " + std::to_string(count)); }

bool told_to_stop() { return has_word(0); }

std::string wait_for_word() {
  has_word(-1);
  std::string line;
  char letter = 0;
  while (::read(STDIN_FILENO, &letter, 1) == 1 && letter != '\n') line += letter;
  return line;
}

unsigned number(const char* text) { return static_cast<unsigned>(std::strtoul(text, nullptr, 10)); }

Counted::Counted(const Gpu& gpu, std::uint64_t floats)
    : gpu_(gpu), floats_(floats), data_(gpu.filled(floats, 0)), wrong_(gpu.filled(2, 0)) {}

Counted::Counted(const Gpu& gpu, std::uint64_t floats, CUdeviceptr data)
    : gpu_(gpu), floats_(floats), data_(data), is_own_(false), wrong_(gpu.filled(2, 0)) {
  NVS_MUST(gpu.fill(data, 0, floats));
  NVS_MUST(gpu->cuCtxSynchronize());
}

void Counted::step(CUstream stream, std::uint64_t ns) {
  NVS_MUST(gpu_.step(data_, 1, floats_, stream));
  if (ns != 0) NVS_MUST(gpu_.spin(ns, stream));
  ++steps_;
}

void Counted::check(CUstream stream) const {
  std::uint64_t wrong = 1;
  NVS_MUST(gpu_->cuMemsetD32Async(wrong_, 0, 2, stream));
  const auto expected = static_cast<float>(steps_);
  NVS_MUST(gpu_.launch("nvs_check", stream, data_, 0.0F, expected, floats_, wrong_));
  NVS_MUST(gpu_->cuStreamSynchronize(stream));
  NVS_MUST(gpu_->cuMemcpyDtoH_v2(&wrong, wrong_, sizeof wrong));
  if (wrong != 0) {
    throw std::runtime_error(std::to_string(wrong) + " values are wrong after " +
                             std::to_string(steps_) + " steps");
  }
}

void Counted::free() const {
  if (is_own_) NVS_MUST(gpu_->cuMemFree_v2(data_));
  NVS_MUST(gpu_->cuMemFree_v2(wrong_));
}

void work_until_stopped(const Gpu& gpu, Counted& data) {
  while (!told_to_stop()) {
    for (int i = 0; i < kStepsInFlight; ++i) data.step(nullptr, kStepNs);
    NVS_MUST(gpu->cuCtxSynchronize());
    say_at(data.steps());
  }
  data.check(nullptr);
}

}  // namespace nvs::faults
