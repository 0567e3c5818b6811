// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/report.h"

#include "interposer/debug/log.h"

namespace nvs::interposer::memory {
namespace {

using debug::Text;
using debug::TextBuffer;

constexpr std::size_t kBytesWidth = 16;
constexpr std::size_t kNumberWidth = 12;

const char* name_of(const OwnerRow& row) {
  switch (row.use) {
    case RowUse::context:
      return "context";
    case RowUse::primary_context:
      return "primary";
    case RowUse::device:
      return row.device == kHostDevice ? "host" : "device";
    default:
      return "others";
  }
}

bool is_context(const OwnerRow& row) {
  return row.use == RowUse::context || row.use == RowUse::primary_context;
}

// Where columns begin after the pid, which has eight places.
constexpr std::size_t kOwnerColumn = 16;
constexpr std::size_t kHandleColumn = 24;
constexpr std::size_t kDeviceColumn = 43;
constexpr std::size_t kKindColumn = 50;
constexpr std::size_t kNumbersColumn = 59;

void append_heading(TextBuffer& text) {
  debug::begin_line(text).column(9).append("memory").column(kOwnerColumn).append("owner");
  text.column(kHandleColumn).append("handle").column(kDeviceColumn).append("device");
  text.column(kKindColumn).append("kind").column(kNumbersColumn);
  text.append("       bytes_now       bytes_peak    count_now  allocations\n");
}

void append_counts(TextBuffer& text, const OwnerRow& row, const char* kind, const Counts& counts) {
  debug::begin_line(text).column(9).append("memory").column(kOwnerColumn).append(name_of(row));
  text.column(kHandleColumn);
  if (is_context(row)) {
    text.hex(row.value);
  } else {
    text.append('-');
  }
  text.column(kDeviceColumn);
  if (row.device >= 0) {
    text.number(static_cast<unsigned>(row.device));
  } else {
    text.append('-');
  }
  text.column(kKindColumn).append(kind).column(kNumbersColumn);
  text.number(counts.bytes_now, kBytesWidth).append(' ').number(counts.bytes_peak, kBytesWidth);
  text.append(' ').number(counts.count_now, kNumberWidth);
  text.append(' ').number(counts.allocations, kNumberWidth).append('\n');
}

void append_context(TextBuffer& text, std::uint64_t context, RowUse use, int device) {
  text.append(use == RowUse::primary_context ? "primary context " : "context ").hex(context);
  text.append(" of device ").signed_number(device);
}

void append_uuid(TextBuffer& text, const CUuuid& uuid) {
  text.append(" GPU");
  for (std::size_t i = 0; i < sizeof(uuid.bytes); ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text.append('-');
    const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
    text.append("0123456789abcdef"[byte / 16]).append("0123456789abcdef"[byte % 16]);
  }
}

}  // namespace

void append_table(TextBuffer& text, const OwnerRow& row) {
  for (std::size_t i = 0; i < kMemoryKindCount; ++i) {
    if (row.kinds[i].allocations == 0) continue;
    append_counts(text, row, kMemoryKinds[i].name, row.kinds[i]);
  }
  append_counts(text, row, "all", row.all);
}

void report_context(std::uint64_t context, RowUse use, int device, const CUuuid* uuid,
                    const char* event) {
  if (!debug::enabled()) return;
  Text<debug::kTextMax> line;
  append_context(debug::begin_line(line), context, use, device);
  if (uuid != nullptr) append_uuid(line, *uuid);
  line.append(' ').append(event).append('\n');
  debug::write_log(line);
}

void report_ended(const OwnerRow& last) {
  if (!debug::enabled()) return;
  Text<debug::kTextMax> lines;
  append_context(debug::begin_line(lines), last.value, last.use, last.device);
  lines.append(" ended\n");
  append_heading(lines);
  append_table(lines, last);
  debug::write_log(lines);
}

void report_all() {
  if (!debug::enabled()) return;
  Text<debug::kTextMax> lines;
  debug::begin_line(lines).append("at the end\n");
  bool has_heading = false;
  for (std::size_t i = 0; i <= kOwnersMax; ++i) {
    OwnerRow row;
    if (!books().row(i, row)) continue;
    if (!has_heading) append_heading(lines);
    has_heading = true;
    append_table(lines, row);
    debug::write_log(lines);
    lines.clear();
  }
  const Counts totals = books().totals();
  debug::begin_line(lines).append("process peak ").number(totals.bytes_peak).append(" bytes, ");
  lines.number(totals.allocations).append(" allocations\n");
  if (books().incomplete()) {
    debug::begin_line(lines).append("incomplete: there was no memory for all records\n");
  }
  debug::write_log(lines);
}

}  // namespace nvs::interposer::memory
