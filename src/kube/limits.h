// SPDX-License-Identifier: Apache-2.0
// How much the watch takes from an API server, and from those who write annotations, before it says
// that it is enough.
#pragma once

#include <cstddef>

namespace nvs::kube {

// Annotations of one pod have 256 KiB at most together, and the server may write a character as
// six.
inline constexpr std::size_t kLineBytesMax = std::size_t{8} << 20U;
inline constexpr std::size_t kPageBytesMax = std::size_t{16} << 20U;
// Of an answer that is a refusal, for its message.
inline constexpr std::size_t kRefusalBytesMax = std::size_t{16} << 10U;

// How many pods are asked for at once; fewer after a page that was longer than kPageBytesMax, down
// to so few that the largest objects that the server stores (1.5 MiB) fit.
inline constexpr int kPagePods = 500;
inline constexpr int kPagePodsLeast = 5;
inline constexpr int kPagesMax = 1000;

// Of one node. Kubernetes is made for 110, and clusters are seen with 500.
inline constexpr std::size_t kPodsMax = 4096;
inline constexpr std::size_t kAnnotationsMax = 16;
// What is cut off was no limit anyway, nor any other value of ours.
inline constexpr std::size_t kAnnotationBytesMax = 1024;

// Watches that end early, histories that are forgotten: so often in a row without a good watch in
// between it is an accident, and from then on a server that wants to be left alone.
inline constexpr int kRestartsAtOnce = 3;

inline constexpr std::size_t kMessageBytesMax = 512;
inline constexpr std::size_t kMessagesMax = 64;
inline constexpr std::size_t kTokenBytesMax = std::size_t{64} << 10U;
inline constexpr std::size_t kCaBytesMax = std::size_t{1} << 20U;

static_assert(kLineBytesMax <= kPageBytesMax);
static_assert(kPagePodsLeast * (std::size_t{3} << 19U) <= kPageBytesMax);

}  // namespace nvs::kube
