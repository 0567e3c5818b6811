// SPDX-License-Identifier: Apache-2.0
// The picture of `top`: lines for a terminal of a given size, with what to stress in them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/ctl/top_state.h"

namespace nvs::cli {

enum class LineStyle { plain, title, selected, message };

struct ViewLine {
  std::string text;  // never wider than the screen
  LineStyle style = LineStyle::plain;

  bool operator==(const ViewLine&) const = default;
};

struct ScreenSize {
  std::size_t rows = 24;
  std::size_t columns = 80;
};

// Never more lines than the screen has.
std::vector<ViewLine> top_view(const TopState& state, ScreenSize size);

// "[||||    ]" of so many columns.
std::string bar(double share, std::size_t columns);

}  // namespace nvs::cli
