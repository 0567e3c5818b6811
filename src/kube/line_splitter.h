// SPDX-License-Identifier: Apache-2.0
// A watch is one JSON object a line, and the network tears lines wherever it likes. This makes
// lines of the pieces, and refuses one that never ends.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace nvs::kube {

class LineSplitter {
 public:
  enum class Next { go_on, stop };
  // Gets a line without its end ("\n" or "\r\n"). After `stop` the rest of the piece is dropped.
  using OnLine = std::function<Next(std::string_view line)>;

  explicit LineSplitter(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  // Error: a line has more than bytes_max. Lines before it have been handed out.
  Result<void> feed(std::string_view piece, const OnLine& on_line);

  // Whether something came after the end of the last line.
  bool has_rest() const { return !rest_.empty(); }
  void clear() { rest_.clear(); }

 private:
  std::size_t bytes_max_;
  std::string rest_;
};

}  // namespace nvs::kube
