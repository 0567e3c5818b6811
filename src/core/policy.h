// SPDX-License-Identifier: Apache-2.0
// What users may set: modes, priorities, lengths of windows and turns; and the fixed times and
// shares of the schedule, each in one place with its reason.
#pragma once

#include <cstdint>
#include <optional>

#include "base/instant.h"

namespace nvs::core {

enum class Mode : std::uint8_t {
  automatic,   // all that fit are resident and take windows
  serial,      // one tenant at a time, for whole turns
  concurrent,  // no windows, no turns: the driver slices
};

// A part of one GPU, in millionths.
using Share = std::uint32_t;
inline constexpr Share kNoCap = 0;
inline constexpr Share kWholeGpu = 1'000'000;

enum class Priority : std::uint8_t { low, normal, high };
inline constexpr int kPriorities = 3;

// Of one GPU.
struct GpuPolicy {
  Mode mode = Mode::automatic;
  Duration window = Duration::from_ms(20);  // the daemon's own default is longer
  std::optional<Duration> turn;             // nothing: chosen by the core (REQUIREMENTS.md, A5)
  Duration quota_period = Duration::from_ms(200);  // in which a cap holds for one that is alone
};

inline constexpr Duration kWindowMin = Duration::from_ms(1);
inline constexpr Duration kWindowMax = Duration::from_s(1);
inline constexpr Duration kTurnMin = Duration::from_ms(100);
inline constexpr Duration kTurnMax = Duration::from_s(3600);
// A turn of serial mode where nobody set one.
inline constexpr Duration kSerialTurn = Duration::from_s(30);

// How much GPU time a client may have queued while somebody waits or may come: whoever sleeps a lot
// is served as soon as that has run when it wakes.
inline constexpr Duration kQueueBound = Duration::from_ms(2);
// The same where the others only ever wait for their next window, of which it may be this part: a
// thread that its host keeps waiting for some milliseconds does not leave the GPU idle then.
inline constexpr Duration kQueueBoundSteady = Duration::from_ms(15);
inline constexpr int kQueueBoundOfWindow = 3;
// A tenant is steady if it holds the GPU or waits for it all the time but one part in so many, for
// half of this span at least. One away for longer than a fortieth of it is not.
inline constexpr Duration kSteadySpan = Duration::from_s(1);
inline constexpr int kSteadyParts = 20;
// A tenant that used the GPU within this time may come back at any moment: the others' queues are
// bounded although nobody waits, or its next request would find a second of work before it.
inline constexpr Duration kPresence = Duration::from_s(10);
// A tenant's GPUs are a gang if it used them within this time of each other.
inline constexpr Duration kGangMemory = Duration::from_s(1);

// What a tenant that slept is let ahead of those that did not, at most.
inline constexpr Duration kSleeperCredit = Duration::from_ms(20);
// What a tenant that waited for several GPUs at once is let ahead of those that had them meanwhile,
// at most: so many windows. Beside light ones, whose windows count more, one is behind by some.
inline constexpr int kGangCreditWindows = 4;
// A tenant that wakes takes the GPU from one that is ahead of it by more than this, by its own
// weight.
inline constexpr Duration kWakeupLead = Duration::from_ms(3);
// What such a tenant is charged in the order of service, though not on its bill: one that wakes
// thousands of times a second would waste the GPU on switches.
inline constexpr Duration kSwitchCost = Duration::from_us(200);

// Shares of a GPU, in parts of 1000, that waiting tenants of a class get however many of a higher
// class have work: high tenants cannot have more than four fifths, low ones starve never.
inline constexpr int kFloorShareNormal = 200;
inline constexpr int kFloorShareLow = 50;

// What a capped tenant has not had because others had the GPU is owed to it, up to its cap of this
// span: beside kernels of a second it would never get what it may have.
inline constexpr Duration kQuotaCarry = Duration::from_s(2);
// What it had too much, because a kernel took longer, it pays back in full, up to this.
inline constexpr Duration kQuotaDebtMax = Duration::from_s(60);
// Where tenants take turns, a cap holds over as long as a round takes, up to this.
inline constexpr Duration kQuotaPeriodMax = Duration::from_s(60);
inline constexpr Duration kQuotaPeriodMin = Duration::from_ms(10);

// Whoever wants no window for so long after it lost one was done with its burst. In a window that
// somebody waits for, a client gives up after a fifth of that.
inline constexpr Duration kBurstPause = Duration::from_ms(1);
// Longer ones count as long as this: one that was alone for an hour had no pauses to tell of, and
// nothing is decided by more.
inline constexpr Duration kBurstMax = Duration::from_s(1);
// Whoever waits for a burst that is not longer than this does not go to sleep meanwhile.
inline constexpr Duration kShortBurst = Duration::from_ms(1);

// A client that says nothing for so long after it was told to close is unresponsive. A CPU limit
// alone can hold it 100 ms.
inline constexpr Duration kSilenceMax = Duration::from_ms(300);
// The others wait no longer than this for a drain, however alive the client says it is: a kernel
// that runs for minutes is sliced by the driver from then on.
inline constexpr Duration kDrainMax = Duration::from_s(10);
// Others wait for whoever closes without work, and it is served less for what takes longer than
// this: it takes so long to wake up.
inline constexpr Duration kDrainFree = Duration::from_ms(1);
// While a drain stalls one submission may pass another gate of the tenant, and so soon the next
// one, if what came of it was not told. Clients ask after 20 ms, and then ever more rarely.
inline constexpr Duration kLetInEvery = Duration::from_ms(5);
// A tenant that could not drain runs beside the others, and is asked again after this; the wait
// doubles each time.
inline constexpr Duration kRefusalRetry = Duration::from_s(1);
inline constexpr Duration kRefusalRetryMax = Duration::from_s(30);

// More than any GPU has, and little enough to be added up: a client is taken to have no more, and a
// GPU of unknown size to have as much.
inline constexpr std::uint64_t kGpuBytesMost = std::uint64_t{1} << 48U;
// Memory moves in chunks of this size; allowances are not raised by less, but for the last bit.
inline constexpr std::uint64_t kMemoryStep = std::uint64_t{64} << 20;
// A tenant without work for so long has no use for its turn, if moving its memory takes no longer:
// a turn in memory, or one of serial mode.
inline constexpr Duration kRestMin = Duration::from_ms(100);
// In serial mode half of a turn is used, but for this much: its first burst may be short.
inline constexpr Duration kRestFree = Duration::from_ms(10);
// A client that has to move memory and does not get anything moved for so long is not waited for.
inline constexpr Duration kMoveStall = Duration::from_s(2);
// After so long with less memory than there should be, a step more is tried.
inline constexpr Duration kShortageStep = Duration::from_s(10);
// A turn chosen by the core: so many times as long as moving takes, and as switches stalled.
inline constexpr int kTurnSwaps = 5;
inline constexpr int kTurnStalls = 19;
// What is better, as long as everybody has a turn within so long.
inline constexpr int kTurnStallsWished = 39;
inline constexpr Duration kRoundWished = Duration::from_s(28);
// How many turns a class may be passed over for higher ones, by class: as kFloorShare has it.
inline constexpr int kTurnsPassedLow = 1000 / kFloorShareLow - 1;
inline constexpr int kTurnsPassedNormal = 1000 / kFloorShareNormal - 1;
// Bytes a second and direction, until it is known better.
inline constexpr std::uint64_t kSwapRate = 8'000'000'000;

}  // namespace nvs::core
