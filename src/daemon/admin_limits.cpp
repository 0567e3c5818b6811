// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin_limits.h"

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace nvs::daemon {
namespace {

using nlohmann::json;

template <class Word>
Checked<std::optional<Word>> word_of(const json& request, const char* name,
                                     std::optional<Word> (*parse)(std::string_view),
                                     const char* forms) {
  const auto said = request.find(name);
  if (said == request.end()) return std::nullopt;
  std::optional<Word> word;
  if (said->is_string()) word = parse(said->get_ref<const std::string&>());
  if (said->is_number_unsigned()) word = parse(std::to_string(said->get<std::uint64_t>()));
  if (word) return word;
  return invalid("'" + std::string(name) + "' is " + echo(*said) + ", not " + forms);
}

}  // namespace

Checked<LimitChange> limit_change(const json& request) {
  LimitChange change;
  change.memory = NVS_TRY(word_of(request, "memory", parse_memory_word, kMemoryWordForms));
  change.cores = NVS_TRY(word_of(request, "cores", parse_cores_word, kCoresWordForms));
  if (!change.memory && !change.cores) return invalid("nothing to set: give 'memory' or 'cores'");
  return change;
}

}  // namespace nvs::daemon
