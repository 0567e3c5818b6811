// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "tests/conformance/compare.h"
#include "tests/conformance/runner.h"

namespace nvs::conformance {
namespace {

struct Options {
  bool list = false;
  std::vector<std::string> sections;
  std::string driver;
  std::string output;
  std::string expected;
  std::string known;
  std::string transcript;
};

std::string self_path() {
  char path[4096];
  const ssize_t n = ::readlink("/proc/self/exe", path, sizeof path - 1);
  return n > 0 ? std::string(path, static_cast<std::size_t>(n)) : std::string();
}

bool wanted(const Options& options, const Section& section) {
  if (options.sections.empty()) return true;
  for (const std::string& name : options.sections)
    if (name == section.name) return true;
  return false;
}

Transcript run_sections(const Options& options) {
  Transcript transcript;
  std::ofstream file;
  if (!options.output.empty()) file.open(options.output);
  const bool to_stdout = options.output.empty() && options.expected.empty();
  for (const Section& section : all_sections()) {
    if (!wanted(options, section)) continue;
    const auto start = std::chrono::steady_clock::now();
    const std::size_t before = transcript.size();
    run_section(self_path(), section, [&](std::string_view line) {
      transcript.emplace_back(line);
      if (to_stdout) std::cout << line << '\n';
      if (file.is_open()) file << line << '\n' << std::flush;
    });
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    std::fprintf(stderr, "%-14s %4zu lines  %6.2f s\n", section.name, transcript.size() - before,
                 took.count());
  }
  std::fprintf(stderr, "%zu lines\n", transcript.size());
  return transcript;
}

int compare_with(const Options& options) {
  const auto expected = read_transcript(options.expected);
  if (!expected) {
    std::fprintf(stderr, "nvshare-conformance: %s\n", expected.error().c_str());
    return 2;
  }
  Transcript actual;
  if (options.transcript.empty()) {
    actual = run_sections(options);
  } else if (auto read = read_transcript(options.transcript)) {
    actual = std::move(*read);
  } else {
    std::fprintf(stderr, "nvshare-conformance: %s\n", read.error().c_str());
    return 2;
  }
  KnownDifferences known;
  if (!options.known.empty()) {
    auto rows = read_known_differences(options.known);
    if (!rows) {
      std::fprintf(stderr, "nvshare-conformance: %s\n", rows.error().c_str());
      return 2;
    }
    known = std::move(*rows);
  }
  const Comparison comparison = compare(*expected, actual, known);
  std::fwrite(comparison.report.data(), 1, comparison.report.size(), stdout);
  return comparison.agrees ? 0 : 1;
}

int parent_main(const Options& options) {
  if (options.list) {
    for (const Section& section : all_sections())
      for (const Step& step : section.steps)
        if (step.process != Process::kHidden) std::printf("%s/%s\n", section.name, step.name);
    return 0;
  }
  if (!options.driver.empty()) ::setenv("NVSHARE_CUDA_LIBRARY", options.driver.c_str(), 1);
  // Kernels that are loaded at their first launch would make some launches wait for others.
  ::setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  if (options.transcript.empty()) {
    const auto driver = Driver::load();
    if (!driver) {
      std::fprintf(stderr, "nvshare-conformance: no CUDA driver: %s\n", driver.error().c_str());
      return 2;
    }
  }
  if (!options.expected.empty()) return compare_with(options);
  run_sections(options);
  return 0;
}

}  // namespace
}  // namespace nvs::conformance

int main(int argc, char** argv) {
  using namespace nvs::conformance;
  if (argc > 1 && std::strcmp(argv[1], "--child") == 0) return child_main(argc, argv);
  Options options;
  CLI::App app{"Makes driver calls, most of them wrong ones, and prints what each returned."};
  app.add_flag("--list", options.list, "List the steps");
  app.add_option("--section", options.sections, "Only this section (may be repeated)");
  app.add_option("--driver", options.driver, "The libcuda.so.1 to use");
  app.add_option("--output", options.output, "Write the transcript to this file");
  app.add_option("--compare", options.expected, "Compare with this transcript");
  app.add_option("--known", options.known, "File of known differences for --compare");
  app.add_option("--transcript", options.transcript, "Compare this transcript instead of running");
  CLI11_PARSE(app, argc, argv);
  return parent_main(options);
}
