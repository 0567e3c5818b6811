// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/trace_file.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
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

// Counters of a tenant's memory on a GPU: what they are called, and where the daemon has them.
struct Level {
  const char* name;
  const char* key;
};
constexpr std::array kLevels = {Level{"resident", "resident_bytes"},
                                Level{"swapped", "swapped_bytes"}, Level{"clean", "clean_bytes"},
                                Level{"fixed", "fixed_bytes"}};

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
    // Of an older daemon there are only windows.
    const Json none = Json::array();
    const Json& intervals = result_.at("intervals");
    const Json& moves = result_.contains("moves") ? result_["moves"] : none;
    const Json& points = result_.contains("memory") ? result_["memory"] : none;
    first_ = std::min(
        {earliest(intervals, "start_us"), earliest(moves, "start_us"), earliest(points, "at_us")});
    std::int64_t last = first_;
    for (const Json& interval : intervals) {
      const Track track = track_of(interval, "");
      add_slice(interval, track, "window", interval.at("kind").get<std::string>());
      last = std::max(last, interval.at("end_us").get<std::int64_t>());
    }
    // On a track of their own: they overlap with windows, and slices of one track must not.
    for (const Json& move : moves) {
      const Track track = track_of(move, " memory");
      add_slice(move, track, "memory", "moving " + move.at("way").get<std::string>());
    }
    for (const Json& point : points) add_point(point);
    return {"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" + events_ + "\n]}\n",
            intervals.size(), static_cast<double>(last - first_) / kUsPerSecond,
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

  static std::int64_t earliest(const Json& list, const char* key) {
    std::int64_t first = INT64_MAX;
    for (const Json& one : list) first = std::min(first, one.at(key).get<std::int64_t>());
    return first;
  }

  std::string name_of(std::uint64_t tenant) const {
    const auto name = names_.find(tenant);
    const std::string number = std::to_string(tenant);
    return name == names_.end() ? "tenant " + number : name->second + " (" + number + ")";
  }

  // A tenant's track appears with its first slice: most tenants use few of the GPUs.
  Track track_of(const Json& slice, const std::string& what) {
    const auto gpu = slice.at("gpu").get<std::uint64_t>();
    const auto tenant = slice.at("tenant").get<std::uint64_t>();
    const std::uint64_t next = kFirstThread + tracks_.size();
    const auto [found, is_new] =
        tracks_.insert({{gpu, tenant, what}, Track{gpu + kFirstProcess, next}});
    const Track track = found->second;
    if (is_new) {
      const Json id = {{"pid", track.process}, {"tid", track.thread}};
      add_label("thread_name", id, "name", name_of(tenant) + what);
      add_label("thread_sort_index", id, "sort_index", tenant);
    }
    return track;
  }

  void add_slice(const Json& slice, const Track& track, const char* category,
                 const std::string& name) {
    const auto start = slice.at("start_us").get<std::int64_t>();
    const auto end = slice.at("end_us").get<std::int64_t>();
    Json arguments = {{"tenant", slice.at("tenant")}};
    if (slice.contains("bytes")) arguments["bytes"] = slice["bytes"];
    add({{"ph", "X"},
         {"name", name},
         {"cat", category},
         {"pid", track.process},
         {"tid", track.thread},
         {"ts", start - first_},
         {"dur", std::max<std::int64_t>(end - start, 0)},
         {"args", std::move(arguments)}});
  }

  // Those that are what they were stay as they are in the viewer.
  void add_point(const Json& point) {
    const auto gpu = point.at("gpu").get<std::uint64_t>();
    const auto tenant = point.at("tenant").get<std::uint64_t>();
    for (const Level& level : kLevels) {
      if (!point.contains(level.key)) continue;  // of an older daemon
      const auto bytes = point[level.key].get<std::uint64_t>();
      const auto [last, is_new] = levels_.try_emplace({gpu, tenant, level.name}, bytes);
      if (!is_new && std::exchange(last->second, bytes) == bytes) continue;
      add({{"ph", "C"},
           {"name", name_of(tenant) + " " + level.name},
           {"cat", "memory"},
           {"pid", gpu + kFirstProcess},
           {"ts", point.at("at_us").get<std::int64_t>() - first_},
           {"args", {{"bytes", bytes}}}});
    }
  }

  const Json& result_;
  std::map<std::uint64_t, std::string> names_;
  std::int64_t first_ = 0;  // the begin of the file's time
  using OnGpu = std::tuple<std::uint64_t, std::uint64_t, std::string>;  // GPU, tenant, and what
  std::map<OnGpu, Track> tracks_;
  std::map<OnGpu, std::uint64_t> levels_;
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
