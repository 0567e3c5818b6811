// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/preferred.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>

namespace nvs::plugin {
namespace {

class Picker {
 public:
  Picker(const OfferedResource& resource, const std::vector<GpuUse>& gpus, Spread spread)
      : gpus_(gpus), spread_(spread), free_(gpus.size()), picks_(gpus.size()) {
    for (const OfferedDevice& device : resource.devices) places_[device.id] = device.gpu;
  }

  Parsed<std::vector<std::string>> pick(const PreferredRequest& request) {
    for (const std::string& id : request.must_include) {
      const auto place = places_.find(id);
      if (place == places_.end()) return tl::unexpected("'" + id + "' is no device of ours");
      if (std::find(picked_.begin(), picked_.end(), id) != picked_.end()) continue;
      take(id, place->second);
    }
    const std::set<std::string> taken(picked_.begin(), picked_.end());
    // In the order of the inventory, so that the answer does not depend on the kubelet's maps.
    std::map<std::string, std::size_t> available;
    for (const std::string& id : request.available) {
      const auto place = places_.find(id);
      // What the kubelet has from an earlier list may be gone by now.
      if (place != places_.end() && !taken.contains(id)) available[id] = place->second;
    }
    for (const auto& [id, gpu] : available) free_[gpu].push_back(id);
    while (picked_.size() < request.size) {
      const auto gpu = best_gpu();
      if (!gpu) break;
      std::string id = free_[*gpu].front();
      free_[*gpu].pop_front();
      take(std::move(id), *gpu);
    }
    return std::move(picked_);
  }

 private:
  void take(std::string id, std::size_t gpu) {
    picked_.push_back(std::move(id));
    ++picks_[gpu];
  }

  std::optional<std::size_t> best_gpu() const {
    std::optional<std::size_t> best;
    for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
      if (free_[gpu].empty()) continue;
      if (!best || rank(gpu) < rank(*best)) best = gpu;
    }
    return best;
  }

  // The least is best. Two devices on one GPU are no more GPU than one is.
  std::tuple<unsigned, double, double, double> rank(std::size_t gpu) const {
    const GpuUse& use = gpus_[gpu];
    const double pods = use.pods;
    return {picks_[gpu], spread_ == Spread::packed ? -pods : pods, use.promised, use.load};
  }

  const std::vector<GpuUse>& gpus_;
  Spread spread_;
  std::map<std::string, std::size_t> places_;
  std::vector<std::deque<std::string>> free_;  // by GPU
  std::vector<unsigned> picks_;                // by GPU
  std::vector<std::string> picked_;
};

}  // namespace

Parsed<std::vector<std::string>> prefer(const PreferredRequest& request,
                                        const OfferedResource& resource,
                                        const std::vector<GpuUse>& gpus, Spread spread) {
  return Picker(resource, gpus, spread).pick(request);
}

}  // namespace nvs::plugin
