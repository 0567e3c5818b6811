// SPDX-License-Identifier: Apache-2.0
#include "workloads/status.h"

#include <nlohmann/json.hpp>

namespace nvs::workloads {
namespace {

using nlohmann::json;

json progress_fields(const char* event, const Progress& p) {
  return {{"event", event},         {"done", p.done},       {"total", p.total},
          {"fraction", p.fraction}, {"seconds", p.seconds}, {"rate", p.rate}};
}

struct Encoder {
  json operator()(const ReadyStatus& s) const {
    return {{"event", "ready"},
            {"gpu_name", s.gpu_name},
            {"bytes", s.bytes},
            {"prepare_seconds", s.prepare_seconds}};
  }
  json operator()(const Progress& s) const { return progress_fields("progress", s); }
  json operator()(const VerifyingStatus& s) const {
    return progress_fields("verifying", s.progress);
  }
  json operator()(const ResultStatus& s) const {
    return {{"event", "result"},    {"pass", s.pass}, {"iterations", s.iterations},
            {"seconds", s.seconds}, {"rate", s.rate}, {"verify_seconds", s.verify_seconds},
            {"message", s.message}};
  }
};

Progress decode_progress(const json& object) {
  return {.done = object.at("done"),
          .total = object.at("total"),
          .fraction = object.at("fraction"),
          .seconds = object.at("seconds"),
          .rate = object.at("rate")};
}

std::optional<Status> decode_object(const json& object) {
  const std::string event = object.at("event");
  if (event == "ready") {
    return ReadyStatus{.gpu_name = object.at("gpu_name"),
                       .bytes = object.at("bytes"),
                       .prepare_seconds = object.at("prepare_seconds")};
  }
  if (event == "progress") return decode_progress(object);
  if (event == "verifying") return VerifyingStatus{decode_progress(object)};
  if (event == "result") {
    return ResultStatus{.pass = object.at("pass"),
                        .iterations = object.at("iterations"),
                        .seconds = object.at("seconds"),
                        .rate = object.at("rate"),
                        .verify_seconds = object.at("verify_seconds"),
                        .message = object.at("message")};
  }
  return std::nullopt;
}

}  // namespace

std::string encode_status(const Status& status) {
  // A message may quote bytes that are not UTF-8; they must not end the program.
  return std::visit(Encoder{}, status).dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
}

std::optional<Status> decode_status(std::string_view line) {
  try {
    return decode_object(json::parse(line));
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

}  // namespace nvs::workloads
