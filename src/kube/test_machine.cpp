// SPDX-License-Identifier: Apache-2.0
#include "kube/test_machine.h"

namespace nvs::kube {
namespace {

// What follows `name=` in a query.
std::string query_value(const std::string& target, const std::string& name) {
  const std::size_t found = target.find(name + "=");
  if (found == std::string::npos) return "";
  const std::size_t begin = found + name.size() + 1;
  return target.substr(begin, target.find('&', begin) - begin);
}

std::string words_of(const StartRequest& request) {
  if (request.target.find("&watch=1") != std::string::npos) {
    return "watch:" + query_value(request.target, "resourceVersion");
  }
  const std::string next = query_value(request.target, "continue");
  return next.empty() ? "list" : "list:" + next;
}

std::string words_of(const CancelRequest& /*effect*/) { return "cancel"; }
std::string words_of(const ReloadCa& /*effect*/) { return "ca"; }

std::string words_of(const PostUpdate& effect) {
  std::string words;
  for (const PodChange& change : effect.update.changes) {
    words += words.empty() ? "" : " ";
    words += "+~-"[static_cast<int>(change.kind)];
    words += change.pod.uid;
  }
  for (const Message& message : effect.update.messages) {
    words += (words.empty() ? "!" : " !") + message.text;
  }
  return words;
}

void add_word(std::string& line, const std::string& word) {
  if (word.empty()) return;
  line += (line.empty() ? "" : " ") + word;
}

}  // namespace

TestMachine::TestMachine(const WatchTiming& timing)
    : machine("node-1", timing, [this] { return chance; }) {}

std::string TestMachine::step(const Input& input) {
  std::vector<Effect> effects;
  machine.step(now, input, effects);
  std::string line;
  for (const Effect& effect : effects) {
    if (const auto* request = std::get_if<StartRequest>(&effect)) target_ = request->target;
    add_word(line, std::visit([](const auto& one) { return words_of(one); }, effect));
    const auto* post = std::get_if<PostUpdate>(&effect);
    if (post == nullptr || !post->update.health) continue;
    if (was_reachable_ == post->update.health->is_reachable) continue;
    was_reachable_ = !was_reachable_;
    add_word(line, was_reachable_ ? "reachable" : "unreachable");
  }
  return line;
}

std::string TestMachine::pass(Duration span) {
  const Instant end = now + span;
  std::string line;
  while (machine.next_deadline() && *machine.next_deadline() < end) {
    now = std::max(now, *machine.next_deadline());
    const std::string words = tick();
    add_word(line, words);
    if (words.empty()) break;  // it did nothing at its own deadline
  }
  now = end;
  add_word(line, tick());
  return line;
}

std::string TestMachine::answer(int status, std::string_view body) {
  std::string line = headers(status);
  add_word(line, bytes(body));
  add_word(line, end());
  return line;
}

std::string TestMachine::refuse(int status, std::string_view reason, std::string_view message) {
  return answer(status, status_json(status, reason, message));
}

std::string TestMachine::reach_watch(std::string_view version) {
  start();
  answer(200, list_json({}, version));
  return headers(200);
}

std::string pod_json(std::string_view uid, std::string_view limit, std::string_view version) {
  std::string text = R"({"kind":"PartialObjectMetadata","metadata":{"namespace":"lab","name":"p-)";
  text.append(uid).append(R"(","uid":")").append(uid).append(R"(","resourceVersion":")");
  text.append(version).append(R"(","annotations":{"nvshare.com/gpu-memory-limit":")");
  return text.append(limit).append(R"("}}})");
}

std::string list_json(const std::vector<std::string>& pods, std::string_view version,
                      std::string_view next) {
  std::string text = R"({"kind":"PartialObjectMetadataList","metadata":{"resourceVersion":")";
  text.append(version).append(R"(","continue":")").append(next).append(R"("},"items":[)");
  for (const std::string& pod : pods) text += (&pod == pods.data() ? "" : ",") + pod;
  return text + "]}\n";
}

std::string event_line(std::string_view type, std::string_view object) {
  std::string text = R"({"type":")";
  return text.append(type).append(R"(","object":)").append(object).append("}\n");
}

std::string bookmark_line(std::string_view version) {
  std::string object = R"({"kind":"PartialObjectMetadata","metadata":{"resourceVersion":")";
  return event_line("BOOKMARK", object.append(version).append(R"("}})"));
}

std::string status_json(int code, std::string_view reason, std::string_view message) {
  std::string text = R"({"kind":"Status","status":"Failure","reason":")";
  text.append(reason).append(R"(","message":")").append(message).append(R"(","code":)");
  return text.append(std::to_string(code)).append("}");
}

}  // namespace nvs::kube
