// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/resource_name.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

namespace nvs::plugin {
namespace {

constexpr std::size_t kDomainMax = 253;

bool is_letter_or_digit(char character) {
  return std::isalnum(static_cast<unsigned char>(character)) != 0;
}

bool is_label(std::string_view label) {
  if (label.empty() || label.front() == '-' || label.back() == '-') return false;
  return std::all_of(label.begin(), label.end(), [](char character) {
    return (is_letter_or_digit(character) && std::isupper(character) == 0) || character == '-';
  });
}

bool is_domain(std::string_view domain) {
  while (true) {
    const std::size_t dot = domain.find('.');
    if (!is_label(domain.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    domain.remove_prefix(dot + 1);
  }
}

bool is_name(std::string_view name) {
  if (name.empty() || !is_letter_or_digit(name.front()) || !is_letter_or_digit(name.back())) {
    return false;
  }
  return std::all_of(name.begin(), name.end(), [](char character) {
    return is_letter_or_digit(character) || character == '-' || character == '_' ||
           character == '.';
  });
}

// How many letters must be put in, taken out or changed.
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), 0U);
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t corner = row[0]++;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const bool is_same = std::tolower(from[i]) == std::tolower(to[j]);
      const std::size_t best = std::min({row[j] + 1, row[j + 1] + 1, corner + (is_same ? 0 : 1)});
      corner = std::exchange(row[j + 1], best);
    }
  }
  return row.back();
}

}  // namespace

std::string resource_name_error(std::string_view name) {
  const std::string said = "'" + std::string(name) + "' is no name of a resource: ";
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return said + "it is DOMAIN/NAME, such as nvshare.com/gpu";
  if (name.size() > kNameMax) {
    return said + "it has " + std::to_string(name.size()) + " characters, and " +
           std::to_string(kNameMax) + " are allowed";
  }
  const std::string_view domain = name.substr(0, slash);
  if (!is_domain(domain)) return said + "before the / is a domain in small letters";
  // The kubelet looks no further than at these letters: IsExtendedResourceName of its source.
  if (domain.ends_with("kubernetes.io")) {
    return said + "domains that end in kubernetes.io are not for extended resources";
  }
  if (name.starts_with("requests.")) return said + "what begins with requests. is of quotas";
  if (!is_name(name.substr(slash + 1))) {
    return said +
           "after the / are letters, digits, '-', '_' and '.', first and last a letter or "
           "digit";
  }
  return "";
}

std::string annotation_key_error(std::string_view key) {
  const std::size_t slash = key.find('/');
  if (slash != std::string_view::npos) {
    const std::string_view domain = key.substr(0, slash);
    if (domain.size() > kDomainMax || !is_domain(domain)) {
      return "before the / is a domain in small letters";
    }
    key.remove_prefix(slash + 1);
  }
  if (is_name(key) && key.size() <= kNameMax) return "";
  return "after the / are letters, digits, '-', '_' and '.', " + std::to_string(kNameMax) +
         " at most, and first a letter or digit";
}

std::string nearest_word(std::string_view word, const std::vector<std::string>& known) {
  std::string nearest;
  std::size_t least = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const std::size_t changes = distance(word, candidate);
    if (changes >= least) continue;
    least = changes;
    nearest = candidate;
  }
  return nearest;
}

}  // namespace nvs::plugin
