// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/compare.h"

#include <fstream>
#include <set>

namespace nvs::conformance {
namespace {

// At most one line in this many may be listed as a known difference.
constexpr std::size_t kLinesPerKnownDifference = 20;
constexpr std::string_view kArrow = " -> ";
constexpr std::string_view kBar = " | ";

struct Difference {
  std::string expected;
  std::string actual;
};

// The key of a line is what was done; the value is what came of it, which may itself hold arrows.
std::pair<std::string, std::string> split(const std::string& line) {
  const std::size_t at = line.find(kArrow);
  if (at == std::string::npos) return {line, ""};
  return {line.substr(0, at), line.substr(at + kArrow.size())};
}

std::map<std::string, std::string> values_of(const Transcript& transcript) {
  std::map<std::string, std::string> values;
  for (const std::string& line : transcript) values.insert(split(line));
  return values;
}

// The keys of both transcripts in the order of the first, those of the second alone at the end.
std::vector<std::string> keys_of(const Transcript& expected, const Transcript& actual) {
  std::vector<std::string> keys;
  std::set<std::string> seen;
  for (const Transcript* transcript : {&expected, &actual})
    for (const std::string& line : *transcript)
      if (std::string key = split(line).first; seen.insert(key).second) keys.push_back(key);
  return keys;
}

bool matches(const std::string& pattern, const std::string& key) {
  if (!pattern.ends_with('*')) return pattern == key;
  return key.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1));
}

const std::string* row_for(const KnownDifferences& known, const std::string& key) {
  for (const auto& [pattern, reason] : known)
    if (matches(pattern, key)) return &pattern;
  return nullptr;
}

std::string value_or(const std::map<std::string, std::string>& values, const std::string& key) {
  const auto found = values.find(key);
  return found == values.end() ? "(no such line)" : found->second;
}

}  // namespace

tl::expected<Transcript, std::string> read_transcript(const std::string& path) {
  std::ifstream file(path);
  if (!file) return tl::unexpected("cannot read " + path);
  Transcript transcript;
  for (std::string line; std::getline(file, line);)
    if (!line.empty()) transcript.push_back(line);
  return transcript;
}

tl::expected<KnownDifferences, std::string> read_known_differences(const std::string& path) {
  std::ifstream file(path);
  if (!file) return tl::unexpected("cannot read " + path);
  KnownDifferences known;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t bar = line.find(kBar);
    if (bar == std::string::npos) return tl::unexpected(path + ": no reason in row: " + line);
    if (!known.emplace(line.substr(0, bar), line.substr(bar + kBar.size())).second)
      return tl::unexpected(path + ": twice: " + line.substr(0, bar));
  }
  return known;
}

Comparison compare(const Transcript& expected, const Transcript& actual,
                   const KnownDifferences& known) {
  const auto expected_values = values_of(expected);
  const auto actual_values = values_of(actual);
  std::set<std::string> rows_used;
  std::size_t unknown_count = 0;
  std::size_t known_count = 0;
  std::string unknown_text;
  std::string known_text;
  for (const std::string& key : keys_of(expected, actual)) {
    const std::string want = value_or(expected_values, key);
    const std::string got = value_or(actual_values, key);
    if (want == got) continue;
    const std::string* row = row_for(known, key);
    const std::string text = key + "\n    expected " + want + "\n    got      " + got + "\n";
    if (row == nullptr) {
      ++unknown_count;
      unknown_text += text;
    } else {
      ++known_count;
      rows_used.insert(*row);
      known_text += text + "    because  " + known.at(*row) + "\n";
    }
  }
  std::string stale_text;
  for (const auto& [pattern, reason] : known)
    if (!rows_used.contains(pattern)) stale_text += pattern + "\n";
  const bool few = known_count * kLinesPerKnownDifference < expected.size() || known_count == 0;
  Comparison comparison;
  comparison.agrees = unknown_count == 0 && stale_text.empty() && few && !expected.empty();
  if (known_count > 0) comparison.report += "Known differences:\n" + known_text + "\n";
  if (!stale_text.empty())
    comparison.report += "Listed as known differences, but equal:\n" + stale_text + "\n";
  if (unknown_count > 0) comparison.report += "Differences:\n" + unknown_text + "\n";
  if (!few) comparison.report += "Too many known differences: 1 line in 20 at most.\n";
  comparison.report += std::to_string(expected.size()) + " lines expected, " +
                       std::to_string(actual.size()) + " got, " + std::to_string(unknown_count) +
                       " differ, " + std::to_string(known_count) +
                       " more differ as known: " + (comparison.agrees ? "PASS\n" : "FAIL\n");
  return comparison;
}

}  // namespace nvs::conformance
