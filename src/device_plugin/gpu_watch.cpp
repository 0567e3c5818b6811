// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/gpu_watch.h"

#include <chrono>
#include <utility>

#include "base/log.h"

namespace nvs::plugin {
namespace {

// Short, because the end of the program waits for it.
constexpr unsigned kWait_ms = 500;
constexpr int kWaitsPerRound = 20;

}  // namespace

GpuWatch::GpuWatch(std::shared_ptr<const Nvml> nvml, std::vector<std::string> gpus,
                   std::function<void(GpuNews)> post)
    : nvml_(std::move(nvml)),
      gpus_(std::move(gpus)),
      post_(std::move(post)),
      thread_([this] { run(); }) {}

GpuWatch::~GpuWatch() {
  is_ending_ = true;
  thread_.join();
  if (set_ != nullptr) nvml_->free_event_set(set_);
}

void GpuWatch::run() {
  listen();
  while (!is_ending_) {
    ask_all();
    for (int wait = 0; wait < kWaitsPerRound && !is_ending_; ++wait) wait_once();
  }
}

void GpuWatch::listen() {
  const auto set = nvml_->make_event_set();
  if (!set) {
    log(Level::warning, "this driver reports no errors of GPUs", {{"error", set.error()}});
    return;
  }
  set_ = *set;
  for (const std::string& gpu : gpus_) {
    const auto device = nvml_->gpu_of(gpu);
    const auto done = device ? nvml_->listen(set_, *device) : tl::unexpected(device.error());
    if (!done) {
      log(Level::warning, "errors of a GPU are not reported",
          {{"gpu", gpu}, {"error", done.error()}});
    }
  }
}

void GpuWatch::wait_once() {
  const auto sleep = [] { std::this_thread::sleep_for(std::chrono::milliseconds(kWait_ms)); };
  if (set_ == nullptr) return sleep();
  auto event = nvml_->wait_for_event(set_, kWait_ms);
  if (!event) {
    // The driver is in trouble: who does not answer is not to be given away.
    ask_all();
    return sleep();
  }
  if (!*event) return;
  post_({.gpu = (*event)->uuid.value_or(""),
         .xid = (*event)->xid,
         .gpu_instance = (*event)->gpu_instance,
         .compute_instance = (*event)->compute_instance});
  if (!(*event)->uuid) ask_all();
}

void GpuWatch::ask_all() {
  for (const std::string& gpu : gpus_) {
    const auto device = nvml_->gpu_of(gpu);
    const auto answer = device ? nvml_->free_bytes(*device) : tl::unexpected(device.error());
    // GPUs that share the host's memory do not say how much is free, and answer all the same.
    const bool is_silent = !answer && (!device || !nvml_->uuid(*device));
    post_({.gpu = gpu, .xid = 0, .silence = is_silent ? answer.error() : ""});
  }
}

}  // namespace nvs::plugin
