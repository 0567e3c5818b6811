// SPDX-License-Identifier: Apache-2.0
// A watch for tests: prints what it hears, a line each, until its standard input ends.
// usage: kube_watch_print [--api URL] [--folder FOLDER] [--node NAME] [--TIME MILLISECONDS]...
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include <unistd.h>

#include "kube/in_cluster.h"
#include "kube/pod_mailbox.h"
#include "kube/pod_watch.h"
#include "os/event_loop.h"

namespace nvs::kube {
namespace {

using Words = std::map<std::string, std::string>;

// Each one of the times that a test makes shorter.
void set_times(const Words& words, WatchTiming& timing) {
  const std::map<std::string, std::vector<Duration*>> known = {
      {"--backoff", {&timing.backoff_first, &timing.backoff_most}},
      {"--healthy", {&timing.healthy}},
      {"--silence", {&timing.silence}},
      {"--watch", {&timing.watch_least, &timing.watch_most}},
      {"--margin", {&timing.watch_margin}},
      {"--relist", {&timing.relist_least, &timing.relist_most}},
  };
  for (const auto& [name, times] : known) {
    const auto said = words.find(name);
    if (said == words.end()) continue;
    for (Duration* time : times) *time = Duration::from_ms(std::stol(said->second));
  }
}

void print(const PodChange& change) {
  static constexpr const char* kWords[] = {"added", "changed", "removed"};
  const Pod& pod = change.pod;
  std::printf("%s %s/%s %s", kWords[static_cast<int>(change.kind)], pod.space.c_str(),
              pod.name.c_str(), pod.uid.c_str());
  for (const auto& [key, value] : pod.annotations) {
    std::printf(" %s=%s", key.c_str() + kAnnotationPrefix.size(), value.c_str());
  }
  std::printf("\n");
}

void print(const Health& health) {
  std::printf("health %s%s", health.is_reachable ? "reachable" : "unreachable",
              health.has_listed ? " listed" : "");
  for (std::size_t i = 0; i < kReasons; ++i) {
    const auto reason = static_cast<Reason>(i);
    if (health.count(reason) == 0) continue;
    std::printf(" %s=%llu", std::string(reason_word(reason)).c_str(),
                static_cast<unsigned long long>(health.count(reason)));
  }
  std::printf("\n");
}

void print(const Update& update) {
  for (const PodChange& change : update.changes) print(change);
  if (update.health) print(*update.health);
  for (const Message& message : update.messages) {
    std::printf("%s: %s\n", message.level == Message::Level::info ? "info" : "warning",
                message.text.c_str());
  }
  std::fflush(stdout);
}

Result<void> watch_until_input_ends(const Settings& settings) {
  os::EventLoop loop = NVS_TRY(os::EventLoop::create());
  PodMailbox mailbox = NVS_TRY(PodMailbox::create());
  bool is_over = false;
  NVS_TRY(loop.add(mailbox.fd(), EPOLLIN, [&](std::uint32_t) { print(mailbox.take()); }));
  NVS_TRY(loop.add(STDIN_FILENO, EPOLLIN, [&](std::uint32_t) {
    char byte = 0;
    is_over = ::read(STDIN_FILENO, &byte, 1) == 0;
  }));
  const auto watch =
      NVS_TRY(PodWatch::start(settings, [&](Update update) { mailbox.post(std::move(update)); }));
  while (!is_over) NVS_TRY(loop.run_round(std::nullopt));
  return {};
}

int run(const Words& words) {
  const auto word = [&words](const char* name) {
    const auto found = words.find(name);
    return found != words.end() ? found->second : std::string();
  };
  const Environment environment{std::getenv("KUBERNETES_SERVICE_HOST"),
                                std::getenv("KUBERNETES_SERVICE_PORT"), std::getenv("NODE_NAME")};
  auto settings = settings_of({word("--api"), word("--folder"), word("--node")}, environment);
  if (!settings) {
    std::printf("error: %s\n", settings.error().c_str());
    return 2;
  }
  set_times(words, settings->timing);
  const Result<void> watched = watch_until_input_ends(*settings);
  if (watched) return 0;
  std::printf("error: %s\n", watched.error().message().c_str());
  return 1;
}

}  // namespace
}  // namespace nvs::kube

int main(int count, char** arguments) {
  nvs::kube::Words words;
  for (int i = 1; i + 1 < count; i += 2) words[arguments[i]] = arguments[i + 1];
  return nvs::kube::run(words);
}
