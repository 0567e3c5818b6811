// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/top_view.h"

#include <algorithm>
#include <cmath>

#include "cli/ctl/status_table.h"
#include "cli/ctl/text_table.h"
#include "cli/ctl/units.h"

namespace nvs::cli {
namespace {

constexpr std::size_t kTopNameColumnsMin = 8;
constexpr std::size_t kBarColumnsMin = 8;
constexpr std::size_t kBarColumnsMax = 32;
constexpr std::size_t kRowsOfTenantsMin = 3;

constexpr const char* kHelp[] = {
    "Keys",
    "",
    "  q             quit",
    "  up down j k   select a tenant; page up, page down, home and end as well",
    "  p             pause or resume the selected tenant",
    "  + -           raise or lower its priority",
    "  s             sort by share, waiting, memory, name, id",
    "  0 to 9        show that GPU only; a shows all",
    "  l             show limits in place of waits, and back",
    "  h             this help; any key goes back",
    "",
    "SHARE is the part of the GPU's time that the tenant used since the last poll,",
    "NOW how long it has been waiting, LONGEST its longest wait so far.",
    "CAP is the most it may have in percent (75>50: asked for and in force), 10S and 60S",
    "what it had lately, THROTTLED how long it had work and had had its share.",
};

// Narrow screens need the room for names; on wide ones a bar shows more.
std::size_t bar_columns(std::size_t screen) {
  return std::clamp((screen > 80 ? screen - 80 : 0) / 2 + kBarColumnsMin + 2, kBarColumnsMin,
                    kBarColumnsMax);
}

std::vector<ViewLine> help_lines() {
  std::vector<ViewLine> lines;
  for (const char* text : kHelp) lines.push_back({text, LineStyle::plain});
  lines.front().style = LineStyle::title;
  return lines;
}

std::vector<ViewLine> gpu_lines(const TopState& state, ScreenSize size) {
  TextTable table({{"GPU", Align::right},
                   {"NAME", Align::left, kTopNameColumnsMin},
                   {"MODE", Align::left},
                   {"WINDOW", Align::right},
                   {"HOLDER", Align::left, kTopNameColumnsMin},
                   {"WAITING", Align::right},
                   {"HELD", Align::left},
                   {"", Align::right}});
  for (const GpuStatus& gpu : state.node().gpus) {
    if (state.gpu() && *state.gpu() != gpu.index) continue;
    const double busy = state.busy_share(gpu.index);
    table.add({std::to_string(gpu.index), model_text(gpu), gpu.mode, window_text(gpu),
               holder_text(state.node(), gpu), std::to_string(gpu.waiting),
               bar(busy, bar_columns(size.columns)), share_text(busy)});
  }
  std::vector<ViewLine> lines;
  for (const std::string& line : table.lines(size.columns)) lines.push_back({line});
  lines.front().style = LineStyle::title;
  return lines;
}

// All of it, or what of it is on the GPU.
std::string use_text(const UseStatus& use) {
  const std::string all = bytes_text(use.memory_bytes);
  if (use.swapped_bytes == 0 || use.swapped_bytes > use.memory_bytes) return all;
  return bytes_text(use.memory_bytes - use.swapped_bytes) + "/" + all;
}

// Limits take the place of what there would be no room for beside them.
std::vector<Column> tenant_columns(bool limits) {
  std::vector<Column> columns = {{"ID", Align::right},
                                 {"TENANT", Align::left, kTopNameColumnsMin},
                                 {"GPU", Align::right},
                                 {"STATE", Align::left}};
  if (limits) {
    for (const char* title : {"CAP", "10S", "60S", "THROTTLED", "USE", "LIMIT"}) {
      columns.push_back({title, Align::right});
    }
    return columns;
  }
  columns.push_back({"PRIO", Align::left});
  columns.push_back({"SHARE", Align::left});
  for (const char* title : {"", "NOW", "LONGEST", "MEMORY"}) {
    columns.push_back({title, Align::right});
  }
  return columns;
}

std::vector<std::string> waits_of(const TopRow& row, std::size_t bar_width) {
  const UseStatus& use = *row.use;
  return {priority_text(*row.tenant),
          bar(row.share, bar_width),
          share_text(row.share),
          use.waiting_now_s > 0 ? seconds_text(use.waiting_now_s) : "-",
          seconds_text(use.longest_wait_s),
          use_text(use)};
}

std::vector<std::string> limits_of(const UseStatus& use) {
  return {cap_text(use),       lately_text(use.share_10s),        lately_text(use.share_60s),
          throttled_text(use), bytes_text(use.memory_used_bytes), limit_text(use)};
}

std::vector<ViewLine> tenant_lines(const TopState& state, ScreenSize size) {
  TextTable table(tenant_columns(state.shows_limits()));
  for (const TopRow& row : state.rows()) {
    std::vector<std::string> cells = {std::to_string(row.tenant->id), row.tenant->name,
                                      std::to_string(row.use->gpu), row.use->state};
    const auto more =
        state.shows_limits() ? limits_of(*row.use) : waits_of(row, bar_columns(size.columns));
    cells.insert(cells.end(), more.begin(), more.end());
    table.add(std::move(cells));
  }
  std::vector<ViewLine> lines;
  for (const std::string& line : table.lines(size.columns)) lines.push_back({line});
  lines.front().style = LineStyle::title;
  return lines;
}

// The title, and as many rows as there is room for, the selected one among them.
void append_scrolled(std::vector<ViewLine>& lines, std::vector<ViewLine> table,
                     std::size_t selected, std::size_t room) {
  if (room == 0) return;
  const std::size_t count = table.size() - 1;
  const std::size_t shown = std::min(count, room - 1);
  if (selected < count) table[selected + 1].style = LineStyle::selected;
  const std::size_t first = shown == 0 || selected < shown ? 0 : selected - shown + 1;
  lines.push_back(table.front());
  for (std::size_t i = 0; i < shown; ++i) lines.push_back(table[1 + first + i]);
}

std::string status_line(const TopState& state) {
  if (!state.message().empty()) return state.message();
  return std::string("sorted by ") + sort_word(state.sort()) +
         (state.gpu() ? ", GPU " + std::to_string(*state.gpu()) : "") + "; h: help, q: quit";
}

}  // namespace

std::string bar(double share, std::size_t columns) {
  const std::size_t inside = columns - 2;
  const auto full = static_cast<std::size_t>(
      std::lround(std::clamp(share, 0.0, 1.0) * static_cast<double>(inside)));
  return "[" + std::string(full, '|') + std::string(inside - full, ' ') + "]";
}

std::vector<ViewLine> top_view(const TopState& state, ScreenSize size) {
  std::vector<ViewLine> lines;
  if (state.shows_help()) {
    lines = help_lines();
  } else {
    lines.push_back({headline(state.node())});
    lines.push_back(
        {status_line(state), state.message().empty() ? LineStyle::plain : LineStyle::message});
    // Machines of sixteen GPUs have small terminals too: tenants keep some room.
    std::vector<ViewLine> gpus = gpu_lines(state, size);
    const std::size_t reserved = lines.size() + 1 + kRowsOfTenantsMin;
    const std::size_t room = size.rows > reserved ? size.rows - reserved : 0;
    if (gpus.size() > room) gpus.resize(room);
    lines.insert(lines.end(), gpus.begin(), gpus.end());
    lines.push_back({""});
    append_scrolled(lines, tenant_lines(state, size), state.selected_row(),
                    size.rows > lines.size() ? size.rows - lines.size() : 0);
  }
  if (lines.size() > size.rows) lines.resize(size.rows);
  for (ViewLine& line : lines) line.text = shortened(line.text, size.columns);
  return lines;
}

}  // namespace nvs::cli
