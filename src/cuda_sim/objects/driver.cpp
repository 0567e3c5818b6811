// SPDX-License-Identifier: Apache-2.0
#include "cuda_sim/objects/driver.h"

#include <algorithm>

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cuda_sim/objects/call_time.h"
#include "cuda_sim/objects/plain_memory.h"

namespace nvs::sim {

Driver& driver() {
  static auto* instance = new Driver;
  return *instance;
}

// A pthread key rather than a destructor cleans up after a thread: exit handlers of the main thread
// run after its thread_local destructors and may still call the driver.
std::vector<CUcontext>& context_stack() {
  using Stack = std::vector<CUcontext>;
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    pthread_key_create(&made, [](void* stack) { delete static_cast<Stack*>(stack); });
    return made;
  }();
  auto* stack = static_cast<Stack*>(pthread_getspecific(key));
  if (stack == nullptr) {
    stack = new Stack;
    pthread_setspecific(key, stack);
  }
  return *stack;
}

bool& in_host_function() {
  static thread_local bool inside = false;
  return inside;
}

unsigned long current_thread() {
  static thread_local const auto id = static_cast<unsigned long>(::syscall(SYS_gettid));
  return id;
}

Arena* Driver::arena(unsigned gpu) {
  if (!arenas[gpu]) arenas[gpu] = std::make_unique<Arena>(machine->capacity());
  return arenas[gpu]->ok() ? arenas[gpu].get() : nullptr;
}

// A call that took longer than its model is overrun, like work that ends late. Calls are counted
// for the first GPU, whichever they are about: what matters is their sum.
void Driver::spend(double model_ns) const {
  constexpr Nanos kOrdinary = 10'000;
  const Nanos cost = machine->dilate(model_ns);
  const Nanos due = call_began() + cost;
  wait_until(due);
  const Nanos late = now_ns() - due - kOrdinary;
  GpuShare& books = machine->gpu(0);
  books.called_ns.fetch_add(static_cast<std::uint64_t>(cost), std::memory_order_relaxed);
  if (late > 0) books.overrun_ns.fetch_add(static_cast<std::uint64_t>(late));
}

void Driver::spend(const Cost& cost, std::uint64_t bytes) const {
  const double mib = static_cast<double>(bytes) * machine->scale() / (1 << 20);
  spend(cost.base_ns + cost.ns_per_mib * mib);
}

std::optional<unsigned> Driver::gpu_of(CUdevice device) const {
  if (device < 0 || static_cast<std::size_t>(device) >= visible.size()) return std::nullopt;
  return visible[static_cast<std::size_t>(device)];
}

CUdevice Driver::device_of(unsigned gpu) const {
  const auto it = std::find(visible.begin(), visible.end(), gpu);
  return it == visible.end() ? CU_DEVICE_INVALID : static_cast<CUdevice>(it - visible.begin());
}

CUresult Driver::make_context(unsigned gpu, unsigned flags, bool primary,
                              std::shared_ptr<Context>& out) {
  auto context = std::make_shared<Context>();
  context->gpu = gpu;
  context->primary = primary;
  if (const CUresult result = equip(*context, flags); result != CUDA_SUCCESS) return result;
  context->handle = contexts.add(context);
  out = std::move(context);
  return CUDA_SUCCESS;
}

CUresult Driver::revive_context(Context& context, unsigned flags) {
  forget_past_life(context);
  return equip(context, flags);
}

// All that a context has at the beginning of its life.
CUresult Driver::equip(Context& context, unsigned flags) {
  if (lost[context.gpu] != CUDA_SUCCESS) return lost[context.gpu];
  ProcessGpu& books = machine->own_slot().gpu[context.gpu];
  const Model& model = machine->model();
  const bool first = books.contexts.load() == 0;
  context.charged_bytes =
      (first ? model.context_bytes : model.further_context_bytes) / machine->scale();
  if (!machine->charge(context.gpu, context.charged_bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  books.contexts.fetch_add(1);
  context.flags = flags;
  context.id = next_id++;
  context.key = machine->next_context_key();
  context.engine = make_engine(context);
  context.legacy = std::make_shared<Stream>();
  context.legacy->kind = StreamKind::legacy;
  context.legacy->context = &context;
  context.legacy->handle = CU_STREAM_LEGACY;
  context.legacy->id = next_id++;
  context.destroyed = false;
  return CUDA_SUCCESS;
}

std::shared_ptr<Engine> Driver::make_engine(Context& context) {
  return std::make_shared<Engine>(
      lock, *machine, context.gpu, context.key, [this, &context](const Op& op) {
        poison(context, CUDA_ERROR_ILLEGAL_ADDRESS,
               std::string(op.name()) + " touched memory that is not mapped, or not so");
      });
}

// Events, modules and settings do not outlive the context that they were made in, though its handle
// does.
void Driver::forget_past_life(const Context& context) {
  std::vector<CUevent> old_events;
  for (const auto& [value, event] : events.all()) {
    if (event->context == &context) old_events.push_back(event->handle);
  }
  for (const CUevent event : old_events) events.remove(event);
  std::vector<std::shared_ptr<Module>> old_modules;
  for (const auto& [value, module] : modules.all()) {
    if (module->context == &context) old_modules.push_back(module);
  }
  for (const auto& module : old_modules) {
    for (const auto& [name, function] : module->functions) functions.remove(function->handle);
    modules.remove(module->handle);
    unloaded_modules.push_back(module);
  }
  for (const auto& [value, library] : libraries.all()) {
    std::erase_if(library->modules, [&](const auto& entry) { return entry.first == &context; });
  }
}

// The memory of a context goes with it. Its record stays, so that a late use of the handle is told
// from a wrong one.
void Driver::destroy_context(Context& context) {
  if (context.destroyed) return;
  context.destroyed = true;
  context.engine->stop();
  stopped_engines.push_back(context.engine);
  for (const ValueWaiter& waiter : context.value_waiters) {
    waiter.engine->stop();
    stopped_engines.push_back(waiter.engine);
  }
  context.value_waiters.clear();
  context.barrier = nullptr;
  std::vector<std::uint64_t> doomed;
  for (const auto& [begin, mapping] : space.mappings()) {
    if (mapping.context == context.key) doomed.push_back(begin);
  }
  for (const std::uint64_t begin : doomed) free_plain(*this, begin);
  abandon_managed(*this, context);
  const std::vector<std::shared_ptr<Capture>> open = captures;
  for (const auto& capture : open) {
    if (capture->origin->context == &context) end_capture(capture);
  }
  for (const auto& stream : context.streams) streams.remove(stream->handle);
  context.streams.clear();
  context.per_thread.clear();
  context.limits.clear();
  context.peers = {};
  context.cache_config = CU_FUNC_CACHE_PREFER_NONE;
  machine->own_slot().gpu[context.gpu].contexts.fetch_sub(1);
  machine->refund(context.gpu, context.charged_bytes);
}

void Driver::end_capture(const std::shared_ptr<Capture>& capture) {
  for (Stream* stream : capture->streams) {
    stream->capture = nullptr;
    stream->capture_tail.clear();
  }
  for (const auto& [value, event] : events.all()) {
    if (event->capture != capture) continue;
    event->capture = nullptr;
    event->nodes.clear();
    event->capture_over = true;
  }
  std::erase(captures, capture);
}

// Measured on an H200: a fault costs the process every context it has on that GPU, bystanders
// included, and it gets no new one there.
void Driver::poison(Context& context, CUresult result, const std::string& why) {
  if (context.sticky != CUDA_SUCCESS) return;
  machine->record_violation(why);
  lost[context.gpu] = result;
  for (const auto& [value, other] : contexts.all()) {
    if (other->gpu != context.gpu || other->destroyed) continue;
    other->sticky = result;
    other->engine->stop();
    for (const ValueWaiter& waiter : other->value_waiters) waiter.engine->stop();
  }
}

}  // namespace nvs::sim
