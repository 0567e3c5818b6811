// SPDX-License-Identifier: Apache-2.0
#include "interposer/debug/log.h"

#include <atomic>

#include "interposer/debug/last_words.h"
#include "interposer/debug/log_file.h"
#include "interposer/debug/quiet_write.h"
#include "os/linux_calls.h"

namespace nvs::interposer::debug {
namespace {

constexpr int kStandardError = 2;
constexpr std::size_t kNameMax = 100;

// Written by start() before `on` is set, and read only after.
struct Log {
  std::atomic<bool> on{false};
  int process = 0;
  LogFile file;
  FileIdentity file_identity;
  FileIdentity error_identity;
  std::atomic<std::uint64_t> unknown_names[kUnknownNamesMax] = {};
  std::atomic<bool> too_many_names{false};
};
constinit Log state;

// Not every child comes by way of fork(): the pid tells.
bool is_our_process() { return os::process_id() == state.process; }

void write_error(const TextBuffer& line) {
  quiet_write(kStandardError, state.error_identity, line.data(), line.size());
}

void say_hello() {
  Text<kPathMax + 256> line;
  line.append("nvshare: " NVS_VERSION ", pid ").number(static_cast<unsigned>(state.process));
  if (state.file.fd >= 0) {
    line.append(", debug log in ").append(state.file.path).append('\n');
  } else {
    line.append(", no debug log: ").append(state.file.path).append(": ");
    append_error(line, state.file.error);
    line.append('\n');
  }
  write_error(line);
}

void write_header() {
  Text<kTextMax> lines;
  begin_line(lines).append("nvshare " NVS_VERSION "\n");
  char name[32] = {};
  const long fd = os::open_file("/proc/self/comm", O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    const long length = os::read_file(static_cast<int>(fd), name, sizeof(name) - 1);
    os::close_file(static_cast<int>(fd));
    if (length > 0 && name[length - 1] == '\n') name[length - 1] = '\0';
  }
  begin_line(lines).append("program ").printable(name, sizeof(name)).append('\n');
  write_log(lines);
}

// FNV-1a; never 0, which means an empty place.
std::uint64_t hash_of(const char* name) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (; *name != '\0'; ++name) {
    hash = (hash ^ static_cast<unsigned char>(*name)) * 0x100000001b3U;
  }
  return hash == 0 ? 1 : hash;
}

// Without NVSHARE_DEBUG this is one comparison.
__attribute__((destructor)) void at_exit() {
  if (enabled()) say_last_words();
}

enum class Seen { first, again, no_room };

Seen remember(std::uint64_t hash) {
  for (std::atomic<std::uint64_t>& place : state.unknown_names) {
    std::uint64_t found = 0;
    if (place.compare_exchange_strong(found, hash)) return Seen::first;
    if (found == hash) return Seen::again;
  }
  return Seen::no_room;
}

}  // namespace

void start(const char* file) {
  state.process = os::process_id();
  state.error_identity = identity_of(kStandardError);
  open_log_file(file, state.process, state.file);
  if (state.file.fd >= 0) state.file_identity = identity_of(state.file.fd);
  state.on.store(true, std::memory_order_release);
  say_hello();
  write_header();
}

bool enabled() { return state.on.load(std::memory_order_acquire); }

void stop_in_child() { state.on.store(false, std::memory_order_relaxed); }

TextBuffer& begin_line(TextBuffer& text) {
  return text.number(static_cast<unsigned>(state.process)).append(' ');
}

void write_log(const TextBuffer& lines) {
  if (!enabled() || state.file.fd < 0 || !is_our_process()) return;
  quiet_write(state.file.fd, state.file_identity, lines.data(), lines.size());
}

void note_unknown_name(const char* name) {
  if (!enabled()) return;
  Text<kTextMax> line;
  switch (remember(hash_of(name))) {
    case Seen::again:
      return;
    case Seen::first:
      begin_line(line).append("unknown name ").printable(name, kNameMax).append('\n');
      break;
    case Seen::no_room:
      if (state.too_many_names.exchange(true)) return;
      begin_line(line).append("more unknown names, which are not shown\n");
      break;
  }
  write_log(line);
}

void finish(std::uint64_t bytes_peak, std::uint64_t allocations) {
  if (!enabled() || !is_our_process()) return;
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
  const std::uint64_t tenths = bytes_peak / kMiB * 10 + (bytes_peak % kMiB * 10 + kMiB / 2) / kMiB;
  Text<kPathMax + 256> line;
  line.append("nvshare: pid ").number(static_cast<unsigned>(state.process)).append(", peak ");
  line.number(tenths / 10).append('.').number(tenths % 10).append(" MiB in ").number(allocations);
  line.append(allocations == 1 ? " allocation, " : " allocations, ");
  if (state.file.fd >= 0) {
    line.append("details in ").append(state.file.path).append('\n');
  } else {
    line.append("no details\n");
  }
  write_error(line);
  state.on.store(false, std::memory_order_release);
}

}  // namespace nvs::interposer::debug
