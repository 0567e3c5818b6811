// SPDX-License-Identifier: Apache-2.0
// A node that writes down what it is asked to do, for tests of requests.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "daemon/admin.h"
#include "daemon/status_words.h"

namespace nvs::daemon {

using nlohmann::json;

// Does what it is told, and writes down what that was.
class FakeNode : public NodeControl {
 public:
  std::vector<AdminGpu> gpus() override { return gpus_; }
  std::vector<AdminTenant> tenants() override { return tenants_; }
  std::string status() override { return status_; }
  std::string trace(Duration last) override { return "{\"ns\":" + std::to_string(last.ns()) + "}"; }
  void set_policy(core::GpuId gpu, const core::GpuPolicy& policy) override {
    gpus_.at(index_of(gpu)).policy = policy;
    did("set " + std::to_string(index_of(gpu)) + " " + std::string(mode_word(policy.mode)) + " " +
        std::to_string(policy.window.ns()) + " " +
        (policy.turn ? std::to_string(policy.turn->ns()) : "auto"));
  }
  void set_priority(core::TenantId tenant, core::Priority priority) override {
    did("priority " + text(tenant) + " " + std::string(priority_word(priority)));
  }
  void set_weight(core::TenantId tenant, std::uint32_t weight) override {
    did("weight " + text(tenant) + " " + std::to_string(weight));
  }
  void set_limits(core::TenantId tenant, const LimitChange& change) override {
    did("limit " + text(tenant) + (change.memory ? " memory " + word_text(*change.memory) : "") +
        (change.cores ? " cores " + word_text(*change.cores) : ""));
  }
  void set_slots(const SlotChange& change) override {
    did(std::string("slots") + (change.begins ? " begins" : "") + (change.ends ? " ends" : ""));
    for (const SlotUse& use : change.used) {
      did(use.slot + "=" + use.pod.space + "/" + use.pod.name + "/" + use.container +
          (use.memory.is_unset() ? "" : " " + word_text(use.memory)) +
          (use.cores.is_unset() ? "" : " " + word_text(use.cores)));
    }
    for (const std::string& slot : change.freed) did("free " + slot);
  }
  void pause(core::TenantId tenant) override { did("pause " + text(tenant)); }
  void resume(core::TenantId tenant) override { did("resume " + text(tenant)); }
  std::optional<Unsaved> unsaved() override { return unsaved_; }

  static std::string text(core::TenantId tenant) {
    return std::to_string(static_cast<std::uint64_t>(tenant));
  }
  void did(const std::string& what) { done_ += what + ";"; }
  std::string take_done() { return std::exchange(done_, ""); }

  std::vector<AdminGpu> gpus_ = {{core::GpuId{0}, "GPU-aaaa-1", {}, false},
                                 {core::GpuId{1}, "GPU-aabb-2", {}, false},
                                 {core::GpuId{2}, "MIG-aaaa-3", {}, false}};
  std::vector<AdminTenant> tenants_ = {{core::TenantId{1}, "ml/train"},
                                       {core::TenantId{2}, "python3"},
                                       {core::TenantId{3}, "python3"},
                                       {core::TenantId{4}, "1"}};
  std::string status_ = "{\"version\":\"x\"}";
  std::optional<Unsaved> unsaved_;

 private:
  std::string done_;
};

class AdminTest : public ::testing::Test {
 protected:
  std::string ask(const std::string& line) { return answer(node_, line, asker_); }

  // The request is refused with that code and words, and nothing is done.
  void refused(const std::string& line, const std::string& code, const std::string& words) {
    const json reply = json::parse(ask(line));
    EXPECT_EQ(reply["ok"], false) << line;
    EXPECT_EQ(reply["code"], code) << line;
    const auto text = reply["error"].get<std::string>();
    EXPECT_NE(text.find(words), std::string::npos) << line << " -> " << text;
    EXPECT_LT(text.size(), 1000U);
    EXPECT_EQ(node_.take_done(), "") << line;
  }
  // The request is done, as written down.
  void done(const std::string& line, const std::string& what) {
    const json reply = json::parse(ask(line));
    EXPECT_EQ(reply["ok"], true) << line << " -> " << reply;
    EXPECT_EQ(node_.take_done(), what) << line;
  }

  FakeNode node_;
  Asker asker_ = Asker::administrator;
};

}  // namespace nvs::daemon
