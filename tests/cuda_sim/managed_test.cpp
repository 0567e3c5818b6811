// SPDX-License-Identifier: Apache-2.0
// Managed memory: the host and every GPU see the same bytes, and the books know which blocks are on
// which GPU. What moves is counted in blocks; how long that takes follows from the model.
#include <algorithm>
#include <csignal>
#include <memory>
#include <numeric>

#include <gtest/gtest.h>

#include "tests/cuda_sim/gpu.h"
#include "tests/cuda_sim/sim_fixture.h"

namespace nvs::sim_test {
namespace {

constexpr std::size_t kManagedBlock = (2 << 20) / 512;
constexpr std::size_t kManagedFloats = kManagedBlock / sizeof(float);

struct Moves {
  unsigned long long resident = 0;
  unsigned long long in = 0;
  unsigned long long out = 0;
};

Moves moves(const Gpu& gpu, int device = 0) {
  Moves seen;
  if (gpu.sim().cusimManaged(device, &seen.resident, &seen.in, &seen.out) != 0) {
    throw std::runtime_error("no books of managed memory");
  }
  return seen;
}

// What work moves, once it is done.
template <class Work>
Moves moved_by(const Gpu& gpu, Work&& work, int device = 0) {
  NVS_MUST(gpu->cuCtxSynchronize());
  const Moves before = moves(gpu, device);
  work();
  NVS_MUST(gpu->cuCtxSynchronize());
  const Moves after = moves(gpu, device);
  return {after.resident - before.resident, after.in - before.in, after.out - before.out};
}

#define EXPECT_MOVES(moved, blocks_in, blocks_out)  \
  do {                                              \
    const Moves nvs_seen = (moved);                 \
    EXPECT_EQ(nvs_seen.in, (blocks_in)) << "in";    \
    EXPECT_EQ(nvs_seen.out, (blocks_out)) << "out"; \
  } while (false)

CUdeviceptr managed(const Gpu& gpu, std::size_t bytes) {
  CUdeviceptr address = 0;
  NVS_MUST(gpu->cuMemAllocManaged(&address, bytes, CU_MEM_ATTACH_GLOBAL));
  return address;
}

float* on_host(CUdeviceptr address) { return reinterpret_cast<float*>(address); }

void fill(const Gpu& gpu, CUdeviceptr data, std::size_t blocks) {
  NVS_MUST(gpu.fill(data, 1, blocks * kManagedFloats));
}

// Whole cards are carried to and fro, so time runs fast.
void in_process(const SimProcess::Body& body, unsigned gpus = 1) {
  SimMachine machine(
      Environment{{"NVSHARE_SIM_TIME", "0.0005"}, {"NVSHARE_SIM_GPUS", std::to_string(gpus)}});
  run_process(machine, body);
  EXPECT_EQ(machine.books(), Books{});
}

template <class T>
T attribute(const Gpu& gpu, CUpointer_attribute wanted, CUdeviceptr address) {
  T value{};
  NVS_MUST(gpu->cuPointerGetAttribute(&value, wanted, address));
  return value;
}

int range_attribute(const Gpu& gpu, CUmem_range_attribute wanted, CUdeviceptr begin,
                    std::size_t bytes) {
  int value = 77;
  NVS_MUST(gpu->cuMemRangeGetAttribute(&value, sizeof value, wanted, begin, bytes));
  return value;
}

TEST(Managed, HostAndGpuSeeTheSameBytes) {
  in_process([](Line&) {
    const Gpu gpu;
    const CUdeviceptr data = managed(gpu, 3 * kManagedBlock);
    std::fill_n(on_host(data), 256, 5.0F);
    NVS_MUST(gpu.step(data, 2, 256));
    NVS_MUST(gpu->cuCtxSynchronize());
    EXPECT_EQ(std::accumulate(on_host(data), on_host(data) + 256, 0.0F), 256 * 7);
    NVS_MUST(gpu->cuMemsetD32_v2(data, 0, 256));
    const std::vector<float> eight(16, 8);
    NVS_MUST(gpu->cuMemcpyHtoD_v2(data, eight.data(), 64));
    NVS_MUST(gpu->cuCtxSynchronize());
    EXPECT_EQ(on_host(data)[15], 8);
    EXPECT_EQ(on_host(data)[16], 0);
    const CUdeviceptr plain = gpu.filled(16, 9);
    NVS_MUST(gpu->cuMemcpyDtoD_v2(data, plain, 64));
    NVS_MUST(gpu->cuCtxSynchronize());
    EXPECT_EQ(gpu.read(data, 1).front(), 9);
    EXPECT_EQ(on_host(data)[15], 9);
  });
}

TEST(Managed, PointersSayWhatTheyAre) {
  in_process([](Line&) {
    const Gpu gpu;
    const CUdeviceptr data = managed(gpu, 3 * kManagedBlock + 1);
    EXPECT_EQ(attribute<unsigned>(gpu, CU_POINTER_ATTRIBUTE_IS_MANAGED, data + kManagedBlock), 1U);
    EXPECT_EQ(attribute<unsigned>(gpu, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, data),
              unsigned{CU_MEMORYTYPE_DEVICE});
    EXPECT_EQ(attribute<CUdeviceptr>(gpu, CU_POINTER_ATTRIBUTE_HOST_POINTER, data + 8), data + 8);
    EXPECT_EQ(attribute<CUdeviceptr>(gpu, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, data + 8), data + 8);
    EXPECT_EQ(attribute<std::size_t>(gpu, CU_POINTER_ATTRIBUTE_RANGE_SIZE, data),
              3 * kManagedBlock + 1);
    EXPECT_EQ(gpu->cuMemFreeHost(on_host(data)), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(gpu->cuMemFreeAsync(data, nullptr), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(gpu->cuMemFree_v2(data + kManagedBlock), CUDA_ERROR_INVALID_VALUE);
    NVS_MUST(gpu->cuMemFree_v2(data));
    unsigned gone = 0;
    EXPECT_EQ(gpu->cuPointerGetAttribute(&gone, CU_POINTER_ATTRIBUTE_IS_MANAGED, data),
              CUDA_ERROR_INVALID_VALUE);
    int concurrent = 0;
    NVS_MUST(
        gpu->cuDeviceGetAttribute(&concurrent, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 0));
    EXPECT_EQ(concurrent, 1);
  });
}

TEST(Managed, BlocksComeWithTheFirstTouchOnly) {
  in_process([](Line&) {
    const Gpu gpu;
    const std::size_t before = gpu.free_bytes();
    const CUdeviceptr data = managed(gpu, 10 * kManagedBlock);
    EXPECT_EQ(gpu.free_bytes(), before) << "nothing of it is on the GPU";
    EXPECT_MOVES(moved_by(gpu, [&] { fill(gpu, data, 4); }), 4U, 0U);
    EXPECT_EQ(before - gpu.free_bytes(), 4 * kManagedBlock);
    EXPECT_MOVES(moved_by(gpu, [&] { fill(gpu, data, 6); }), 2U, 0U);
    EXPECT_MOVES(moved_by(gpu, [&] { fill(gpu, data, 6); }), 0U, 0U);
    EXPECT_MOVES(
        moved_by(
            gpu,
            [&] { NVS_MUST(gpu->cuMemsetD8_v2(data + 6 * kManagedBlock, 0, 2 * kManagedBlock)); }),
        2U, 0U);
    std::vector<char> copy(kManagedBlock);
    EXPECT_MOVES(moved_by(gpu,
                          [&] {
                            NVS_MUST(gpu->cuMemcpyDtoH_v2(copy.data(), data + 8 * kManagedBlock,
                                                          kManagedBlock));
                          }),
                 1U, 0U);
    NVS_MUST(gpu->cuMemFree_v2(data));
    EXPECT_EQ(gpu.free_bytes(), before);
    EXPECT_EQ(moves(gpu).out, 0U) << "what is freed is not carried";
  });
}

TEST(Managed, PrefetchCarriesWhatIsNotThere) {
  in_process([](Line&) {
    const Gpu gpu;
    const CUstream stream = gpu.stream();
    const CUdeviceptr data = managed(gpu, 10 * kManagedBlock);
    const std::size_t all = 10 * kManagedBlock;
    EXPECT_EQ(range_attribute(gpu, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, data, all),
              CU_DEVICE_INVALID);
    EXPECT_MOVES(moved_by(gpu, [&] { fill(gpu, data, 3); }), 3U, 0U);
    EXPECT_MOVES(moved_by(gpu, [&] { NVS_MUST(gpu->cuMemPrefetchAsync(data, all, 0, stream)); }),
                 7U, 0U);
    EXPECT_EQ(range_attribute(gpu, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, data, all), 0);
    EXPECT_MOVES(moved_by(gpu, [&] { fill(gpu, data, 10); }), 0U, 0U);
    const CUmemLocation host{CU_MEM_LOCATION_TYPE_HOST, 0};
    EXPECT_MOVES(
        moved_by(gpu,
                 [&] {
                   NVS_MUST(gpu->cuMemPrefetchAsync_v2(data, 4 * kManagedBlock, host, 0, stream));
                 }),
        0U, 4U);
    EXPECT_EQ(moves(gpu).resident, 6U);
    EXPECT_EQ(
        range_attribute(gpu, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, data, kManagedBlock),
        CU_DEVICE_CPU);
    EXPECT_EQ(range_attribute(gpu, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, data, all),
              CU_DEVICE_INVALID)
        << "not all of it";
    EXPECT_EQ(gpu->cuMemPrefetchAsync(data, all + 1, 0, stream), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(gpu->cuMemPrefetchAsync(data, all, 1, stream), CUDA_ERROR_INVALID_DEVICE);
    EXPECT_EQ(gpu->cuMemPrefetchAsync(gpu.alloc(kManagedBlock), kManagedBlock, 0, stream),
              CUDA_ERROR_INVALID_VALUE);
    NVS_MUST(gpu->cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    EXPECT_EQ(gpu->cuMemPrefetchAsync(data, all, 0, stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  });
}

TEST(Managed, LeastRecentlyUsedGoesFirst) {
  in_process([](Line&) {
    const Gpu gpu;
    const std::size_t room = gpu.free_bytes() / kManagedBlock;
    const std::size_t third = room / 3;
    const std::size_t rest = room - 3 * third;
    const CUdeviceptr a = managed(gpu, third * kManagedBlock);
    const CUdeviceptr b = managed(gpu, third * kManagedBlock);
    const CUdeviceptr c = managed(gpu, (third + rest) * kManagedBlock);
    const CUdeviceptr d = managed(gpu, third * kManagedBlock);
    for (const CUdeviceptr data : {a, b}) fill(gpu, data, third);
    fill(gpu, c, third + rest);
    fill(gpu, a, third);
    EXPECT_MOVES(moved_by(gpu, [&] { fill(gpu, d, third); }), third, third);
    EXPECT_MOVES(moved_by(gpu, [&] { fill(gpu, a, third); }), 0U, 0U);
    EXPECT_MOVES(moved_by(gpu, [&] { fill(gpu, c, third + rest); }), 0U, 0U);
    EXPECT_MOVES(moved_by(gpu, [&] { fill(gpu, b, third); }), third, third);
    EXPECT_EQ(gpu.free_bytes() / kManagedBlock, 0U);
  });
}

TEST(Managed, OneAllocationMayExceedTheCard) {
  in_process([](Line&) {
    const Gpu gpu;
    const std::size_t room = gpu.free_bytes() / kManagedBlock;
    const std::size_t blocks = room + room / 2;
    const CUdeviceptr data = managed(gpu, blocks * kManagedBlock);
    EXPECT_MOVES(moved_by(gpu, [&] { fill(gpu, data, blocks); }), blocks, blocks - room);
    EXPECT_EQ(moves(gpu).resident, room);
    // From the begin again: each block comes just after it had to go.
    EXPECT_MOVES(moved_by(gpu, [&] { NVS_MUST(gpu.step(data, 1, blocks * kManagedFloats)); }),
                 blocks, blocks);
    EXPECT_EQ(on_host(data)[0], 2);
    EXPECT_EQ(on_host(data)[(blocks - 1) * kManagedFloats + kManagedFloats - 1], 1)
        << "no stripe is there";
    // The end of it is there now, and only that.
    EXPECT_MOVES(moved_by(gpu, [&] { fill(gpu, data + (blocks - room) * kManagedBlock, room); }),
                 0U, 0U);
  });
}

TEST(Managed, PlainMemoryDrivesItOut) {
  in_process([](Line&) {
    const Gpu gpu;
    const std::size_t room = gpu.free_bytes() / kManagedBlock;
    const CUdeviceptr data = managed(gpu, room * kManagedBlock);
    fill(gpu, data, room);
    NVS_MUST(gpu->cuCtxSynchronize());
    CUdeviceptr plain = 0;
    EXPECT_MOVES(moved_by(gpu, [&] { plain = gpu.alloc(100 * kManagedBlock); }), 0U, 100U);
    EXPECT_EQ(gpu->cuMemAlloc_v2(&plain, (room + 1) * kManagedBlock), CUDA_ERROR_OUT_OF_MEMORY);
    plain = gpu.alloc((room - 100) * kManagedBlock);
    EXPECT_EQ(moves(gpu).resident, 0U);
    // The card is full of what cannot go: the work reaches its data over the bus.
    EXPECT_MOVES(moved_by(gpu, [&] { NVS_MUST(gpu.step(data, 1, kManagedFloats)); }), 0U, 0U);
    EXPECT_EQ(on_host(data)[0], 2);
  });
}

TEST(Managed, AdviceDecidesWhatMoves) {
  in_process([](Line&) {
    const Gpu gpu;
    const CUdeviceptr count = gpu.filled(2, 0);
    const std::size_t room = gpu.free_bytes() / kManagedBlock;
    const CUdeviceptr home = managed(gpu, 8 * kManagedBlock);
    const CUdeviceptr mapped = managed(gpu, 8 * kManagedBlock);
    const CUdeviceptr mostly = managed(gpu, 8 * kManagedBlock);
    const CUdeviceptr others = managed(gpu, room * kManagedBlock);
    const std::size_t all = 8 * kManagedBlock;
    NVS_MUST(gpu->cuMemAdvise(home, all, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_DEVICE_CPU));
    NVS_MUST(gpu->cuMemAdvise(mapped, all, CU_MEM_ADVISE_SET_ACCESSED_BY, 0));
    NVS_MUST(gpu->cuMemAdvise(mostly, all, CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
    EXPECT_MOVES(moved_by(gpu, [&] { fill(gpu, home, 8); }), 0U, 0U);
    EXPECT_EQ(on_host(home)[0], 1);
    EXPECT_MOVES(moved_by(gpu, [&] { fill(gpu, mapped, 8); }), 0U, 0U);
    const auto use_others = [&] { fill(gpu, others, room); };
    const auto read_mostly = [&] {
      NVS_MUST(gpu.launch("nvs_check", nullptr, mostly, 0.0F, 0.0F,
                          std::uint64_t{8 * kManagedFloats}, count));
    };
    EXPECT_MOVES(moved_by(gpu, use_others), room, 0U);
    // Only read, it is a copy that came, and that need not be carried back.
    EXPECT_MOVES(moved_by(gpu, read_mostly), 8U, 8U);
    EXPECT_MOVES(moved_by(gpu, use_others), room, room - 8);
    EXPECT_MOVES(moved_by(gpu, [&] { fill(gpu, mostly, 8); }), 8U, 8U);
    EXPECT_MOVES(moved_by(gpu, use_others), room, room);
    // Advice can be taken back, and is told.
    EXPECT_EQ(range_attribute(gpu, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, home, all),
              CU_DEVICE_CPU);
    EXPECT_EQ(range_attribute(gpu, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, home, all),
              static_cast<int>(CU_MEM_LOCATION_TYPE_HOST));
    EXPECT_EQ(range_attribute(gpu, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, mostly, all), 1);
    EXPECT_EQ(range_attribute(gpu, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, home, all), 0);
    int devices[2] = {77, 77};
    NVS_MUST(gpu->cuMemRangeGetAttribute(devices, sizeof devices,
                                         CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, mapped, all));
    EXPECT_EQ(devices[0], 0);
    EXPECT_EQ(devices[1], CU_DEVICE_INVALID);
    NVS_MUST(gpu->cuMemAdvise(home, 4 * kManagedBlock, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, 0));
    NVS_MUST(gpu->cuMemAdvise(mapped, all, CU_MEM_ADVISE_UNSET_ACCESSED_BY, 0));
    EXPECT_EQ(moved_by(gpu, [&] { fill(gpu, home, 8); }).in, 4U);
    EXPECT_EQ(moved_by(gpu, [&] { fill(gpu, mapped, 8); }).in, 8U);
    EXPECT_EQ(gpu->cuMemAdvise(home, all, static_cast<CUmem_advise>(0), 0),
              CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(gpu->cuMemAdvise(home, all, CU_MEM_ADVISE_SET_ACCESSED_BY, 5),
              CUDA_ERROR_INVALID_DEVICE);
  });
}

TEST(Managed, BlocksGoFromGpuToGpuAndWithTheirContext) {
  in_process(
      [](Line&) {
        const Gpu far(1);
        const Gpu gpu(0);
        const CUdeviceptr data = managed(gpu, 8 * kManagedBlock);
        EXPECT_MOVES(moved_by(gpu, [&] { fill(gpu, data, 8); }), 8U, 0U);
        far.make_current();
        EXPECT_MOVES(moved_by(
                         far, [&] { NVS_MUST(far.step(data, 1, kManagedFloats)); }, 1),
                     1U, 0U);
        EXPECT_EQ(moves(gpu, 0).resident, 7U);
        EXPECT_EQ(moves(gpu, 1).resident, 1U);
        EXPECT_EQ(on_host(data)[0], 2);
        NVS_MUST(gpu->cuCtxDestroy_v2(gpu.context()));
        EXPECT_EQ(moves(gpu, 0).resident, 0U);
        EXPECT_EQ(moves(gpu, 1).resident, 0U);
        EXPECT_EQ(far->cuMemFree_v2(data), CUDA_ERROR_INVALID_VALUE);
      },
      2);
}

// A process that works on all its managed memory whenever it is told to, as the tasks of old: three
// arrays, 12 GB in all, and z = x + y. It answers what that moved.
constexpr std::size_t kArrayBlocks =
    (std::size_t{12'000'000'000} / 512 / 3 + kManagedBlock - 1) / kManagedBlock;

std::unique_ptr<SimProcess> task(const SimMachine& machine) {
  auto process = std::make_unique<SimProcess>(machine, [](Line& line) {
    const Gpu gpu;
    CUdeviceptr arrays[3] = {};
    for (CUdeviceptr& array : arrays) array = managed(gpu, kArrayBlocks * kManagedBlock);
    const std::uint64_t n = kArrayBlocks * kManagedFloats;
    *on_host(arrays[1]) = 2;
    *on_host(arrays[2]) = 3;
    line.tell("there");
    while (line.hear().text == "work") {
      line.tell_value(moved_by(gpu, [&] {
        NVS_MUST(gpu.launch("nvs_add3", nullptr, arrays[0], arrays[1], arrays[2], n));
      }));
      EXPECT_EQ(*on_host(arrays[0]), 5);
    }
  });
  process->line().expect("there");
  return process;
}

Moves work(SimProcess& process) {
  process.line().tell("work");
  return process.line().hear_value<Moves>();
}

TEST(Managed, TasksThatDoNotFitTogetherMoveAllTheirMemoryEachTime) {
  SimMachine machine(Environment{{"NVSHARE_SIM_TIME", "0.0005"}});
  std::vector<std::unique_ptr<SimProcess>> tasks;
  tasks.push_back(task(machine));
  EXPECT_MOVES(work(*tasks[0]), 3 * kArrayBlocks, 0U);
  for (int round = 0; round < 3; ++round) EXPECT_MOVES(work(*tasks[0]), 0U, 0U);
  while (tasks.size() < 4) tasks.push_back(task(machine));
  for (const auto& each : tasks) work(*each);
  for (int round = 0; round < 2; ++round) {
    for (const auto& each : tasks) EXPECT_MOVES(work(*each), 3 * kArrayBlocks, 3 * kArrayBlocks);
  }
  // Killed, three of them leave the card to the one that is left.
  while (tasks.size() > 1) {
    tasks.back()->kill();
    tasks.pop_back();
  }
  EXPECT_MOVES(work(*tasks[0]), 3 * kArrayBlocks, 0U);
  EXPECT_MOVES(work(*tasks[0]), 0U, 0U);
  tasks[0]->line().tell("go");
  EXPECT_EQ(tasks[0]->wait(), 0) << tasks[0]->errors();
  EXPECT_EQ(machine.books(), Books{});
}

TEST(Managed, StoppedProcessLosesItsBlocksNotItsData) {
  SimMachine machine(Environment{{"NVSHARE_SIM_TIME", "0.0005"}});
  auto first = task(machine);
  EXPECT_MOVES(work(*first), 3 * kArrayBlocks, 0U);
  first->send(SIGSTOP);
  auto second = task(machine);
  EXPECT_GT(work(*second).out, 0U);
  EXPECT_MOVES(work(*second), 0U, 0U);
  first->send(SIGCONT);
  EXPECT_GT(work(*first).in, 0U);
  for (const auto& process : {first.get(), second.get()}) {
    process->line().tell("go");
    EXPECT_EQ(process->wait(), 0) << process->errors();
  }
  EXPECT_EQ(machine.books(), Books{});
}

}  // namespace
}  // namespace nvs::sim_test
