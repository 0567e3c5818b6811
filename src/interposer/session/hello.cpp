// SPDX-License-Identifier: Apache-2.0
#include "interposer/session/hello.h"

#include "interposer/plain_string.h"
#include "os/linux_calls.h"
#include "wire/run_number.h"

namespace nvs::interposer::session {
namespace {

// Copies what fits before the final zero.
void copy_text(char* place, std::size_t capacity, const char* text) {
  std::size_t size = 0;
  for (; text != nullptr && text[size] != '\0' && size + 1 < capacity; ++size) {
    place[size] = text[size];
  }
  for (; size < capacity; ++size) place[size] = '\0';
}

// A limit that does not fit must not be taken for what its beginning says.
void copy_limit(char* place, std::size_t capacity, const char* text) {
  std::size_t size = 0;
  while (text != nullptr && text[size] != '\0' && size < capacity) ++size;
  copy_text(place, capacity, size < capacity ? text : "too long");
}

// Of a list with commas. All of them are slots of one pod.
void copy_first(char* place, std::size_t capacity, const char* list) {
  copy_text(place, capacity, list);
  for (std::size_t i = 0; i < capacity; ++i) {
    if (place[i] != ',') continue;
    for (; i < capacity; ++i) place[i] = '\0';
  }
}

const char* base_name(const char* path) {
  const char* name = path;
  for (; *path != '\0'; ++path) {
    if (*path == '/' && path[1] != '\0') name = path + 1;
  }
  return name;
}

wire::WirePriority parse_priority(const char* text) {
  if (text == nullptr) return wire::WirePriority::unset;
  if (equal(text, "low")) return wire::WirePriority::low;
  if (equal(text, "normal")) return wire::WirePriority::normal;
  if (equal(text, "high")) return wire::WirePriority::high;
  return wire::WirePriority::unset;
}

}  // namespace

void label_of(const char* arguments, std::size_t size, char* label, std::size_t capacity) {
  const char* const end = arguments + size;
  const char* chosen = base_name(arguments);
  if (after_prefix(chosen, "python") != nullptr) {
    for (const char* at = arguments; at < end; ++at) {
      if (*at != '\0' || at + 1 >= end) continue;
      const char* const next = at + 1;
      // `python -m module` is known by its module, `python -c …` by nothing better than python.
      if (equal(next, "-m")) {
        const char* const module = next + 3;
        if (module < end) chosen = module;
        break;
      }
      if (equal(next, "-c")) break;
      if (*next == '-') continue;
      chosen = base_name(next);
      break;
    }
  }
  copy_text(label, capacity, chosen);
}

wire::Hello make_hello(const Settings& settings) {
  wire::Hello hello;
  hello.priority = static_cast<wire::u32>(parse_priority(settings.priority));
  hello.run = wire::parse_run(settings.run);
  copy_text(hello.pod, sizeof hello.pod, settings.pod);
  copy_text(hello.pod_namespace, sizeof hello.pod_namespace, settings.pod_namespace);
  copy_limit(hello.memory_limit, sizeof hello.memory_limit, settings.memory_limit);
  copy_limit(hello.core_limit, sizeof hello.core_limit, settings.core_limit);
  copy_first(hello.slot, sizeof hello.slot, settings.slot);
  // Older daemons know only of both together.
  const bool is_both = settings.memory_of_run && settings.cores_of_run;
  if (is_both) hello.flags |= wire::kLimitsOfRun;
  if (settings.memory_of_run) hello.flags |= wire::kMemoryOfRun;
  if (settings.cores_of_run) hello.flags |= wire::kCoresOfRun;
  char arguments[1024] = {};
  const long file = os::open_file("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (file >= 0) {
    const long size = os::read_file(static_cast<int>(file), arguments, sizeof arguments - 1);
    os::close_file(static_cast<int>(file));
    if (size > 0) {
      label_of(arguments, static_cast<std::size_t>(size), hello.program, sizeof hello.program);
    }
  }
  return hello;
}

}  // namespace nvs::interposer::session
