// SPDX-License-Identifier: Apache-2.0
// System calls made without libc, for code that lives in other people's processes: nothing here can
// be intercepted, is a cancellation point, or touches errno. Each returns what the kernel returns,
// a negative errno where it failed.
#pragma once

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace nvs::os {

inline long system_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                        long f = 0) {
#if defined(__x86_64__)
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = f;
  __asm__ volatile("svc 0"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                   : "memory");
  return x0;
#else
#error "nvshare runs on x86-64 and aarch64"
#endif
}

// In a loop that waits for another processor.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  __asm__ volatile("yield");
#endif
}

// In one that waits for a thread which may need this processor.
inline void yield() { system_call(SYS_sched_yield); }

inline long argument(const volatile void* pointer) {
  return static_cast<long>(reinterpret_cast<uintptr_t>(pointer));
}
inline long argument(size_t size) { return static_cast<long>(size); }

// Sleeps while *word is `expected`, at most `timeout_ns` (forever if negative). Wakes up for no
// reason now and then, and for signals.
inline long futex_wait(const volatile uint32_t* word, uint32_t expected, int64_t timeout_ns = -1) {
  constexpr int64_t kSecond = 1'000'000'000;
  const timespec timeout{timeout_ns / kSecond, timeout_ns % kSecond};
  return system_call(SYS_futex, argument(word), FUTEX_WAIT_PRIVATE, expected,
                     timeout_ns < 0 ? 0 : argument(&timeout));
}

inline long futex_wake(const volatile uint32_t* word, int count) {
  return system_call(SYS_futex, argument(word), FUTEX_WAKE_PRIVATE, count);
}

// The same for a word that processes share.
inline long futex_wait_shared(const volatile uint32_t* word, uint32_t expected,
                              int64_t timeout_ns) {
  constexpr int64_t kSecond = 1'000'000'000;
  const timespec timeout{timeout_ns / kSecond, timeout_ns % kSecond};
  return system_call(SYS_futex, argument(word), FUTEX_WAIT, expected, argument(&timeout));
}
inline long futex_wake_shared(const volatile uint32_t* word, int count) {
  return system_call(SYS_futex, argument(word), FUTEX_WAKE, count);
}

inline long membarrier(int command) { return system_call(SYS_membarrier, command); }

inline int thread_id() { return static_cast<int>(system_call(SYS_gettid)); }
inline int process_id() { return static_cast<int>(system_call(SYS_getpid)); }
// 0 if the thread is there, -ESRCH if not.
inline long probe_thread(int process, int thread) {
  return system_call(SYS_tgkill, process, thread, 0);
}

inline int64_t monotonic_ns() {
  timespec now{};
  system_call(SYS_clock_gettime, CLOCK_MONOTONIC, argument(&now));
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

// What this thread has had of the processors; 0: that is not allowed to be known.
inline int64_t thread_processor_ns() {
  timespec used{};
  system_call(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, argument(&used));
  return used.tv_sec * 1'000'000'000 + used.tv_nsec;
}

inline void sleep_ns(int64_t duration_ns) {
  const timespec duration{duration_ns / 1'000'000'000, duration_ns % 1'000'000'000};
  system_call(SYS_nanosleep, argument(&duration));
}

// How much longer than asked the calling thread may sleep.
inline long timer_slack_ns() { return system_call(SYS_prctl, PR_GET_TIMERSLACK); }
inline void set_timer_slack_ns(long slack_ns) {
  system_call(SYS_prctl, PR_SET_TIMERSLACK, slack_ns);
}

inline long open_file(const char* path, int flags, int mode = 0) {
  return system_call(SYS_openat, AT_FDCWD, argument(path), flags, mode);
}
inline bool is_there(const char* path) {
  return system_call(SYS_faccessat, AT_FDCWD, argument(path), F_OK) == 0;
}
inline long close_file(int fd) { return system_call(SYS_close, fd); }
inline long read_file(int fd, void* data, size_t size) {
  return system_call(SYS_read, fd, argument(data), argument(size));
}
inline long write_file(int fd, const void* data, size_t size) {
  return system_call(SYS_write, fd, argument(data), argument(size));
}

// Fresh zeroed pages; null if there are none.
inline void* map_pages(size_t size) {
  const long address = system_call(SYS_mmap, 0, argument(size), PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  constexpr long kMaxErrno = 4095;
  if (address < 0 && address >= -kMaxErrno) return nullptr;
  return reinterpret_cast<void*>(address);
}
inline long unmap_pages(void* address, size_t size) {
  return system_call(SYS_munmap, argument(address), argument(size));
}

}  // namespace nvs::os
