// SPDX-License-Identifier: Apache-2.0
// Entry points: events passed between processes by value. The handle names the exporting process
// and its descriptor of the event's page, which the importing process opens through /proc.
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "cuda_sim/api/call.h"

using namespace nvs::sim;

namespace {

struct EventTicket {
  std::uint64_t magic;
  std::int32_t pid;
  std::int32_t fd;
};
constexpr std::uint64_t kTicketMagic = 0x6e76736970633065;  // "nvsipc0e"
static_assert(sizeof(EventTicket) <= sizeof(CUipcEventHandle));

}  // namespace

NVS_SIM(cuIpcGetEventHandle, (CUipcEventHandle * out, CUevent handle), out, handle) {
  if (out == nullptr || handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  const auto event = d.events.find(handle);
  if (!event || !event->shared) return CUDA_ERROR_INVALID_HANDLE;
  const EventTicket ticket{kTicketMagic, ::getpid(), event->shared->fd()};
  std::memset(out, 0, sizeof *out);
  std::memcpy(out, &ticket, sizeof ticket);
  return CUDA_SUCCESS;
}

NVS_SIM(cuIpcOpenEventHandle, (CUevent * out, CUipcEventHandle handle), out, handle) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  EventTicket ticket{};
  std::memcpy(&ticket, &handle, sizeof ticket);
  Driver& d = driver();
  const std::lock_guard guard{d.lock};
  NVS_SIM_CONTEXT(context)
  if (ticket.magic != kTicketMagic) return CUDA_ERROR_MAP_FAILED;
  if (ticket.pid == ::getpid()) return CUDA_ERROR_INVALID_CONTEXT;
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", ticket.pid, ticket.fd);
  auto shared = SharedEvent::open(nvs::UniqueFd{::open(path, O_RDWR | O_CLOEXEC)});
  if (!shared) return CUDA_ERROR_MAP_FAILED;
  auto event = std::make_shared<Event>();
  event->context = context.get();
  event->flags = CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
  event->shared = std::move(shared);
  event->handle = d.events.add(event);
  *out = event->handle;
  return CUDA_SUCCESS;
}
