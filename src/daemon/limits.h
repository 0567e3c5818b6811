// SPDX-License-Identifier: Apache-2.0
// Every bound of the daemon in one place: what clients, who may be hostile, can make it hold, and
// how long it waits for them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/instant.h"
#include "wire/codec.h"
#include "wire/memory_account.h"

namespace nvs::daemon {

// Connections, each with a socket and a pidfd. A node's daemon has some hundreds.
inline constexpr std::size_t kClientsMax = 4096;
// Of one tenant, so that one cannot take the places of all.
inline constexpr std::size_t kTenantClientsMax = 1024;
// Of one container, or of one user, who can be many tenants (origins.h), but outside of containers
// not of root and the daemon's own user; and how often they come, once as many as that have come.
// Programs that use a GPU begin more slowly.
inline constexpr std::size_t kOriginClientsMax = kTenantClientsMax;
inline constexpr std::int64_t kVisitsPerSecond = 50;
// Descriptors that they passed and that are not closed yet: those that are kept, and as many again
// as many processes of a job may pass at once. To close one can take as long as they like.
inline constexpr std::size_t kOriginFilesMax = 4 * std::size_t{wire::kSharedChunksMax};
// Those that have gone are kept in mind until there are so many.
inline constexpr std::size_t kOriginsKept = 64;
// Each may be a tenant of its own, and those have the file of their account; and a copy of shared
// memory's may be on the way to it.
inline constexpr std::size_t kFdsPerClient = 4;
static_assert(kTenantClientsMax <= wire::kAccountSlots);
// For everything else: the loop, listening sockets, administrators, who asks over HTTP, files.
inline constexpr std::size_t kFdsReserved = 128;
// Where the system allows few descriptors: so many clients have theirs before host memory has any;
// and a daemon that could serve fewer than these does not start.
inline constexpr std::size_t kClientsBeforeHost = 64;
inline constexpr std::size_t kClientsLeast = 8;
// Connections that have not said Hello. One more, and the oldest of them is closed: they come from
// nobody yet, and whoever is in earnest says Hello at once.
inline constexpr std::size_t kUngreetedMax = 256;
inline constexpr Duration kHelloWait = Duration::from_s(5);

// GPUs of the node, found or learnt.
inline constexpr std::size_t kGpusMax = 64;
static_assert(wire::kGpusMax <= kGpusMax);
static_assert(kGpusMax <= wire::kAccountGpus);

// Messages of a connection, for each GPU that it uses. In the shortest windows (1 ms, two tenants)
// a client sends some 500 times a second Drained, and Idle and Busy before it; with the usual
// windows of 80 ms under fifty messages. While its memory moves it says Holds for each chunk:
// 2000 times a second where chunks are small. What sends more than this is broken or means harm.
inline constexpr std::int64_t kMessagesPerSecond = 4000;
// What may come at once: two seconds' worth from a connection that was quiet, since a client that
// had no CPU catches up, and a quarter of a second's from a new one, so that connecting again and
// again gains nothing.
inline constexpr Duration kMessageBurst = Duration::from_s(2);
inline constexpr Duration kMessageBurstAtFirst = Duration::from_ms(250);

// How often a connection may say that the drain of a GPU has stalled: each time whatever waits at
// the gates of its tenant is let in, a packet for each. A client says it 20 ms after the last
// progress at the earliest (session/tend.cpp). What comes more often is heard as a sign of life: it
// is said again as long as it is true.
inline constexpr std::int64_t kStallsPerSecond = 100;
inline constexpr Duration kStallBurst = Duration::from_ms(250);
// Packets that stalled drains of one origin bring about, all its connections together; and gates
// that are looked at for the price of one. Half of 64 processes that let the other half in all the
// time would be 50'000; real ones do it for some milliseconds at the end of a window.
inline constexpr std::int64_t kLetInsPerSecond = 20'000;
inline constexpr Duration kLetInBurst = Duration::from_s(1);
inline constexpr std::size_t kGatesPerPacket = 32;
// Messages of one origin, all its connections together, for each GPU that the sender uses: 64
// processes may say 600 a second each, who say fifty in the usual windows. Chunks that move are as
// many as the bus takes, however many processes have them. Beyond that nobody is closed, since each
// may be honest: its connections are not read for a moment, which is short beside the silence that
// the core allows whoever drains.
inline constexpr std::int64_t kOriginMessagesPerSecond = 10 * kMessagesPerSecond;
// Memory is divided anew among all tenants of a GPU when one of them says what it has: 0.25 us for
// each of a thousand, where a message takes some 5 us. So many of them count as one more.
inline constexpr std::uint32_t kTenantsPerMessage = 8;
inline constexpr Duration kOriginMessageBurst = Duration::from_ms(500);
inline constexpr Duration kOriginPause = Duration::from_ms(20);
inline constexpr Duration kPauseLinesApart = Duration::from_s(10);

// Packets kept for a client whose socket is full. The kernel holds a few hundred before that, and
// a client that does not answer is sent only a few: whoever gets here reads nothing and goes on
// asking.
inline constexpr std::size_t kPacketsQueuedMax = 256;
// The largest packet that the daemon sends.
inline constexpr std::size_t kPacketSentMax = sizeof(wire::Packet<wire::Goodbye>);
static_assert(kPacketSentMax <= wire::kPacketMax);

// How long after its start the daemon believes clients what earlier daemons have billed: a client
// whose connection breaks later has its time in the books already. So long others may have to wait
// for one that comes with an open gate, and pods are kept that an earlier daemon knew and the API
// server does not: their tenants may still come back.
inline constexpr Duration kReadoption = Duration::from_s(30);
// Tenants whose numbers are kept for the next daemon, and lines of that file that may be about
// others before it is written anew. A key is the path of a cgroup at the longest.
inline constexpr std::size_t kTenantIdsMax = kClientsMax;
inline constexpr std::size_t kTenantIdsSpareLines = 1024;
inline constexpr std::size_t kTenantIdsBytesMax = std::size_t{64} << 20U;
static_assert(kTenantIdsBytesMax / 4200 > 3 * kTenantIdsMax + kTenantIdsSpareLines);
// Tenants that left whose names the trace still knows.
inline constexpr std::size_t kDepartedMax = 1024;

// Tenants that left whose limits and debts are kept in case they come back, and for how long; debts
// until they are paid.
inline constexpr std::size_t kDepartedQuotaMax = 1024;
inline constexpr Duration kDepartedQuotaTime = Duration::from_s(600);
// Limits that were not understood are shown to people, so many of each tenant.
inline constexpr std::size_t kLimitErrorsMax = 4;

// What tenants had of GPUs lately: how often it is written down, for how long it is kept, and from
// when on it says anything.
inline constexpr Duration kSharePoll = Duration::from_s(1);
inline constexpr Duration kShareShort = Duration::from_s(10);
inline constexpr Duration kShareLong = Duration::from_s(60);
inline constexpr std::size_t kShareSamples = 61;
inline constexpr Duration kShareSpanMin = Duration::from_ms(500);

// Intervals in one answer to `trace`: it is written in one round, in which no window changes hands.
inline constexpr std::size_t kTraceAnswerMax = 20'000;

// The end of a drain is expected at a certain time: how long before and after the daemon stays
// awake for it: as long as those who wait for it (session/tend.cpp).
inline constexpr Duration kAwakeBefore = Duration::from_us(500);
inline constexpr Duration kAwakeAfter = Duration::from_us(500);

// Connections over HTTP, from anybody in the network. One more, and the one that has the least time
// left is closed: so much for its request, so much for its answer, and so much until it has ended.
inline constexpr std::size_t kHttpConnectionsMax = 16;
inline constexpr std::size_t kHttpRequestMax = std::size_t{8} << 10U;
inline constexpr Duration kHttpWait = Duration::from_s(10);
inline constexpr Duration kHttpFarewell = Duration::from_s(1);
// Sent in one round, and thrown away after the answer.
inline constexpr std::size_t kHttpSendMax = std::size_t{64} << 10U;
inline constexpr std::size_t kHttpIgnoredMax = std::size_t{64} << 10U;
static_assert(2 * kHttpConnectionsMax < kFdsReserved);
// Whoever asks for metrics sooner gets the same again.
inline constexpr Duration kMetricsAge = Duration::from_s(1);

// When the system has no descriptor or memory for another connection, the next try is after this.
inline constexpr Duration kAcceptPause = Duration::from_ms(100);
// When the service manager did not take that we are ready, it is told again after this.
inline constexpr Duration kReadyAgain = Duration::from_ms(100);
// Lines a second about connections that were closed for a fault; the rest are counted.
inline constexpr int kFaultLinesPerSecond = 20;

// How often tenants are looked at for what goes wrong with them, at most; and how long after a line
// about one kind of it there is another about the same tenant and GPU.
inline constexpr Duration kTroubleLook = Duration::from_ms(100);
inline constexpr Duration kTroubleLinesApart = Duration::from_s(10);

// --exit-when-unused: processes that have connected and have not ended; after the last of them, and
// if none ever came. Each needs a descriptor as long as it lives, as clients do.
inline constexpr std::size_t kVisitorsMax = 1024;
inline constexpr std::size_t kFdsPerVisitor = 1;
inline constexpr Duration kUnusedGrace = Duration::from_s(2);
inline constexpr Duration kUnusedAtFirst = Duration::from_s(10);
// For a folder that another daemon is about to leave. `nvshare run` waits longer for one that it
// has started.
inline constexpr Duration kFolderWait = Duration::from_s(4);
// How often it is looked whether the folder has our sockets still.
inline constexpr Duration kFolderLook = Duration::from_s(2);
// Of the log of such a daemon, which nobody else bounds; looked at as often.
inline constexpr std::int64_t kLogBytesMax = std::int64_t{16} << 20U;
// Of a process, when it is asked whether it belongs to a run. The kernel allows less.
inline constexpr std::size_t kEnvironmentBytesMax = std::size_t{8} << 20U;

// How often NVML is asked what is free of GPUs' memory, and from what difference on it counts.
inline constexpr Duration kMemoryPoll = Duration::from_s(1);
// NVML answers within milliseconds, or never if the driver hangs. After this it is said that a GPU
// does not answer, and so long it is waited for at the end.
inline constexpr Duration kGpuSilence = Duration::from_s(5);
inline constexpr Duration kMemoryWatchEnd = Duration::from_s(1);
// Where there was no NVML at the start it is looked for again after this, and then after longer.
inline constexpr Duration kGpuSearchFirst = Duration::from_s(1);
inline constexpr Duration kGpuSearchLongest = Duration::from_s(10);
// Polls in a row like the one before until it is believed that others have more of it, or less.
inline constexpr int kStillPollsForMore = 3;
inline constexpr int kStillPollsForLess = 1;
inline constexpr std::uint64_t kCapacityStep = std::uint64_t{16} << 20U;
// What a context is taken to need until some were measured, and at most.
inline constexpr std::uint64_t kContextGuess = std::uint64_t{512} << 20U;
inline constexpr std::uint64_t kContextMax = std::uint64_t{1} << 30U;
// Programs are not shown room for so many contexts, or this part of the GPU if that is less.
inline constexpr std::uint64_t kContextsKept = 6;
inline constexpr std::uint64_t kVisibleReservePart = 6;
// A limit that has changed by less is not told again.
inline constexpr std::uint64_t kLimitStep = std::uint64_t{64} << 20U;

// Host memory that is lent to tenants, in segments of this size; or smaller, so that so many make
// up the cap; but never so small that a chunk of a GPU's memory, which has 64 MiB at most, fits
// into none of them. A cap below one segment is none.
inline constexpr std::uint64_t kHostSegmentBytes = std::uint64_t{256} << 20U;
inline constexpr std::uint64_t kHostSegmentLeast = std::uint64_t{64} << 20U;
inline constexpr std::uint64_t kHostSegmentsAim = 32;
inline constexpr std::uint64_t kHostMemoryMin = kHostSegmentLeast;
// What is touched before anybody asks: this, or a quarter of the cap if that is less.
inline constexpr std::uint64_t kHostReserveBytes = std::uint64_t{16} << 30U;
// No memory is lent while the system has less than this left.
inline constexpr std::uint64_t kHostMarginBytes = std::uint64_t{512} << 20U;
// Segments that are touched at a time, and the pieces in which threads share the work. Between two
// pieces a thread can be stopped.
inline constexpr std::size_t kHostTouchingMax = 2;
inline constexpr std::uint64_t kHostPieceBytes = std::uint64_t{32} << 20U;
inline constexpr unsigned kHostThreadsMax = 8;
// A segment, and its copy on the way to a client that does not read.
inline constexpr std::size_t kFdsPerHostSegment = 2;

// Descriptors of GPU memory that clients share: of all, or this part of what the system allows if
// that is less; and of one tenant, so that one cannot take the places of all. All tenants of one
// origin have no more than one of them, and this part of the places at most, but of those that are
// not counted (origins.h).
inline constexpr std::size_t kSharedFilesMax = 8 * std::size_t{wire::kSharedChunksMax};
inline constexpr std::size_t kSharedFilesPart = 8;
inline constexpr std::size_t kSharedFilesOfTenantMax = wire::kSharedChunksMax;
inline constexpr std::size_t kSharedFilesOriginPart = 4;

// More urgent than tenants' threads: while the daemon waits for a processor, a GPU is idle.
inline constexpr int kNiceness = -10;

}  // namespace nvs::daemon
