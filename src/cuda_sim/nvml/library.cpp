// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/nvml/library.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <utility>
#include <vector>

#include <pthread.h>

#include "cuda_sim/config/settings.h"

// A handle is an address within a table that is never read: comparing is all that is done with it.
struct nvmlDevice_st {
  char nothing;
};

namespace nvs::nvml {
namespace {

constexpr unsigned kEras = 64;
constinit std::array<nvmlDevice_st, std::size_t{kEras} * sim::kGpusMax> handles{};

struct Holder {
  std::mutex mutex;  // guards the rest
  std::shared_ptr<Library> library;
  unsigned references = 0;
  std::vector<std::shared_ptr<Library>> inherited;  // by fork children, from their parents
};

// Never destroyed: threads may still call NVML while the program exits.
Holder& holder() {
  static Holder& instance = *new Holder;
  return instance;
}

// A fork child starts without NVML, as with the real one. Its parent's place in the machine stays
// the parent's, so the child keeps what it inherited and never gives it back.
void register_fork_handlers() {
  [[maybe_unused]] static const int registered =
      ::pthread_atfork([] { holder().mutex.lock(); }, [] { holder().mutex.unlock(); },
                       [] {
                         Holder& state = holder();
                         state.inherited.push_back(std::exchange(state.library, nullptr));
                         state.references = 0;
                         state.mutex.unlock();
                       });
}

// A program that ends without nvmlShutdown leaves the machine all the same.
struct LeaveAtExit {
  LeaveAtExit() = default;
  LeaveAtExit(const LeaveAtExit&) = delete;
  LeaveAtExit& operator=(const LeaveAtExit&) = delete;
  ~LeaveAtExit() {
    std::shared_ptr<Library> last;
    const std::lock_guard guard{holder().mutex};
    last.swap(holder().library);
    holder().references = 0;
  }
};

}  // namespace

tl::expected<std::shared_ptr<Library>, std::string> Library::open() {
  auto settings = sim::read_settings();
  if (!settings) return tl::make_unexpected(std::move(settings).error());
  auto machine = sim::Machine::attach(*settings);
  if (!machine) return tl::make_unexpected(std::move(machine).error());
  const Board* board = find_board((*machine)->model().preset);
  if (board == nullptr) return tl::make_unexpected("the preset has no board");
  return std::shared_ptr<Library>(new Library(*std::move(machine), *board));
}

Library::Library(std::unique_ptr<sim::Machine> machine, const Board& board)
    : machine_(std::move(machine)), board_(&board) {
  static std::atomic<unsigned> eras{0};
  era_ = eras.fetch_add(1) % kEras;
  for (unsigned gpu = 0; gpu < gpus(); ++gpu) {
    history_[gpu].shares(now(), 0,
                         processes_on(*machine_, gpu));  // what later ones are held against
  }
}

nvmlDevice_t Library::handle(unsigned gpu) const { return &handles[era_ * sim::kGpusMax + gpu]; }

std::optional<unsigned> Library::gpu_of(nvmlDevice_t device) const {
  for (unsigned gpu = 0; gpu < gpus(); ++gpu) {
    if (device == handle(gpu)) return gpu;
  }
  return std::nullopt;
}

std::shared_ptr<Library> current_library() {
  Holder& state = holder();
  const std::lock_guard guard{state.mutex};
  return state.library;
}

nvmlReturn_t open_library() {
  static const LeaveAtExit leave_at_exit;
  register_fork_handlers();
  Holder& state = holder();
  const std::lock_guard guard{state.mutex};
  if (state.library == nullptr) {
    auto library = Library::open();
    if (!library) {
      std::fprintf(stderr, "simulated NVML: %s\n", library.error().c_str());
      return NVML_ERROR_DRIVER_NOT_LOADED;
    }
    state.library = *std::move(library);
  }
  ++state.references;
  return NVML_SUCCESS;
}

nvmlReturn_t close_library() {
  std::shared_ptr<Library> last;  // outlives the lock: leaving the machine takes a while
  Holder& state = holder();
  const std::lock_guard guard{state.mutex};
  if (state.references == 0) return NVML_ERROR_UNINITIALIZED;
  if (--state.references == 0) last.swap(state.library);
  return NVML_SUCCESS;
}

}  // namespace nvs::nvml
