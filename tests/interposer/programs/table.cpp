// SPDX-License-Identifier: Apache-2.0
// Calls every entry point of the driver with arguments that differ in every position, and prints
// what it returned and whether arguments and results came through unchanged.
//
// usage: table link|dlsym|default|proc_address|proc_address_v2 fails|succeeds
#include <tuple>
#include <utility>

#include "tests/interposer/fake/arguments.h"
#include "tests/interposer/fake/rows.h"
#include "tests/interposer/programs/program.h"

// By address alone: the types come from the table, where there are any.
#define NVS_CUDA_ENTRY(symbol, name, since, streams) extern "C" void linked_##symbol() asm(#symbol);
#include "spec/cuda_entry_points.def"
#undef NVS_CUDA_ENTRY

namespace nvs::program {
namespace {

using fake::Entry;
using fake::kEntries;
using fake::Row;

constexpr std::array<void (*)(), fake::kEntryCount> kLinked = {
#define NVS_CUDA_ENTRY(symbol, name, since, streams) &linked_##symbol,
#include "spec/cuda_entry_points.def"
#undef NVS_CUDA_ENTRY
};

fake::Pieces g_pieces;

struct Outcome {
  int result = 0;
  std::uint64_t hash = 0;
  bool results_intact = true;
};

template <class T>
bool result_intact([[maybe_unused]] T parameter, [[maybe_unused]] unsigned row,
                   [[maybe_unused]] unsigned position) {
  if constexpr (fake::kIsResult<T>) {
    using Value = std::remove_pointer_t<T>;
    const Value expected = fake::result_value<Value>(row, position);
    return std::memcmp(parameter, &expected, sizeof expected) == 0;
  } else {
    return true;
  }
}

template <class Type>
struct Call;

template <class... Arguments>
struct Call<CUresult(Arguments...)> {
  static Outcome make(void* function, unsigned row, FakeMode mode) {
    return make(function, row, mode, std::index_sequence_for<Arguments...>{});
  }

 private:
  template <std::size_t... Positions>
  static Outcome make(void* function, [[maybe_unused]] unsigned row, FakeMode mode,
                      std::index_sequence<Positions...>) {
    [[maybe_unused]] const fake::Size size =
        mode == kFakeSucceeds ? fake::Size::small : fake::Size::any;
    const std::tuple<Arguments...> all{
        fake::argument<Arguments>(row, unsigned{Positions}, size, g_pieces)...};
    Outcome outcome;
    outcome.hash = fake::hash_of(std::get<Positions>(all)...);
    outcome.result =
        reinterpret_cast<CUresult (*)(Arguments...)>(function)(std::get<Positions>(all)...);
    if (outcome.result == CUDA_SUCCESS) {
      outcome.results_intact =
          (result_intact(std::get<Positions>(all), row, unsigned{Positions}) && ... && true);
    }
    return outcome;
  }
};

using Untyped = CUresult(std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
                         std::uint64_t);
using Caller = Outcome (*)(void*, unsigned, FakeMode);

// How each entry point is called.
std::array<Caller, kEntries.size()> callers() {
  std::array<Caller, kEntries.size()> all{};
  all.fill(&Call<Untyped>::make);
#define NVS_CUDA_FUNCTION(symbol, ...) \
  all[fake::index(Row::symbol)] = &Call<std::remove_pointer_t<decltype(&::symbol)>>::make;
#define NVS_CUDA_VARIANT(symbol, base) NVS_CUDA_FUNCTION(symbol)
#include "spec/cuda_functions.def"
#undef NVS_CUDA_FUNCTION
#undef NVS_CUDA_VARIANT
  return all;
}

std::uint64_t flags_for(const Entry& entry) {
  switch (entry.streams) {
    case fake::Streams::legacy:
      return CU_GET_PROC_ADDRESS_LEGACY_STREAM;
    case fake::Streams::per_thread:
      return CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    default:
      return CU_GET_PROC_ADDRESS_DEFAULT;
  }
}

void* ask_first_version(const Entry& entry) {
  static auto* const get = NVS_FIND(cuGetProcAddress);
  void* function = nullptr;
  const CUresult result = get(entry.name, &function, entry.since, flags_for(entry));
  if (result != CUDA_SUCCESS) std::printf("%s: asked, %d\n", entry.symbol, result);
  return function;
}

void* ask(const Entry& entry) {
  static auto* const get = NVS_FIND(cuGetProcAddress_v2);
  void* function = nullptr;
  CUdriverProcAddressQueryResult status{};
  const CUresult result = get(entry.name, &function, entry.since, flags_for(entry), &status);
  if (result != CUDA_SUCCESS || status != CU_GET_PROC_ADDRESS_SUCCESS) {
    std::printf("%s: asked, %d, status %d\n", entry.symbol, result, status);
  }
  return function;
}

void* look_up(std::string_view way, unsigned row) {
  const Entry& entry = kEntries[row];
  if (way == "link") return reinterpret_cast<void*>(kLinked[row]);
  if (way == "dlsym") return ::dlsym(driver(), entry.symbol);
  if (way == "default") return ::dlsym(RTLD_DEFAULT, entry.symbol);
  if (way == "proc_address") return ask_first_version(entry);
  if (way == "proc_address_v2") return ask(entry);
  give_up("no such way");
}

void call(unsigned row, void* function, FakeMode mode) {
  static auto* const calls = NVS_FIND(fake_calls);
  static auto* const hash = NVS_FIND(fake_hash);
  static const auto all = callers();
  const unsigned long before = calls(row);
  const Outcome outcome = all[row](function, row, mode);
  std::printf("%s: %d, %lu call, arguments %s, results %s\n", kEntries[row].symbol, outcome.result,
              calls(row) - before, hash(row) == outcome.hash ? "intact" : "LOST",
              outcome.results_intact ? "intact" : "LOST");
}

int run(std::string_view way, FakeMode mode) {
  NVS_FIND(fake_set_mode)(mode);
  std::size_t hooked = 0;
  for (unsigned row = 0; row < kEntries.size(); ++row) {
    void* const function = look_up(way, row);
    if (function == nullptr) {
      std::printf("%s: not there\n", kEntries[row].symbol);
      continue;
    }
    if (std::string_view(file_of(function)) == "libnvshare.so") ++hooked;
    call(row, function, mode);
  }
  std::fprintf(stderr, "evidence: %zu hooked\n", hooked);
  return 0;
}

}  // namespace
}  // namespace nvs::program

int main(int argc, char** argv) {
  if (argc != 3) nvs::program::give_up("two arguments");
  const bool fails = std::string_view(argv[2]) == "fails";
  return nvs::program::run(argv[1], fails ? kFakeFails : kFakeSucceeds);
}
