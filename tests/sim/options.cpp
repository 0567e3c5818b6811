// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <charconv>

#include <CLI/CLI.hpp>

namespace nvs::sim {
namespace {

constexpr std::uint64_t kSeedsMax = 10'000'000;
constexpr std::uint32_t kTenantsMax = 10'000;
constexpr std::uint32_t kGpusMax = 64;
constexpr double kHoursMax = 10'000;

constexpr const char* kDescription =
    "Runs the real scheduler core in a simulated world of tenants, drawn from a seed, and checks "
    "its promises.\nThe same seed and flags give the same run, on every machine.";
constexpr const char* kFooter =
    "Exit codes: 0 all promises kept, 1 one was broken, 2 the flags are wrong, 3 the output could "
    "not be written.\n\n"
    "Examples:\n"
    "  nvshare-sim --seed 7                        one run, and its table\n"
    "  nvshare-sim --seed 7 --trace                every event and effect of it\n"
    "  nvshare-sim --seed 1 --seeds 1000           a thousand runs, one after the other\n"
    "  nvshare-sim --seed 7 --tenants 100 --gpus 8 --hours 1\n";

// A number that does not fit is another seed than the one that was meant.
std::string wrong_seed(const std::string& text) {
  std::uint64_t seed = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, seed);
  if (error == std::errc{} && rest == end) return "";
  return "it takes a number from 0 to 18446744073709551615, not " + text;
}

}  // namespace

tl::expected<Options, EarlyExit> parse_options(int count, const char* const* words) {
  CLI::App app{kDescription, "nvshare-sim"};
  Options options;
  double hours = 0;
  app.add_option("--seed", options.seed, "what the run is drawn from")
      ->check(CLI::Validator(wrong_seed, "UINT64"))
      ->capture_default_str();
  app.add_option("--seeds", options.seeds, "how many runs: seed, seed + 1, ...")
      ->check(CLI::Range(std::uint64_t{1}, kSeedsMax));
  app.add_flag("--trace", options.trace, "print every event and effect");
  app.add_option("--tenants", options.size.tenants, "how many, in place of what the seed draws")
      ->check(CLI::Range(std::uint32_t{1}, kTenantsMax));
  app.add_option("--gpus", options.size.gpus, "how many, in place of what the seed draws")
      ->check(CLI::Range(std::uint32_t{1}, kGpusMax));
  app.add_option("--hours", hours, "how long, in simulated time, in place of what the seed draws");
  app.set_help_flag("-h,--help", "print this and end");
  app.footer(kFooter);
  try {
    app.parse(count, words);
  } catch (const CLI::CallForHelp&) {
    return tl::unexpected(EarlyExit{kExitOk, app.help()});
  } catch (const CLI::ParseError& error) {
    return tl::unexpected(EarlyExit{
        kExitUsage, std::string("nvshare-sim: ") + error.what() + "; see nvshare-sim --help\n"});
  }
  if (app.count("--hours") != 0 && !(hours > 0 && hours <= kHoursMax)) {
    return tl::unexpected(
        EarlyExit{kExitUsage,
                  "nvshare-sim: --hours must be more than 0 and at most 10000; see nvshare-sim "
                  "--help\n"});
  }
  options.size.length = Duration::from_ms(static_cast<std::int64_t>(hours * 3.6e6));
  if (hours > 0 && options.size.length == Duration{}) options.size.length = Duration::from_ms(1);
  return options;
}

}  // namespace nvs::sim
