// SPDX-License-Identifier: Apache-2.0
#include "interposer/resolve/libc.h"

#include <atomic>

#include "interposer/resolve/elf_symbols.h"

using DlsymFunction = void* (*)(void*, const char*);
using DlvsymFunction = void* (*)(void*, const char*, const char*);

// Read and called by assembly.
extern "C" {
std::atomic<DlsymFunction> nvs_next_dlsym __attribute__((visibility("hidden")));
std::atomic<DlvsymFunction> nvs_next_dlvsym __attribute__((visibility("hidden")));
__attribute__((visibility("hidden"))) DlsymFunction nvs_find_next_dlsym();
__attribute__((visibility("hidden"))) DlvsymFunction nvs_find_next_dlvsym();
}

namespace {

void* no_dlsym(void*, const char*) { return nullptr; }
void* no_dlvsym(void*, const char*, const char*) { return nullptr; }

// Every thread that gets here finds the same, so there is nothing to lock.
template <class Function>
Function remember(std::atomic<Function>& place, const char* name, Function otherwise) {
  auto function = reinterpret_cast<Function>(nvs::interposer::defined_elsewhere(name));
  if (function == nullptr) return otherwise;
  place.store(function, std::memory_order_relaxed);
  return function;
}

}  // namespace

DlsymFunction nvs_find_next_dlsym() { return remember(nvs_next_dlsym, "dlsym", &no_dlsym); }
DlvsymFunction nvs_find_next_dlvsym() { return remember(nvs_next_dlvsym, "dlvsym", &no_dlvsym); }

namespace nvs::interposer::libc {
namespace {

// A function by its type and name, looked up when first called. It is libc's own: a wrapper of it
// may call us again; and reading the tables takes no lock that the program might hold.
template <class Function>
class Lazy {
 public:
  explicit constexpr Lazy(const char* name) : name_(name) {}
  Function get() {
    Function function = function_.load(std::memory_order_relaxed);
    if (function != nullptr) return function;
    function = reinterpret_cast<Function>(defined_in_libc(name_));
    function_.store(function, std::memory_order_relaxed);
    return function;
  }

 private:
  const char* name_;
  std::atomic<Function> function_{nullptr};
};

// The types without the attributes that the headers' own declarations carry.
constinit Lazy<void* (*)(const char*, int)> dlopen_function{"dlopen"};
constinit Lazy<int (*)(void*)> dlclose_function{"dlclose"};
constinit Lazy<char* (*)()> dlerror_function{"dlerror"};
constinit Lazy<int (*)(const void*, Dl_info*, void**, int)> dladdr1_function{"dladdr1"};
constinit Lazy<int (*)(pthread_key_t*, void (*)(void*))> key_create_function{"pthread_key_create"};
constinit Lazy<int (*)(pthread_key_t, const void*)> setspecific_function{"pthread_setspecific"};
constinit Lazy<int (*)(int, int*)> cancel_function{"pthread_setcancelstate"};

}  // namespace

void* next_dlsym(void* handle, const char* name) {
  DlsymFunction function = nvs_next_dlsym.load(std::memory_order_relaxed);
  if (function == nullptr) function = nvs_find_next_dlsym();
  return function(handle, name);
}

void* next_dlvsym(void* handle, const char* name, const char* version) {
  DlvsymFunction function = nvs_next_dlvsym.load(std::memory_order_relaxed);
  if (function == nullptr) function = nvs_find_next_dlvsym();
  return function(handle, name, version);
}

void* open_loaded(const char* name) {
  const auto function = dlopen_function.get();
  return function != nullptr ? function(name, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
}

void close(void* handle) {
  if (const auto function = dlclose_function.get()) function(handle);
}

void clear_error() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc keeps it per thread
  if (const auto function = dlerror_function.get()) function();
}

const link_map* object_at(const void* address) {
  const auto function = dladdr1_function.get();
  Dl_info info{};
  void* object = nullptr;
  if (function == nullptr || function(address, &info, &object, RTLD_DL_LINKMAP) == 0) {
    return nullptr;
  }
  return static_cast<const link_map*>(object);
}

bool key_create(pthread_key_t* key, void (*destructor)(void*)) {
  const auto function = key_create_function.get();
  return function != nullptr && function(key, destructor) == 0;
}

void set_specific(pthread_key_t key, const void* value) {
  if (const auto function = setspecific_function.get()) function(key, value);
}

bool create_thread(void* (*run)(void*), void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  using Detach = int (*)(pthread_t);
  const auto create = reinterpret_cast<Create>(defined_elsewhere("pthread_create"));
  const auto detach = reinterpret_cast<Detach>(defined_elsewhere("pthread_detach"));
  pthread_t thread{};
  if (create == nullptr || detach == nullptr) return false;
  if (create(&thread, nullptr, run, argument) != 0) return false;
  detach(thread);
  return true;
}

NoCancel::NoCancel() {
  if (const auto function = cancel_function.get()) function(PTHREAD_CANCEL_DISABLE, &previous_);
}

NoCancel::~NoCancel() {
  if (const auto function = cancel_function.get()) function(previous_, &previous_);
}

}  // namespace nvs::interposer::libc
