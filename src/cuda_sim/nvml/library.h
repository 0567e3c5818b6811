// SPDX-License-Identifier: Apache-2.0
// NVML between nvmlInit and the last nvmlShutdown: the machine it looks at, and the device handles
// that it has given out. Every entry point starts by asking for it, through one of the templates
// below, which also refuse what real NVML refuses: null results, strange handles, calls before
// nvmlInit and calls in a fork child.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <tl/expected.hpp>

#include "cuda_api/nvml_types.h"
#include "cuda_sim/machine/machine.h"
#include "cuda_sim/nvml/board.h"
#include "cuda_sim/nvml/event_sets.h"
#include "cuda_sim/nvml/process_history.h"

namespace nvs::nvml {

class Library {
 public:
  static tl::expected<std::shared_ptr<Library>, std::string> open();

  sim::Machine& machine() { return *machine_; }
  const sim::Model& model() const { return machine_->model(); }
  const Board& board() const { return *board_; }
  unsigned gpus() const { return machine_->gpus(); }
  ProcessHistory& history(unsigned gpu) { return history_[gpu]; }
  EventSets& event_sets() { return event_sets_; }

  nvmlDevice_t handle(unsigned gpu) const;
  std::optional<unsigned> gpu_of(nvmlDevice_t device) const;

 private:
  Library(std::unique_ptr<sim::Machine> machine, const Board& board);

  std::unique_ptr<sim::Machine> machine_;
  const Board* board_;
  unsigned era_;  // handles of an earlier nvmlInit are not handles any more
  std::array<ProcessHistory, sim::kGpusMax> history_;
  EventSets event_sets_;
};

/// Null before nvmlInit, after the last nvmlShutdown, and in a fork child that has not called
/// nvmlInit itself.
std::shared_ptr<Library> current_library();

/// What nvmlInit and nvmlShutdown do; the calls are counted.
nvmlReturn_t open_library();
nvmlReturn_t close_library();

/// The GPU that a call is about.
struct Gpu {
  Library& library;
  sim::Machine& machine;
  const sim::Model& model;
  const Board& board;
  unsigned index;
};

/// Returns what `answer(library)` does, if none of the results is null.
template <class Answer, class... Result>
nvmlReturn_t with_library(Answer answer, const Result*... results) {
  if (!(... && results)) return NVML_ERROR_INVALID_ARGUMENT;
  const std::shared_ptr<Library> library = current_library();
  return library == nullptr ? NVML_ERROR_UNINITIALIZED : answer(*library);
}

/// Returns what `answer(gpu)` does, if none of the results is null and the handle is good.
template <class Answer, class... Result>
nvmlReturn_t with_gpu(nvmlDevice_t device, Answer answer, const Result*... results) {
  return with_library(
      [&](Library& library) {
        const std::optional<unsigned> index = library.gpu_of(device);
        if (!index) return NVML_ERROR_INVALID_ARGUMENT;
        const Gpu gpu{library, library.machine(), library.model(), library.board(), *index};
        return answer(gpu);
      },
      results...);
}

/// For the many calls that cannot fail any further: stores `value(gpu)`.
template <class Result, class Value>
nvmlReturn_t tell(nvmlDevice_t device, Result* result, Value value) {
  return with_gpu(
      device,
      [&](const Gpu& gpu) {
        *result = static_cast<Result>(value(gpu));
        return NVML_SUCCESS;
      },
      result);
}

/// For what the modelled card, like the real one, does not have.
template <class... Result>
nvmlReturn_t lacks(nvmlDevice_t device, const Result*... results) {
  return with_gpu(
      device, [](const Gpu&) { return NVML_ERROR_NOT_SUPPORTED; }, results...);
}

}  // namespace nvs::nvml
