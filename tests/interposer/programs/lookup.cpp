// SPDX-License-Identifier: Apache-2.0
// The ways to ask for the driver's functions, where there is a driver, half of one, or none.
#include "tests/interposer/fake/rows.h"
#include "tests/interposer/programs/program.h"

namespace nvs::program {
namespace {

// The error that is pending, and that asking for it takes it away.
void print_error(const char* text) {
  std::printf("  error: %s\n", text != nullptr ? text : "none");
  std::printf("  then: %s\n", ::dlerror() == nullptr ? "none" : "another");
}

void print_answer(const char* what, const char* name, void* address) {
  std::printf("%s %s: %s\n", what, name, address != nullptr ? "there" : "null");
  print_error(::dlerror());
}

// The same for a question that names no library. The loader's text then begins with the file that
// asked, which is ours where our dlsym had to ask for the program: that word is not compared.
void print_answer_of_all(const char* what, const char* name, void* address) {
  std::printf("%s %s: %s\n", what, name, address != nullptr ? "there" : "null");
  const char* const text = ::dlerror();
  const char* const undefined = text != nullptr ? std::strstr(text, "undefined symbol") : nullptr;
  print_error(undefined != nullptr ? undefined : text);
}

void ask_everywhere(const char* name) {
  print_answer_of_all("default", name, ::dlsym(RTLD_DEFAULT, name));
  print_answer_of_all("next", name, ::dlsym(RTLD_NEXT, name));
  void* const self = ::dlopen(nullptr, RTLD_NOW);
  print_answer_of_all("program", name, ::dlsym(self, name));
  print_answer_of_all("version", name, ::dlvsym(RTLD_DEFAULT, name, "GLIBC_2.2.5"));
}

int absent() {
  for (const char* name : {"cuInit", "cuLaunchKernel", "cuGetProcAddress", "nvmlInit_v2"}) {
    ask_everywhere(name);
  }
  for (const char* library : {"libcuda.so.1", "libcuda.so", "libnvidia-ml.so.1"}) {
    print_answer("open", library, ::dlopen(library, RTLD_NOW));
  }
  for (const char* name : {"cuInit", "cuLaunchKernel", "nvmlDeviceGetMemoryInfo"}) {
    ask_everywhere(name);
  }
  return 0;
}

// Loaded for its own use alone, and then for all.
int scopes() {
  constexpr const char* kNames[] = {"cuInit", "cuLaunchKernel", "cuMemAlloc_v2"};
  for (const char* name : kNames) ask_everywhere(name);
  void* const own = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  std::puts("local");
  for (const char* name : kNames) ask_everywhere(name);
  for (const char* name : kNames) print_answer("handle", name, ::dlsym(own, name));
  void* const shared = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  std::puts("global");
  for (const char* name : kNames) {
    ask_everywhere(name);
    const bool same = ::dlsym(own, name) == ::dlsym(RTLD_DEFAULT, name);
    std::printf("%s: %s by both ways\n", name, same ? "the same" : "another");
    evidence(name, ::dlsym(shared, name));
  }
  return 0;
}

int unknown_names() {
  driver();
  for (const char* name :
       {"cu", "cuNoSuchFunction", "cuLaunchKernelX", "cuLaunchKerne", "nvml", "nvmlNoSuchFunction",
        "cublasCreate_v2", "cudaMalloc", "", "c", "n", "dlsy", "fake_nothing"}) {
    print_answer("handle", name, ::dlsym(driver(), name));
    print_answer_of_all("default", name, ::dlsym(RTLD_DEFAULT, name));
  }
  return 0;
}

// Names that are none of the library's business lead to whoever has them.
int other_names() {
  for (const char* name : {"malloc", "free", "strcmp", "pthread_create", "printf", "dlopen"}) {
    std::printf("%s: default %s, next %s\n", name, file_of(::dlsym(RTLD_DEFAULT, name)),
                file_of(::dlsym(RTLD_NEXT, name)));
  }
#if defined(__x86_64__)
  std::printf("malloc by version: %s\n", file_of(::dlvsym(RTLD_DEFAULT, "malloc", "GLIBC_2.2.5")));
#endif
  print_answer("version", "malloc", ::dlvsym(RTLD_DEFAULT, "malloc", "GLIBC_0.1"));
  print_answer("version", "malloc", ::dlvsym(RTLD_NEXT, "malloc", "GLIBC_0.1"));
  return 0;
}

// The whole table, where the driver may lack much of it.
int presence() {
  for (const fake::Entry& entry : fake::kEntries) {
    print_answer("handle", entry.symbol, ::dlsym(driver(), entry.symbol));
  }
  auto* const get =
      reinterpret_cast<decltype(&cuGetProcAddress_v2)>(::dlsym(driver(), "cuGetProcAddress_v2"));
  auto* const get_old =
      reinterpret_cast<decltype(&cuGetProcAddress)>(::dlsym(driver(), "cuGetProcAddress"));
  for (const fake::Entry& entry : fake::kEntries) {
    void* address = nullptr;
    CUdriverProcAddressQueryResult status{};
    if (get != nullptr) {
      const CUresult result = get(entry.name, &address, 13000, 0, &status);
      std::printf("%s: %d, status %d, %s\n", entry.name, result, status,
                  address != nullptr ? "there" : "null");
    }
    if (get_old != nullptr) {
      const CUresult result = get_old(entry.name, &address, 13000, 0);
      std::printf("%s: %d, %s\n", entry.name, result, address != nullptr ? "there" : "null");
    }
  }
  return 0;
}

void launch_by(const char* way, decltype(&cuLaunchKernel) launch) {
  const unsigned before = NVS_FIND(fake_launches)();
  const CUresult result = launch(nullptr, 17, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
  std::printf("%s: %d, %u launch\n", way, result, NVS_FIND(fake_launches)() - before);
  evidence_of(way, launch);
}

// A pointer is good whenever it was fetched, and is the same whichever way it was.
int early_and_late() {
  auto* const early = NVS_FIND(cuLaunchKernel);
  auto* const get = NVS_FIND(cuGetProcAddress_v2);
  void* asked = nullptr;
  NVS_DO(get("cuLaunchKernel", &asked, 13000, 0, nullptr));
  launch_by("before the first call", early);
  NVS_DO(NVS_FIND(cuInit)(0));
  CUcontext context = nullptr;
  NVS_DO(NVS_FIND(cuCtxCreate_v2)(&context, 0, 0));
  launch_by("early", early);
  launch_by("asked", reinterpret_cast<decltype(&cuLaunchKernel)>(asked));
  void* asked_late = nullptr;
  NVS_DO(get("cuLaunchKernel", &asked_late, 13000, 0, nullptr));
  launch_by("asked late", reinterpret_cast<decltype(&cuLaunchKernel)>(asked_late));
  std::printf("%s, %s\n", asked == reinterpret_cast<void*>(early) ? "the same" : "another",
              asked_late == asked ? "the same" : "another");
  // The look-up function by the look-up function.
  void* again = nullptr;
  NVS_DO(get("cuGetProcAddress", &again, 13000, 0, nullptr));
  std::printf("%s\n", again == reinterpret_cast<void*>(get) ? "the same" : "another");
  return 0;
}

// Nonsense gets the driver's own answer.
int wrong_questions() {
  auto* const get = NVS_FIND(cuGetProcAddress_v2);
  void* address = nullptr;
  CUdriverProcAddressQueryResult status{};
  std::printf("no name: %d\n", get(nullptr, &address, 13000, 0, &status));
  std::printf("no place: %d\n", get("cuInit", nullptr, 13000, 0, &status));
  std::printf("no status: %d\n", get("cuInit", &address, 13000, 0, nullptr));
  std::printf("wrong flags: %d\n", get("cuLaunchKernel", &address, 13000, 7, &status));
  for (const int version : {-1, 0, 3000, 3020, 7000, 12000, 99990}) {
    for (const char* name : {"cuMemAlloc", "cuLaunchKernel", "cuLaunchKernelEx", "nvmlInit"}) {
      status = CU_GET_PROC_ADDRESS_SUCCESS;
      const CUresult result = get(name, &address, version, 2, &status);
      std::printf("%s %d: %d, %d, %s\n", name, version, result, status,
                  address != nullptr ? "there" : "null");
    }
  }
  return 0;
}

// Closing the driver and opening it anew, over and over.
int open_and_close() {
  for (int round = 0; round < 50; ++round) {
    void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
    auto* const init = find<decltype(cuInit)>("cuInit", library);
    auto* const launch = find<decltype(cuLaunchKernel)>("cuLaunchKernel", library);
    const int result = init(0);
    const int launched = launch(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr);
    const int closed = ::dlclose(library);
    if (round % 10 == 0) std::printf("%d %d %d\n", result, launched, closed);
  }
  evidence("cuLaunchKernel", ::dlsym(driver(), "cuLaunchKernel"));
  return 0;
}

// Where the driver's symbols have versions, which they can be asked for by.
int versions() {
  for (const char* version : {"FAKE_1", "FAKE_2", "GLIBC_2.2.5", ""}) {
    for (const char* name : {"cuInit", "cuLaunchKernel", "cuNoSuchFunction"}) {
      print_answer(version, name, ::dlvsym(driver(), name, version));
    }
  }
  void* const plain = ::dlsym(driver(), "cuLaunchKernel");
  void* const versioned = ::dlvsym(driver(), "cuLaunchKernel", "FAKE_1");
  std::printf("%s\n", plain == versioned ? "the same" : "another");
  launch_by("dlvsym", reinterpret_cast<decltype(&cuLaunchKernel)>(versioned));
  return 0;
}

// Our library opened like a plug-in, which it is not meant to be.
int open_ours() {
  if (std::getenv("LD_PRELOAD") == nullptr) {
    const char* const path = std::getenv("NVS_TEST_LIBRARY");
    for (int round = 0; round < 3; ++round) {
      void* const ours = ::dlopen(path, RTLD_NOW | (round == 2 ? RTLD_GLOBAL : RTLD_LOCAL));
      if (ours == nullptr) give_up(::dlerror());
      if (::dlclose(ours) != 0) give_up("dlclose");
    }
  }
  NVS_DO(NVS_FIND(cuInit)(0));
  launch_by("dlsym", NVS_FIND(cuLaunchKernel));
  std::printf("error: %s\n", ::dlerror() == nullptr ? "none" : "one");
  return 0;
}

constexpr Case kCases[] = {
    {"absent", absent},
    {"scopes", scopes},
    {"unknown_names", unknown_names},
    {"other_names", other_names},
    {"presence", presence},
    {"early_and_late", early_and_late},
    {"wrong_questions", wrong_questions},
    {"open_and_close", open_and_close},
    {"versions", versions},
    {"open_ours", open_ours},
};

}  // namespace
}  // namespace nvs::program

int main(int argc, char** argv) { return nvs::program::run_case(argc, argv, nvs::program::kCases); }
