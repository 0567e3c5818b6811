// SPDX-License-Identifier: Apache-2.0
#include "kube/watch_event.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "kube/limits.h"

namespace nvs::kube {
namespace {

using nlohmann::json;

constexpr std::int64_t kRetryAfterSecondsMost = 3600;

tl::unexpected<Error> garbage(const char* what) {
  return tl::unexpected(Error{Errc::kInvalidInput, 0, what});
}

// The member, or null where there is none, or nothing to have one.
const json& part(const json& object, const char* name) {
  static const json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(name);
  return found != object.end() ? *found : kNull;
}

std::string_view text_in(const json& object, const char* name) {
  const json& found = part(object, name);
  return found.is_string() ? std::string_view(found.get_ref<const std::string&>())
                           : std::string_view();
}

std::int64_t number_in(const json& object, const char* name) {
  const json& found = part(object, name);
  return found.is_number_integer() ? found.get<std::int64_t>() : 0;
}

// Never half a character at its end.
std::string beginning_of(std::string_view text) {
  if (text.size() <= kAnnotationBytesMax) return std::string(text);
  std::size_t end = kAnnotationBytesMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return std::string(text.substr(0, end));
}

Result<Pod> pod_of(const json& object) {
  const json& metadata = part(object, "metadata");
  Pod pod;
  pod.uid = text_in(metadata, "uid");
  pod.space = text_in(metadata, "namespace");
  pod.name = text_in(metadata, "name");
  if (pod.uid.empty() || pod.name.empty()) return garbage("a pod has no uid or no name");
  const json& annotations = part(metadata, "annotations");
  const std::string_view mirror = text_in(annotations, kMirrorAnnotation);
  if (is_pod_uid(mirror)) pod.static_uid = mirror;
  for (const auto& [key, value] : annotations.items()) {
    if (!key.starts_with(kAnnotationPrefix) || !value.is_string()) continue;
    if (pod.annotations.size() == kAnnotationsMax) break;
    pod.annotations[beginning_of(key)] = beginning_of(value.get_ref<const std::string&>());
  }
  return pod;
}

Refusal refusal_of(const json& status) {
  Refusal refusal;
  refusal.code = static_cast<int>(std::clamp<std::int64_t>(number_in(status, "code"), 0, 999));
  refusal.reason = shown(text_in(status, "reason"), kMessageBytesMax);
  refusal.message = shown(text_in(status, "message"), kMessageBytesMax);
  const std::int64_t seconds = number_in(part(status, "details"), "retryAfterSeconds");
  if (seconds > 0) {
    refusal.retry_after = Duration::from_s(std::min(seconds, kRetryAfterSecondsMost));
  }
  return refusal;
}

Result<WatchEvent> event_of(const json& line) {
  const std::string_view type = text_in(line, "type");
  const json& object = part(line, "object");
  if (type == "ERROR") return refusal_of(object);
  const std::string_view version = text_in(part(object, "metadata"), "resourceVersion");
  if (version.empty()) return garbage("an event has no resourceVersion");
  if (type == "BOOKMARK") return Bookmark{ResourceVersion(version)};
  PodEvent event;
  if (type == "MODIFIED") {
    event.kind = PodEvent::Kind::modified;
  } else if (type == "DELETED") {
    event.kind = PodEvent::Kind::deleted;
  } else if (type != "ADDED") {
    return garbage("an event is of a type that nobody knows");
  }
  event.pod = NVS_TRY(pod_of(object));
  event.resource_version = version;
  return event;
}

Result<ListPage> page_of(const json& body) {
  const json& metadata = part(body, "metadata");
  const json& items = part(body, "items");
  ListPage page;
  page.resource_version = text_in(metadata, "resourceVersion");
  page.next = text_in(metadata, "continue");
  // A list of nothing may be written as null.
  if (page.resource_version.empty() || !(items.is_array() || items.is_null())) {
    return garbage("it is no list of pods");
  }
  for (const json& item : items) page.pods.push_back(NVS_TRY(pod_of(item)));
  return page;
}

// Parsing does not throw; but there may be no memory for what was parsed.
template <class Value>
Result<Value> parsed(std::string_view text, Result<Value> (*read)(const json&)) {
  try {
    const json value = json::parse(text, nullptr, false);
    if (!value.is_object()) return garbage("it is not a JSON object");
    return read(value);
  } catch (const std::exception&) {
    return garbage("it cannot be read");
  }
}

}  // namespace

Result<WatchEvent> parse_watch_line(std::string_view line) { return parsed(line, event_of); }

Result<ListPage> parse_list_page(std::string_view body) { return parsed(body, page_of); }

Refusal parse_refusal(std::string_view body) {
  const auto read = [](const json& status) -> Result<Refusal> { return refusal_of(status); };
  const Result<Refusal> refusal = parsed<Refusal>(body, read);
  if (refusal && !refusal->message.empty()) return *refusal;
  Refusal foreign = refusal.value_or(Refusal{});
  foreign.message = shown(body, kMessageBytesMax);
  return foreign;
}

std::string shown(std::string_view text, std::size_t bytes_max) {
  std::string line(text.substr(0, bytes_max));
  for (char& letter : line) {
    const auto code = static_cast<unsigned char>(letter);
    if (code < ' ') letter = ' ';
    if (code > '~') letter = '?';
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return text.size() > bytes_max ? line + "..." : line;
}

}  // namespace nvs::kube
