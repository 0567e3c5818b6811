// SPDX-License-Identifier: Apache-2.0
// For tests: a node whose API server and device plugin are told what to say, and a tenant in a pod.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/test_folder.h"
#include "daemon/limits.h"
#include "daemon/node.h"

namespace nvs::daemon {

class NodePodsTest : public ::testing::Test {
 protected:
  inline static const std::string kUid = "0a1b2c3d-1111-2222-3333-444455556666";
  inline static const std::string kHash = "0123456789abcdef0123456789abcdef";
  inline static const std::string kSlot = "GPU-1::0";
  static constexpr Instant kStart = Instant::from_ns(1'000'000'000'000);
  // Whoever an earlier daemon served is back by then.
  static constexpr Instant kAllBack = kStart + kReadoption + Duration::from_ns(1);
  static constexpr core::GpuId kGpu{0};
  using Annotations = std::map<std::string, std::string>;

  NodePodsTest() {
    options_.folder = folder_.path();
    options_.limits.say(LimitSource::defaults, CoresWord::of(50));
    start();
  }

  // A daemon that knows what is in the folder.
  void start() {
    std::string remark;
    node_ = std::make_unique<Node>(options_, load_state(folder_.path(), remark).value(), kStart);
    EXPECT_EQ(remark, "");
    Gpu gpu = unknown_gpu({1});
    gpu.memory_bytes = 1000;
    node_->add_gpu(kStart, gpu, Node::Origin::found, effects_);
    node_->watch_pods();
  }

  const Tenant& join(int client = 1, const std::string& cores = "",
                     const std::string& slot = kSlot) {
    Tenant tenant;
    tenant.key = "container:/kubepods/a";
    tenant.name = "python3";
    tenant.pod_uid = kUid;
    tenant.slot = slot;
    Wishes wishes;
    wishes.core_limit = cores;
    return node_->join(kStart, core::ClientId{static_cast<std::uint64_t>(client)}, 100, tenant,
                       wishes, effects_);
  }
  void pod(const Annotations& annotations, kube::PodChange::Kind kind) {
    list({{kind, {kUid, "ml", "train", annotations}}});
  }
  // The API server has been reached, and this is different.
  void list(const std::vector<kube::PodChange>& changes, Instant now = kStart) {
    kube::Health health;
    health.has_listed = true;
    node_->update_pods(now, {changes, health, {}}, effects_);
  }
  void pod(const Annotations& annotations = {}) { pod(annotations, kube::PodChange::Kind::added); }
  void slot(const std::string& name = "train") {
    node_->update_slots(kStart, {false, false, {{kSlot, {"ml", name}, "main"}}, {}}, effects_);
  }
  // Of a pod that its node has from a file, as the API server has it.
  static kube::Pod picture(const std::string& uid, const std::string& cores,
                           const std::string& name = "train") {
    return {uid, "ml", name, {{"nvshare.com/gpu-core-limit", cores}}, kHash};
  }
  const Tenant& join_from_file(std::uint64_t client = 1) {
    Tenant tenant;
    tenant.key = "container:/kubepods/a";
    tenant.pod_uid = kHash;
    tenant.slot = kSlot;
    return node_->join(kStart, core::ClientId{client}, 100, tenant, {}, effects_);
  }
  std::size_t pod_count() const {
    const std::string status = node_->status(kStart, {});
    const std::string key = R"("pods":)";
    return std::stoul(status.substr(status.find(key) + key.size()));
  }

  TestFolder folder_;
  Options options_;
  Effects effects_;
  std::unique_ptr<Node> node_;
};

}  // namespace nvs::daemon
