// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/session.h"

#include <bit>

#include "interposer/events/event_times.h"
#include "interposer/exports/real.h"
#include "interposer/flow/flow.h"
#include "interposer/memory/swap/reach.h"
#include "interposer/resolve/clock.h"
#include "interposer/resolve/libc.h"
#include "interposer/session/captures.h"
#include "interposer/session/client.h"
#include "interposer/session/connection.h"
#include "interposer/session/contexts.h"
#include "interposer/session/drain.h"
#include "interposer/session/faults.h"
#include "interposer/session/hello.h"
#include "interposer/session/listen.h"
#include "interposer/session/memory.h"
#include "interposer/session/onlooker.h"
#include "interposer/session/retains.h"
#include "interposer/session/tend.h"
#include "interposer/session/thread.h"

namespace nvs::interposer::session {

constinit os::FutexLock lock;
constinit Gpu gpus[gate::kGpusMax] = {};
constinit std::atomic<bool> wanted[gate::kGpusMax] = {};
constinit std::uint32_t held = 0;
constinit bool paused = false;

namespace {

constinit os::FutexLock start_lock;  // guards the first use of a GPU, which calls the driver
constinit std::atomic<bool> configured{false};
constinit bool started = false;
constinit wire::Hello hello = {};
// One bit for each GPU that was used.
constinit std::atomic<std::uint32_t> used{0};

bool find_uuid(int gpu, std::uint8_t (&uuid)[16]) {
  CUuuid found{};
  const auto newer = real<Row::cuDeviceGetUuid_v2>();
  const auto older = real<Row::cuDeviceGetUuid>();
  const auto ask = newer != nullptr ? newer : older;
  if (ask == nullptr || ask(&found, gpu) != CUDA_SUCCESS) return false;
  static_assert(sizeof found.bytes == sizeof uuid);
  for (std::size_t i = 0; i < sizeof uuid; ++i) {
    uuid[i] = static_cast<std::uint8_t>(found.bytes[i]);
  }
  return true;
}

// With the start lock held. The connection is made here and not on the thread, so that the very
// first submission already waits for its turn.
bool start() {
  if (started) return true;
  if (!configured) return false;
  {
    const os::FutexGuard guard(lock);
    if (connection::connect()) say_hello();
  }
  started = start_thread(&listen, nullptr);
  if (!started) {
    connection::disconnect();
    configured = false;
  }
  return started;
}

// Where nobody shares out memory, it is the driver's, and nothing has to be looked at.
void note_several() {
  const std::uint32_t bits = used.load(std::memory_order_acquire);
  const bool is_so = (bits & (bits - 1)) != 0 && has_any_daemon();
  if (is_so) gate::several.store(1, std::memory_order_release);
}

// Whether the program is about to submit something.
enum class Use : std::uint8_t { soon, perhaps };

void use(int gpu, Use how) {
  const libc::NoCancel no_cancel;  // the driver is called with a lock held
  const os::FutexGuard start_guard(start_lock);
  if ((used.load(std::memory_order_relaxed) & (1U << gpu)) != 0) return;
  std::uint8_t uuid[16] = {};
  if (start() && find_uuid(gpu, uuid)) {
    const os::FutexGuard guard(lock);
    Gpu& mine = gpus[gpu];
    for (std::size_t i = 0; i < sizeof uuid; ++i) mine.uuid[i] = uuid[i];
    mine.phase = Phase::open;
    if (connection::is_connected() && drain::prepare(gpu)) {
      while (!gate::begin_close(gpu)) {
      }
      mine.phase = Phase::closed;
      mine.marked = true;
      if (how == Use::soon) events::times().begin_first_wait(gpu);
      if (announce(gpu)) {
        if (how == Use::soon) tell_want(gpu);
      } else {
        mine.unserved = true;  // the daemon must not hear of a GPU that it was not told of
        open_alone(gpu);
      }
    }
  }
  used.fetch_or(1U << gpu, std::memory_order_release);
  note_several();
}

}  // namespace

wire::Hello hello_message() { return hello; }

void say_hello() {
  wire::Hello message = hello;
  if (paused) message.flags |= wire::kPaused;
  connection::send(message);
}

void begin_bill(int gpu, bool billed) {
  gpus[gpu].account.begin(clock_ns(), flow::paused_ns(gpu), billed);
}
void end_bill(int gpu) { gpus[gpu].account.end(clock_ns()); }

bool tell_work(int gpu, const WorkAccount::Word& word) {
  const auto span_ns = static_cast<wire::u64>(word.span_ns);
  if (word.idle) {
    auto message = about<wire::Idle>(gpu);
    message.quiet_ns = span_ns;
    return connection::send(message) != connection::Outcome::again;
  }
  auto message = about<wire::Busy>(gpu);
  message.since_ns = span_ns;
  return connection::send(message) != connection::Outcome::again;
}

bool tell_busy(int gpu) {
  Gpu& mine = gpus[gpu];
  mine.owes_busy = mine.owes_busy && mine.phase == Phase::open;
  if (!mine.owes_busy) return true;
  if (!tell_work(gpu, {true, false, 0})) return false;
  mine.owes_busy = false;
  begin_bill(gpu, true);
  return true;
}

bool announce(int gpu) {
  end_bill(gpu);
  wire::UseGpu message;
  message.used_ns = static_cast<wire::u64>(gpus[gpu].account.used_ns(clock_ns()));
  message.ordinal = static_cast<wire::u32>(gpu);
  message.flags = gpus[gpu].phase == Phase::open ? wire::u32{wire::kGateOpen} : 0U;
  for (std::size_t i = 0; i < sizeof message.uuid; ++i) message.uuid[i] = gpus[gpu].uuid[i];
  memory_announces(gpu);  // first: the answer may be here before we are back from sending
  note_several();
  if (connection::send(message) != connection::Outcome::done) return false;
  memory_announced(gpu);
  return true;
}

void note_closed(int gpu) {
  gpus[gpu].phase = Phase::closed;
  gpus[gpu].marked = true;
  gpus[gpu].unsettled = false;
  if (wanted[gpu].load()) events::times().begin_wait(gpu);
}

void open_gate(int gpu) {
  events::times().end_wait(gpu);
  if ((held & (1U << gpu)) == 0) gate::open(gpu);
}

// A GPU that can reach memory of another one needs that as well: what is wanted there comes in its
// turn, and until then the daemon opens neither.
void want_owners(int gpu) {
  for (std::uint32_t left = swap::lacking(gpu); left != 0; left &= left - 1) {
    const int owner = std::countr_zero(left);
    const Phase phase = gpus[owner].phase;
    const bool is_closed = phase == Phase::closed || phase == Phase::draining;
    if (is_closed && !wanted[owner].load()) tell_want(owner);
  }
}

void tell_want(int gpu) {
  wanted[gpu].store(true);
  if (gate::several.load() != 0) want_owners(gpu);
  if (gpus[gpu].phase == Phase::closed) events::times().begin_wait(gpu);
  wire::Want message;
  message.ordinal = static_cast<wire::u32>(gpu);
  // One that the daemon was not told of opens by itself, when what it reaches has come.
  const bool is_told =
      !gpus[gpu].unserved && connection::send(message) == connection::Outcome::done;
  if (!is_told) wanted[gpu].store(false);
}

void set_gate_bounded() {
  bool any = false;
  for (int gpu = 0; gpu < gate::kGpusMax; ++gpu) any = any || flow::is_bounded(gpu);
  gate::set_bounded(any);
}

void lift_bound(int gpu) {
  gpus[gpu].bounded = false;
  gpus[gpu].marked = false;
  gpus[gpu].bounded_alone_ns = 0;
  flow::set_bound(gpu, 0);
  set_gate_bounded();
}

void open_alone(int gpu) {
  Gpu& mine = gpus[gpu];
  drain::cancel(gpu);
  memory_alone(gpu);
  mine.grant = 0;
  mine.awaited = false;
  mine.bounded = mine.capped = false;
  wanted[gpu].store(false);
  end_bill(gpu);
  flow::lose_track(gpu);
  if (flow::is_bounded(gpu) && mine.bounded_alone_ns == 0) mine.bounded_alone_ns = clock_ns();
  // A gate that is open is so because all was there.
  mine.opens_alone = mine.phase == Phase::closed && !begin_window(gpu);
  if (mine.opens_alone || mine.phase == Phase::faulted) return;  // that one is open
  mine.phase = mine.unserved ? Phase::free : Phase::open;
  open_gate(gpu);
}

void configure(const Settings& settings) {
  const bool has_folder = settings.folder != nullptr && settings.folder[0] != '\0';
  hello = make_hello(settings);
  configured = connection::set_folder(has_folder ? settings.folder : wire::kDefaultFolder);
}

void gpu_used(int gpu) {
  if (gpu < 0 || gpu >= gate::kGpusMax) return;
  if ((used.load(std::memory_order_acquire) & (1U << gpu)) == 0) use(gpu, Use::soon);
}

void gpu_seen(int gpu) {
  if (gpu < 0 || gpu >= gate::kGpusMax) return;
  if ((used.load(std::memory_order_acquire) & (1U << gpu)) != 0) return;
  if (configured && connection::has_socket()) use(gpu, Use::perhaps);
}

void want(int gpu) {
  if (wanted[gpu].load(std::memory_order_acquire)) return;
  const os::FutexGuard guard(lock);
  const Phase phase = gpus[gpu].phase;
  if (phase != Phase::closed && phase != Phase::draining) return;
  if (wanted[gpu].load()) return;
  tell_want(gpu);
  flow::gate_met_closed(gpu);
}

int only_gpu() {
  const std::uint32_t bits = used.load(std::memory_order_acquire);
  const bool is_one = bits != 0 && (bits & (bits - 1)) == 0;
  return is_one ? std::countr_zero(bits) : -1;
}

void start_over_in_child() {
  lock.reset();
  start_lock.reset();
  connection::start_over_in_child();
  drain::start_over_in_child();
  contexts::start_over_in_child();
  retains::start_over_in_child();
  faults::start_over_in_child();
  captures::start_over_in_child();
  flow::start_over_in_child();
  forget_daemon();
  memory_start_over_in_child();
  forget_looks_in_child();
  events::times().start_over_in_child();
  started = false;
  paused = false;
  held = 0;
  used.store(0, std::memory_order_relaxed);
  for (Gpu& gpu : gpus) gpu = {};
  for (auto& flag : wanted) flag.store(false, std::memory_order_relaxed);
}

}  // namespace nvs::interposer::session
