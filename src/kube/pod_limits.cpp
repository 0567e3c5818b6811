// SPDX-License-Identifier: Apache-2.0
#include "kube/pod_limits.h"

#include "kube/watch_event.h"

namespace nvs::kube {
namespace {

constexpr std::size_t kValueShown = 64;

template <class Word>
tl::expected<Word, std::string> annotated(const Pod& pod, const char* key,
                                          std::optional<Word> (*parse)(std::string_view),
                                          const char* forms) {
  const auto found = pod.annotations.find(key);
  if (found == pod.annotations.end()) return Word{};
  if (const auto word = parse(found->second)) return *word;
  return tl::unexpected("the annotation " + std::string(key) + " of pod " + pod.space + "/" +
                        pod.name + " is '" + shown(found->second, kValueShown) + "', not " + forms);
}

}  // namespace

PodLimits limits_of(const Pod& pod) {
  return {annotated(pod, kMemoryAnnotation, parse_memory_word, kMemoryWordForms),
          annotated(pod, kCoresAnnotation, parse_cores_word, kCoresWordForms)};
}

}  // namespace nvs::kube
