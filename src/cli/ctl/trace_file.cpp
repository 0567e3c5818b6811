// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/trace_file.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "cli/ctl/admin_messages.h"

namespace nvs::cli {
namespace {

using Json = nlohmann::json;

constexpr double kUsPerSecond = 1e6;
// Viewers take process 0 for the kernel, and a thread with the number of its process for the main
// one; and they want thread numbers that no two processes share.
constexpr std::uint64_t kFirstProcess = 1;
constexpr std::uint64_t kFirstThread = 1001;

struct Track {
  std::uint64_t process;
  std::uint64_t thread;
};

class TraceWriter {
 public:
  explicit TraceWriter(const Json& result) : result_(result) {
    for (const Json& tenant : result.at("tenants")) {
      names_[tenant.at("id").get<std::uint64_t>()] = tenant.at("name").get<std::string>();
    }
  }

  TraceFile write() {
    for (const Json& gpu : result_.at("gpus")) add_gpu(gpu);
    const Json& intervals = result_.at("intervals");
    std::int64_t first = INT64_MAX;
    for (const Json& interval : intervals) {
      first = std::min(first, interval.at("start_us").get<std::int64_t>());
    }
    std::int64_t last = first;
    for (const Json& interval : intervals) {
      add_interval(interval, first);
      last = std::max(last, interval.at("end_us").get<std::int64_t>());
    }
    return {"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + events_ + "\n]}\n",
            intervals.size(), static_cast<double>(last - first) / kUsPerSecond,
            result_.value("cut", false)};
  }

 private:
  void add(const Json& event) {
    if (!events_.empty()) events_ += ",\n";
    events_ += event.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

  void add_label(const char* what, Json id, const char* argument, Json value) {
    id.update({{"ph", "M"}, {"name", what}, {"args", {{argument, std::move(value)}}}});
    add(id);
  }

  void add_gpu(const Json& gpu) {
    const auto index = gpu.at("index").get<std::uint64_t>();
    const Json id = {{"pid", index + kFirstProcess}, {"tid", 0}};
    const std::string name = "GPU " + std::to_string(index) + " " +
                             gpu.at("name").get<std::string>() + " " +
                             gpu.at("uuid").get<std::string>();
    add_label("process_name", id, "name", name);
    add_label("process_sort_index", id, "sort_index", index);
  }

  // A tenant's track appears with its first interval: most tenants use few of the GPUs.
  Track track_of(std::uint64_t gpu, std::uint64_t tenant) {
    const std::uint64_t next = kFirstThread + tracks_.size();
    const auto [found, is_new] = tracks_.insert({{gpu, tenant}, Track{gpu + kFirstProcess, next}});
    const Track track = found->second;
    if (is_new) {
      const Json id = {{"pid", track.process}, {"tid", track.thread}};
      const auto name = names_.find(tenant);
      const std::string number = std::to_string(tenant);
      add_label("thread_name", id, "name",
                name == names_.end() ? "tenant " + number : name->second + " (" + number + ")");
      add_label("thread_sort_index", id, "sort_index", tenant);
    }
    return track;
  }

  void add_interval(const Json& interval, std::int64_t first) {
    const auto start = interval.at("start_us").get<std::int64_t>();
    const auto end = interval.at("end_us").get<std::int64_t>();
    const auto tenant = interval.at("tenant").get<std::uint64_t>();
    const Track track = track_of(interval.at("gpu").get<std::uint64_t>(), tenant);
    add({{"ph", "X"},
         {"name", interval.at("kind")},
         {"cat", "window"},
         {"pid", track.process},
         {"tid", track.thread},
         {"ts", start - first},
         {"dur", std::max<std::int64_t>(end - start, 0)},
         {"args", {{"tenant", tenant}}}});
  }

  const Json& result_;
  std::map<std::uint64_t, std::string> names_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Track> tracks_;
  std::string events_;
};

}  // namespace

Outcome<TraceFile> make_trace_file(std::string_view answer) {
  const Json result = NVS_TRY(result_of(answer));
  try {
    return TraceWriter(result).write();
  } catch (const Json::exception& error) {
    return tl::unexpected(not_understood(error.what()));
  }
}

}  // namespace nvs::cli
