// SPDX-License-Identifier: Apache-2.0
// What an API server says about pods: a page of a list, a line of a watch, or a refusal. All of it
// comes from outside: whatever is no such thing is an error, and nothing throws.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/instant.h"
#include "base/result.h"
#include "kube/pod.h"

namespace nvs::kube {

// A place in the server's history. What is in it is the server's business alone.
using ResourceVersion = std::string;

struct PodEvent {
  enum class Kind : std::uint8_t { added, modified, deleted };
  Kind kind = Kind::added;
  Pod pod;
  ResourceVersion resource_version;
};

struct Bookmark {
  ResourceVersion resource_version;
};

// A Status object: of an ERROR line, or the body of an answer that is no success.
struct Refusal {
  int code = 0;
  std::string reason;   // "Expired"
  std::string message;  // for people; one line
  std::optional<Duration> retry_after;
};

using WatchEvent = std::variant<PodEvent, Bookmark, Refusal>;

struct ListPage {
  std::vector<Pod> pods;
  ResourceVersion resource_version;
  std::string next;  // the token that asks for the next page; empty: this is the last one
};

Result<WatchEvent> parse_watch_line(std::string_view line);
Result<ListPage> parse_list_page(std::string_view body);
// Proxies refuse in words of their own: then there is a message at best.
Refusal parse_refusal(std::string_view body);

// Text of strangers for a message: one line of printable ASCII, about that long at most.
std::string shown(std::string_view text, std::size_t bytes_max);

}  // namespace nvs::kube
