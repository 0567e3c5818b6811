// SPDX-License-Identifier: Apache-2.0
// A tenant that creates and maps its memory itself, in the ways of the frameworks that do, one step
// at each word of the test: which has taken the memory away in between.
#include <atomic>
#include <thread>
#include <vector>

#include <unistd.h>

#include "tests/faults/programs/kit.h"

namespace nvs::faults {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20U;
constexpr std::size_t kPool = 66 * kMiB;  // of several chunks
constexpr auto kFile = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

void must(bool is_so, const char* what) {
  if (!is_so) throw std::runtime_error(what);
}

CUmemAccessDesc read_write() {
  return {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
}

void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

CUmemGenericAllocationHandle create(const Gpu& gpu, std::size_t bytes) {
  CUmemAllocationProp prop = sim_test::vmm_prop(0, kFile);
  prop.allocFlags.gpuDirectRDMACapable = 1;
  CUmemGenericAllocationHandle handle = 0;
  NVS_MUST(gpu->cuMemCreate(&handle, bytes, &prop, 0));
  CUmemAllocationProp told{};
  NVS_MUST(gpu->cuMemGetAllocationPropertiesFromHandle(&told, handle));
  must(told.requestedHandleTypes == kFile && told.allocFlags.gpuDirectRDMACapable == 1, "prop");
  return handle;
}

CUdeviceptr reserve(const Gpu& gpu, std::size_t bytes) {
  CUdeviceptr address = 0;
  NVS_MUST(gpu->cuMemAddressReserve(&address, bytes, 0, 0, 0));
  return address;
}

// Memory at a place, with something in it that is like nothing else.
struct Piece {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  CUmemGenericAllocationHandle handle = 0;
  std::uint64_t seed = 0;

  std::vector<std::uint64_t> content() const {
    std::vector<std::uint64_t> words(bytes / sizeof(std::uint64_t));
    std::uint64_t state = seed;
    for (std::uint64_t& word : words) word = state += 0x9E3779B97F4A7C15U;
    return words;
  }
};

void map(const Gpu& gpu, const Piece& piece) {
  const CUmemAccessDesc access = read_write();
  NVS_MUST(gpu->cuMemMap(piece.address, piece.bytes, 0, piece.handle, 0));
  NVS_MUST(gpu->cuMemSetAccess(piece.address, piece.bytes, &access, 1));
}

void fill(const Gpu& gpu, Piece& piece, std::uint64_t seed) {
  piece.seed = seed;
  NVS_MUST(gpu->cuMemcpyHtoD_v2(piece.address, piece.content().data(), piece.bytes));
}

void check(const Gpu& gpu, const Piece& piece) {
  std::vector<std::uint64_t> seen(piece.bytes / sizeof(std::uint64_t));
  NVS_MUST(gpu->cuMemcpyDtoH_v2(seen.data(), piece.address, piece.bytes));
  must(seen == piece.content(), "other bytes than were written");
}

Piece place(const Gpu& gpu, CUdeviceptr address, std::size_t bytes, std::uint64_t seed) {
  Piece piece{address, bytes, create(gpu, bytes)};
  map(gpu, piece);
  fill(gpu, piece, seed);
  return piece;
}

// Everything that the driver says of an address.
std::vector<std::uint64_t> answers(const Gpu& gpu, CUdeviceptr address) {
  std::vector<std::uint64_t> told;
  for (unsigned i = 1; i <= CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE; ++i) {
    std::uint64_t value = 0;
    told.push_back(
        gpu->cuPointerGetAttribute(&value, static_cast<CUpointer_attribute>(i), address));
    told.push_back(value);
  }
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  unsigned long long flags = 77;
  const CUmemAccessDesc access = read_write();
  told.push_back(gpu->cuMemGetAddressRange_v2(&base, &bytes, address));
  told.insert(told.end(), {base, bytes});
  told.push_back(gpu->cuMemGetAccess(&flags, &access.location, address));
  told.push_back(flags);
  CUmemGenericAllocationHandle handle = 0;
  told.push_back(gpu->cuMemRetainAllocationHandle(&handle, pointer(address)));
  told.push_back(handle);
  if (handle != 0) NVS_MUST(gpu->cuMemRelease(handle));
  return told;
}

struct Tenant {
  const Gpu gpu;
  Piece pool;                // as XLA does it
  CUdeviceptr segments = 0;  // as PyTorch does it: one range, and what it needs of it
  std::vector<Piece> segment;
  Piece twice;  // in two places, of which one can only be read
  CUdeviceptr again = 0;
  Piece blind;  // nobody was given access
  std::vector<CUdeviceptr> asked;

  void begin() {
    pool = place(gpu, reserve(gpu, kPool), kPool, 1);
    segments = reserve(gpu, 128 * kMiB);
    CUdeviceptr next = segments;
    for (const std::size_t size : {2 * kMiB, 20 * kMiB, 2 * kMiB, 20 * kMiB}) {
      segment.push_back(place(gpu, next, size, 10 + segment.size()));
      NVS_MUST(gpu->cuMemRelease(segment.back().handle));  // the mapping keeps it
      next += size;
    }
    twice = place(gpu, reserve(gpu, 4 * kMiB), 4 * kMiB, 20);
    again = reserve(gpu, 4 * kMiB);
    NVS_MUST(gpu->cuMemMap(again, 4 * kMiB, 0, twice.handle, 0));
    CUmemAccessDesc access = read_write();
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    NVS_MUST(gpu->cuMemSetAccess(again, 4 * kMiB, &access, 1));
    blind = {reserve(gpu, 2 * kMiB), 2 * kMiB, create(gpu, 2 * kMiB)};
    NVS_MUST(gpu->cuMemMap(blind.address, blind.bytes, 0, blind.handle, 0));
    asked = {pool.address + kPool - 1,
             segments + 3 * kMiB,
             segments + 100 * kMiB,
             twice.address,
             again,
             blind.address};
  }

  std::vector<std::uint64_t> all_answers() const {
    std::vector<std::uint64_t> told;
    for (const CUdeviceptr address : asked) {
      const auto more = answers(gpu, address);
      told.insert(told.end(), more.begin(), more.end());
    }
    return told;
  }

  void check_all() const {
    check(gpu, pool);
    for (const Piece& piece : segment) check(gpu, piece);
    check(gpu, twice);
    check(gpu, {again, twice.bytes, 0, twice.seed});
    must(gpu->cuMemsetD8_v2(blind.address, 1, 1) == CUDA_ERROR_INVALID_VALUE, "access");
    must(gpu->cuMemsetD8_v2(again, 1, 1) != CUDA_SUCCESS, "access to write");
  }

  // What the driver refuses, it refuses with the pages away.
  void misuse() const {
    constexpr auto kInvalid = CUDA_ERROR_INVALID_VALUE;
    CUipcMemHandle ipc{};
    must(gpu->cuMemFree_v2(pool.address) == kInvalid, "cuMemFree");
    must(gpu->cuIpcGetMemHandle(&ipc, pool.address) == kInvalid, "cuIpcGetMemHandle");
    must(gpu->cuMemAddressFree(pool.address, kPool) == kInvalid, "cuMemAddressFree");
    must(gpu->cuMemUnmap(pool.address, 64 * kMiB) == kInvalid, "a part is unmapped");
    must(gpu->cuMemMap(pool.address, twice.bytes, 0, twice.handle, 0) == kInvalid,
         "two in a place");
    must(gpu->cuMemRelease(segment.front().handle) == kInvalid, "released twice");
  }

  // The last two segments go, while they are away.
  void shrink() {
    const CUdeviceptr from = segment[2].address;
    NVS_MUST(gpu->cuMemUnmap(from, segment[2].bytes + segment[3].bytes));
    segment.resize(2);
  }

  // As vLLM wakes up: other memory at the same addresses.
  void renew() {
    NVS_MUST(gpu->cuMemUnmap(pool.address, kPool));
    NVS_MUST(gpu->cuMemRelease(pool.handle));
    pool = place(gpu, pool.address, kPool, 30);
  }

  Piece import(const Piece& piece) const {
    int file = -1;
    NVS_MUST(gpu->cuMemExportToShareableHandle(&file, piece.handle, kFile, 0));
    Piece theirs{reserve(gpu, piece.bytes), piece.bytes, 0, piece.seed};
    NVS_MUST(gpu->cuMemImportFromShareableHandle(&theirs.handle,
                                                 pointer(static_cast<CUdeviceptr>(file)), kFile));
    ::close(file);
    map(gpu, theirs);
    return theirs;
  }

  // Another thread has work on the memory all the time that it takes to share it.
  void export_in_use() const {
    constexpr std::uint64_t kFloats = kMiB;
    const Piece piece = place(gpu, reserve(gpu, kPool), kPool, 0);
    NVS_MUST(gpu->cuMemsetD8_v2(piece.address, 0, kPool));
    std::atomic<std::uint64_t> steps{0};
    std::atomic<bool> is_over{false};
    std::thread worker([&] {
      gpu.make_current();
      for (CUstream stream = gpu.stream(); !is_over; ++steps) {
        NVS_MUST(gpu.step(piece.address + kPool - kFloats * sizeof(float), 1, kFloats, stream));
        NVS_MUST(gpu.spin(100'000, stream));
      }
    });
    while (steps < 4) std::this_thread::yield();
    const Piece theirs = import(piece);
    const std::uint64_t then = steps;
    while (steps < then + 4) std::this_thread::yield();
    is_over = true;
    worker.join();
    NVS_MUST(gpu->cuCtxSynchronize());
    const CUdeviceptr wrong = gpu.filled(2, 0);
    const auto expected = static_cast<float>(steps);
    const CUdeviceptr counted = theirs.address + kPool - kFloats * sizeof(float);
    NVS_MUST(gpu.launch("nvs_check", nullptr, counted, 0.0F, expected, kFloats, wrong));
    std::uint64_t lost = 1;
    NVS_MUST(gpu->cuMemcpyDtoH_v2(&lost, wrong, sizeof lost));
    must(lost == 0, "a step was lost");
    NVS_MUST(gpu->cuMemFree_v2(wrong));
    end(theirs);
    end(piece);
  }

  void end(const Piece& piece) const {
    NVS_MUST(gpu->cuMemUnmap(piece.address, piece.bytes));
    if (piece.handle != 0) NVS_MUST(gpu->cuMemRelease(piece.handle));
    NVS_MUST(gpu->cuMemAddressFree(piece.address, piece.bytes));
  }

  void end_all() const {
    end(pool);
    NVS_MUST(gpu->cuMemUnmap(segments, 128 * kMiB));
    NVS_MUST(gpu->cuMemAddressFree(segments, 128 * kMiB));
    end(twice);
    end({again, twice.bytes});
    end(blind);
  }
};

void next(const std::string& done) {
  say(done);
  wait_for_word();
}

void say_free(const Gpu& gpu) {
  std::size_t free = 0;
  std::size_t total = 0;
  NVS_MUST(gpu->cuMemGetInfo_v2(&free, &total));
  say("taken " + std::to_string(total - free));
}

}  // namespace

// views
int views(int, char**) {
  Tenant tenant;
  tenant.begin();
  const auto there = tenant.all_answers();
  tenant.check_all();
  say_free(tenant.gpu);
  next("ready");
  must(tenant.all_answers() == there, "other answers");
  tenant.misuse();
  say_free(tenant.gpu);
  tenant.shrink();
  next("asked");
  // This waits until it is there again.
  Piece third{reserve(tenant.gpu, 4 * kMiB), 4 * kMiB, tenant.twice.handle, tenant.twice.seed};
  map(tenant.gpu, third);
  check(tenant.gpu, third);
  third.handle = 0;
  tenant.end(third);
  tenant.check_all();
  tenant.renew();
  next("renewed");
  tenant.check_all();
  const Piece shared[] = {tenant.import(tenant.pool), tenant.import(tenant.twice)};
  for (const Piece& piece : shared) check(tenant.gpu, piece);
  fill(tenant.gpu, tenant.pool, 40);
  say_free(tenant.gpu);
  next("exported");
  tenant.check_all();
  check(tenant.gpu, {shared[0].address, kPool, 0, 40});
  for (const Piece& piece : shared) tenant.end(piece);
  tenant.export_in_use();
  tenant.end_all();
  next("freed");
  return 0;
}

}  // namespace nvs::faults
