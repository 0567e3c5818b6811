// SPDX-License-Identifier: Apache-2.0
// Decides whether a transcript agrees with the one of the real GPU. A line may differ only when a
// row of known differences gives the reason; a row whose line does not differ is stale and fails
// too, and the rows must stay few.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace nvs::conformance {

using Transcript = std::vector<std::string>;
// From the part of a line before the arrow to the reason why its result differs.
using KnownDifferences = std::map<std::string, std::string>;

struct Comparison {
  bool agrees = false;
  std::string report;
};

tl::expected<Transcript, std::string> read_transcript(const std::string& path);
// Rows are `part before the arrow | reason`; a key that ends in * stands for all lines that start
// so. Lines that begin with # are comments.
tl::expected<KnownDifferences, std::string> read_known_differences(const std::string& path);
Comparison compare(const Transcript& expected, const Transcript& actual,
                   const KnownDifferences& known);

}  // namespace nvs::conformance
