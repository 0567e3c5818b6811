// SPDX-License-Identifier: Apache-2.0
#include "kube/in_cluster.h"

#include <charconv>
#include <string_view>

#include "base/result.h"

namespace nvs::kube {
namespace {

constexpr std::size_t kNodeNameMax = 253;  // a DNS name

template <class Value>
using Checked = tl::expected<Value, std::string>;

std::string_view text_or_nothing(const char* text) {
  return text != nullptr ? std::string_view(text) : std::string_view();
}

bool is_port(std::string_view text) {
  unsigned port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && end == text.data() + text.size() && port >= 1 && port <= 65'535;
}

bool is_node_name(std::string_view text) {
  return text.size() <= kNodeNameMax &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-.") == std::string_view::npos;
}

Checked<std::string> url_of_flag(std::string url) {
  while (url.ends_with('/')) url.pop_back();
  const std::size_t start = url.starts_with("http://")    ? 7
                            : url.starts_with("https://") ? 8
                                                          : std::string::npos;
  if (start == std::string::npos || start == url.size() ||
      url.find_first_of("@?# \t\r\n", start) != std::string::npos) {
    return tl::unexpected("'" + url + "' is no address of an API server such as https://host:6443");
  }
  return url;
}

Checked<std::string> url_of_cluster(const Environment& environment) {
  const std::string host(text_or_nothing(environment.host));
  const std::string port(text_or_nothing(environment.port));
  if (host.empty() || port.empty()) {
    return tl::unexpected(std::string(
        "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this is no pod"));
  }
  if (!is_port(port)) return tl::unexpected("KUBERNETES_SERVICE_PORT is '" + port + "', no port");
  if (host.find_first_of("/@?#[] \t\r\n") != std::string::npos) {
    return tl::unexpected("KUBERNETES_SERVICE_HOST is '" + host + "', no host");
  }
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return "https://" + (is_ipv6 ? "[" + host + "]" : host) + ":" + port;
}

}  // namespace

tl::expected<Settings, std::string> settings_of(const Flags& flags,
                                                const Environment& environment) {
  Settings settings;
  settings.api_url =
      NVS_TRY(flags.api_url.empty() ? url_of_cluster(environment) : url_of_flag(flags.api_url));
  settings.node = flags.node.empty() ? text_or_nothing(environment.node) : flags.node;
  if (settings.node.empty()) {
    return tl::unexpected(std::string("NODE_NAME is not set: take it from spec.nodeName"));
  }
  if (!is_node_name(settings.node)) {
    return tl::unexpected("'" + settings.node + "' is no name of a node");
  }
  const bool is_encrypted = settings.api_url.starts_with("https://");
  const bool is_folder_said = !flags.account_folder.empty();
  const std::string folder = is_folder_said ? flags.account_folder : kAccountFolder;
  if (is_encrypted) settings.ca_path = folder + "/ca.crt";
  // Nobody's token goes over an open wire just because it is there.
  if (is_encrypted || is_folder_said) settings.token_path = folder + "/token";
  return settings;
}

}  // namespace nvs::kube
