// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <string>

#include "options.h"
#include "plan.h"
#include "table.h"
#include "trace.h"
#include "world.h"

namespace {

using nvs::sim::Options;

void print(const std::string& text) { std::fputs(text.c_str(), stdout); }

void print_failure(std::uint64_t seed, const nvs::sim::World& world, const nvs::sim::Trace& trace) {
  std::printf("seed %llu: broken at %.6f s: %s\n", static_cast<unsigned long long>(seed),
              (world.now() - nvs::Instant{}).seconds(), world.failure()->c_str());
  print("the last lines of the trace:\n");
  for (const std::string& line : trace.last_lines()) print("  " + line + "\n");
}

// Whether all promises were kept.
bool run_seed(std::uint64_t seed, const Options& options, std::uint64_t& steps) {
  nvs::sim::Trace trace(options.trace ? [](const std::string& line) { print(line + "\n"); }
                                      : std::function<void(const std::string&)>());
  nvs::sim::World world(nvs::sim::draw_plan(seed, options.size), seed, trace);
  world.run();
  steps += world.steps();
  if (options.seeds == 1) print(table_of(world));
  if (world.failure()) print_failure(seed, world, trace);
  return !world.failure();
}

int run(const Options& options) {
  std::printf("seed %llu\n", static_cast<unsigned long long>(options.seed));
  std::uint64_t steps = 0, broken = 0;
  for (std::uint64_t number = 0; number < options.seeds; ++number) {
    if (run_seed(options.seed + number, options, steps)) continue;
    if (++broken == 10) break;  // enough to look at
  }
  std::printf("%llu steps of the core; %s\n", static_cast<unsigned long long>(steps),
              broken == 0 ? "all promises kept" : "promises broken");
  std::printf("seed %llu", static_cast<unsigned long long>(options.seed));
  if (options.seeds > 1) {
    std::printf(" to %llu", static_cast<unsigned long long>(options.seed + options.seeds - 1));
  }
  std::printf("\n");
  return broken == 0 ? nvs::sim::kExitOk : nvs::sim::kExitBroken;
}

// Output that did not arrive is a failure: a full disk must not look like promises kept.
int ended_with(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fputs("nvshare-sim: cannot write the output\n", stderr);
  return code == nvs::sim::kExitOk ? nvs::sim::kExitUnwritten : code;
}

}  // namespace

int main(int count, char** words) {
  const auto options = nvs::sim::parse_options(count, words);
  if (!options) {
    std::FILE* out = options.error().code == nvs::sim::kExitOk ? stdout : stderr;
    std::fputs(options.error().text.c_str(), out);
    return ended_with(options.error().code);
  }
  return ended_with(run(*options));
}
