// SPDX-License-Identifier: Apache-2.0
#include "interposer/memory/swap/check.h"

#include <stdlib.h>

#include "interposer/debug/log.h"
#include "interposer/debug/quiet_write.h"
#include "os/linux_calls.h"

namespace nvs::interposer::swap {
namespace {

using Stage = Flight::Stage;
using vmm::ChunkState;

constexpr int kStandardError = 2;

// To whoever reads stderr and to the debug log, if there is one; then the process ends where the
// data was lost.
[[noreturn]] void fail(const Flight& flight, const char* what) {
  debug::Text<debug::kTextMax> line;
  line.append("nvshare: pid ").number(static_cast<unsigned>(os::process_id()));
  line.append(": memory at ").hex(flight.address).append(" of ").number(flight.move.bytes);
  line.append(" bytes ").append(what).append('\n');
  debug::quiet_write(kStandardError, debug::identity_of(kStandardError), line.data(), line.size());
  debug::write_log(line);
  abort();
}

// What is in it now; false: nobody can tell.
bool look(const Flight& flight, int slot, Lane::Content& content) {
  const Lane::Stretch stretch{flight.address, flight.move.bytes};
  return flight.has_lane && flight.lane.begin_hashes(slot, &stretch, 1) &&
         flight.lane.end_hash(slot, slot, content);
}

void check_hash(const Flight& flight, int slot, const vmm::Hash& hash, const char* otherwise) {
  Lane::Content content{};
  if (!hash.is_known() || !look(flight, slot, content)) return;
  if (content.hash != hash) fail(flight, otherwise);
}

void check_zero(const Flight& flight, int slot, const char* otherwise) {
  Lane::Content content{};
  if (look(flight, slot, content) && !content.is_zero) fail(flight, otherwise);
}

void check_leaving(Flight& flight, int slot) {
  // One that was taken for clean has not needed a lane.
  if (!flight.has_lane && !flight.take_lane()) return;
  if (flight.stage == Stage::copying) {
    check_hash(flight, slot, flight.hash, "changed while it was copied to host memory");
  } else if (flight.stage == Stage::same) {
    check_hash(flight, slot, flight.chunk().hash, "is not what its copy in host memory is");
  } else if (flight.stage == Stage::zero) {
    check_zero(flight, slot, "was about to be dropped as zero, which it is not");
  }
}

void check_come(const Flight& flight, int slot) {
  const ChunkState state = flight.chunk().state;
  if (state == ChunkState::coming_copied) {
    check_hash(flight, slot, flight.chunk().hash, "came back from host memory as other than left");
  } else if (state == ChunkState::coming_zeroed) {
    check_zero(flight, slot, "was to come back as zero, which it is not");
  }
}

}  // namespace

void check_end(Flight& flight, int slot, Direction direction) {
  if (direction == Direction::out) {
    check_leaving(flight, slot);
  } else {
    check_come(flight, slot);
  }
}

}  // namespace nvs::interposer::swap
