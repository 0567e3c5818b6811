// SPDX-License-Identifier: Apache-2.0
// What swapping costs beside the memory's way over the bus: making host memory known to the driver
// while the same process submits kernels, and what another process's requests feel of each thing
// that a swap does. The sizes of pieces in src/interposer/memory/swap follow from it.
//   g++ -std=c++20 -O2 -I. -Isrc -o swap_costs tests/gpu/programs/swap_costs.cpp -ldl -pthread &&
//   ./swap_costs
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <new>
#include <thread>
#include <vector>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "own_gpu.h"

namespace {

using namespace nvs::programs;

constexpr std::size_t kMiB = std::size_t{1} << 20U;
constexpr double kKernelUs = 1700;
constexpr std::uint64_t kRequestElements = 4096;

constexpr char kUsage[] =
    "usage: swap_costs [--quick]\n"
    "\n"
    "Measures what cuMemHostRegister does to the kernels of its process, and what another "
    "process's\n"
    "requests feel of a swap's parts. Prints two tables as Markdown. It takes about ten seconds.\n"
    "\n"
    "  --quick   small and short: to see that it runs, not to measure\n"
    "  --help    this text\n"
    "\n"
    "The driver is libcuda.so.1, or what NVSHARE_CUDA_LIBRARY names; the GPU is the first one.\n";

struct Size {
  std::size_t host = 1024 * kMiB;
  std::size_t chunk = 64 * kMiB;
  double beside_us = 700'000;
  int kernels = 50;
};
constexpr Size kQuick{.host = 64 * kMiB, .chunk = 2 * kMiB, .beside_us = 20'000, .kernels = 2};

void must(const Driver& driver, CUresult result, const char* call) { driver.check(result, call); }
#define MUST(driver, function, ...) must(driver, (driver).function(__VA_ARGS__), #function)

// A memfd, as the daemon lends them, with all of its pages there.
char* touched_memfd(std::size_t bytes) {
  const int file = memfd_create("swap_costs", 0);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) fail("memfd", "no memory");
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (pages == MAP_FAILED) fail("mmap", "no memory");
  std::memset(pages, 1, bytes);
  return static_cast<char*>(pages);
}

// Kernels back to back, two of them queued, until it is told to stop.
class Busy {
 public:
  Busy(Gpu& gpu, std::uint64_t elements) : gpu_(gpu), elements_(elements) {
    MUST(gpu.driver(), cuCtxGetCurrent, &context_);
    thread_ = std::thread([this] { run(); });
  }
  ~Busy() {
    stop_ = true;
    thread_.join();
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

  long kernels() const { return kernels_; }
  double longest_us() const { return longest_us_; }
  void forget_longest() { longest_us_ = 0; }

 private:
  void run() {
    const Driver& driver = gpu_.driver();
    MUST(driver, cuCtxSetCurrent, context_);
    std::array<CUevent, 2> ends{};
    for (CUevent& end : ends) MUST(driver, cuEventCreate, &end, CU_EVENT_DISABLE_TIMING);
    for (long i = 0; !stop_; ++i) {
      CUevent const end = ends[static_cast<std::size_t>(i) % ends.size()];
      while (driver.cuEventQuery(end) == CUDA_ERROR_NOT_READY) usleep(20);
      const double begin = now_us();
      gpu_.launch(elements_);
      MUST(driver, cuEventRecord, end, gpu_.stream());
      longest_us_ = std::max<double>(longest_us_, now_us() - begin);
      kernels_ = i + 1;
    }
    MUST(driver, cuStreamSynchronize, gpu_.stream());
  }

  Gpu& gpu_;
  std::uint64_t elements_;
  CUcontext context_ = nullptr;
  std::atomic<bool> stop_ = false;
  std::atomic<long> kernels_ = 0;
  std::atomic<double> longest_us_ = 0;
  std::thread thread_;
};

void registration_row(Gpu& gpu, const Size& size, char* host, std::size_t piece, int pauses) {
  const std::uint64_t all = gpu.elements_max();
  const double all_us = gpu.measure_us(all, size.kernels);
  const auto elements =
      static_cast<std::uint64_t>(static_cast<double>(all) * std::min(1.0, kKernelUs / all_us));
  const double kernel_us = gpu.measure_us(elements, size.kernels);
  const Driver& driver = gpu.driver();
  Busy busy(gpu, elements);
  usleep(60'000);
  busy.forget_longest();
  const long before = busy.kernels();
  const double begin = now_us();
  double worst_us = 0;
  for (std::size_t at = 0; at < size.host; at += piece) {
    const double call = now_us();
    MUST(driver, cuMemHostRegister_v2, host + at, piece, CU_MEMHOSTREGISTER_PORTABLE);
    const double took_us = now_us() - call;
    worst_us = std::max(worst_us, took_us);
    if (pauses > 0) usleep(static_cast<useconds_t>(took_us * pauses));
  }
  const double took_us = now_us() - begin;
  const auto done = static_cast<double>(busy.kernels() - before);
  std::printf(
      "| %zu MiB, pauses of %d times their length | %.0f ms a GiB | %.2f ms | %.0f %% | %.2f ms "
      "|\n",
      piece / kMiB, pauses, took_us * 1e-3 * 1024 * kMiB / static_cast<double>(size.host),
      worst_us * 1e-3, 100 * done * kernel_us / took_us, busy.longest_us() * 1e-3);
  for (std::size_t at = 0; at < size.host; at += piece) {
    MUST(driver, cuMemHostUnregister, host + at);
  }
}

void registration(const Size& size) {
  Gpu gpu;
  char* host = touched_memfd(size.host);
  std::printf(
      "%s\n\n| cuMemHostRegister in pieces of | takes | longest call | kernels meanwhile | "
      "longest launch |\n|---|---|---|---|---|\n",
      gpu.name());
  for (const std::size_t piece : {2 * kMiB, 8 * kMiB, 32 * kMiB, std::min(256 * kMiB, size.host)}) {
    for (const int pauses : {0, 2}) registration_row(gpu, size, host, piece, pauses);
  }
}

struct Shared {
  std::atomic<bool> ready;
  std::atomic<int> part;
};
constexpr int kOver = -1;

// What a swap is made of, each once.
class Parts {
 public:
  explicit Parts(std::size_t chunk) : chunk_(chunk), driver_(gpu_.driver()) {
    MUST(driver_, cuMemAddressReserve, &range_, chunk_, 0, 0, 0);
    void* host = nullptr;
    MUST(driver_, cuMemHostAlloc, &host, chunk_, 0);
    host_ = host;
  }

  void nothing() {}
  void make_and_map() {
    CUmemAllocationProp what{};
    what.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    what.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUmemAccessDesc who{};
    who.location = what.location;
    who.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CUmemGenericAllocationHandle pages{};
    MUST(driver_, cuMemCreate, &pages, chunk_, &what, 0);
    MUST(driver_, cuMemMap, range_, chunk_, 0, pages, 0);
    MUST(driver_, cuMemSetAccess, range_, chunk_, &who, 1);
    MUST(driver_, cuMemUnmap, range_, chunk_);
    MUST(driver_, cuMemRelease, pages);
  }
  void copy_out() {
    MUST(driver_, cuMemcpyDtoHAsync_v2, host_, gpu_.memory(), chunk_, gpu_.stream());
    MUST(driver_, cuStreamSynchronize, gpu_.stream());
  }
  void copy_in() {
    MUST(driver_, cuMemcpyHtoDAsync_v2, gpu_.memory(), host_, chunk_, gpu_.stream());
    MUST(driver_, cuStreamSynchronize, gpu_.stream());
  }
  // A kernel about as long as hashing a chunk.
  void kernel() {
    gpu_.launch(chunk_ / sizeof(float));
    MUST(driver_, cuStreamSynchronize, gpu_.stream());
  }
  void kernels() {
    for (int i = 0; i < 128; ++i) gpu_.launch(chunk_ / sizeof(float));
    MUST(driver_, cuStreamSynchronize, gpu_.stream());
  }

 private:
  std::size_t chunk_;
  Gpu gpu_;
  const Driver& driver_;
  CUdeviceptr range_ = 0;
  void* host_ = nullptr;
};

struct Part {
  const char* what;
  void (Parts::*once)();
  double every_us;
};
constexpr Part kParts[] = {
    {"nothing", &Parts::nothing, 1000},
    {"make, map, unmap and release 64 MiB, every 1.25 ms", &Parts::make_and_map, 1250},
    {"copy out, back to back", &Parts::copy_out, 0},
    {"copy in, back to back", &Parts::copy_in, 0},
    {"a kernel over 64 MiB, every 1.25 ms", &Parts::kernel, 1250},
    {"128 of them in one go, every 200 ms", &Parts::kernels, 200'000},
};

void do_parts(Shared& shared, const Size& size) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Parts parts(size.chunk);
  shared.ready = true;
  for (int part = 0; (part = shared.part) != kOver;) {
    const double begin = now_us();
    (parts.*kParts[part].once)();
    const double next = begin + kParts[part].every_us;
    while (now_us() < next && shared.part == part) usleep(100);
  }
}

void beside(const Size& size) {
  void* page =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) fail("mmap", "no memory");
  auto& shared = *new (page) Shared{};
  const pid_t child = fork();
  if (child == 0) {
    do_parts(shared, size);
    _exit(0);
  }
  Gpu gpu;
  spin_until([&] { return shared.ready.load(); });
  std::printf("\n| another process does | requests, p50 | p99 | longest |\n|---|---|---|---|\n");
  for (int part = 0; part < static_cast<int>(std::size(kParts)); ++part) {
    shared.part = part;
    usleep(20'000);
    std::vector<double> took_us;
    const double first = now_us();  // one is made, however late it is by then
    const double end = first + size.beside_us;
    for (double begin = first; begin < end; begin = now_us()) {
      gpu.submit(kRequestElements, 1);
      gpu.wait_for_last();
      took_us.push_back(now_us() - begin);
    }
    std::sort(took_us.begin(), took_us.end());
    std::printf("| %s | %.1f us | %.1f us | %.0f us |\n", kParts[part].what,
                took_us[took_us.size() / 2], took_us[took_us.size() * 99 / 100], took_us.back());
  }
  shared.part = kOver;
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) fail("the other process", "it did not get to its end");
}

}  // namespace

int main(int argc, char** argv) {
  const bool quick = argc == 2 && std::strcmp(argv[1], "--quick") == 0;
  if (argc > 1 && !quick) {
    const bool help = std::strcmp(argv[1], "--help") == 0;
    std::fputs(kUsage, help ? stdout : stderr);
    return help ? 0 : 2;
  }
  const Size size = quick ? kQuick : Size{};
  std::fflush(stdout);
  const pid_t first = fork();  // each part with a driver of its own
  if (first == 0) {
    registration(size);
    std::fflush(stdout);
    _exit(0);
  }
  int status = 0;
  waitpid(first, &status, 0);
  if (status != 0) return 1;
  beside(size);
  return 0;
}
