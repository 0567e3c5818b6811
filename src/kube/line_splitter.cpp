// SPDX-License-Identifier: Apache-2.0
#include "kube/line_splitter.h"

namespace nvs::kube {

Result<void> LineSplitter::feed(std::string_view piece, const OnLine& on_line) {
  while (!piece.empty()) {
    const std::size_t end = piece.find('\n');
    const bool is_whole = end != std::string_view::npos;
    const std::string_view part = piece.substr(0, end);
    if (part.size() > bytes_max_ - rest_.size()) {
      rest_.clear();
      return tl::unexpected(Error{Errc::kLimit, 0, "a line is too long"});
    }
    if (!is_whole) {
      rest_.append(part);
      return {};
    }
    piece.remove_prefix(end + 1);
    std::string joined;
    std::string_view line = part;
    if (!rest_.empty()) {
      joined = std::move(rest_);
      joined.append(part);
      rest_.clear();
      line = joined;
    }
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (on_line(line) == Next::stop) return {};
  }
  return {};
}

}  // namespace nvs::kube
