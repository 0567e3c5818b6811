// SPDX-License-Identifier: Apache-2.0
#include "daemon/state_file.h"

#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/test_folder.h"

namespace nvs::daemon {
namespace {

class StateFileTest : public ::testing::Test {
 protected:
  Result<SavedState> load() {
    remark_.clear();
    return load_state(folder_.path(), remark_);
  }

  TestFolder folder_;
  std::string remark_;
};

TEST_F(StateFileTest, NoFileIsAnEmptyState) {
  const auto state = load();
  ASSERT_TRUE(state) << state.error().message();
  EXPECT_TRUE(state->gpus.empty());
  EXPECT_TRUE(state->tenants.empty());
  EXPECT_EQ(remark_, "");
}

TEST_F(StateFileTest, WhatWasSavedComesBack) {
  SavedState state;
  state.gpus["GPU-1"] = {.mode = core::Mode::serial,
                         .window = Duration::from_us(12'345),
                         .turn = Duration::from_ms(2'500)};
  state.gpus["MIG-2"] = {};
  state.tenants["container:/a \"b\"\\ü\n"] = {
      .priority = core::Priority::low, .weight = 1000, .paused = true};
  state.tenants["run:0:00ff"] = {.priority = {}, .weight = {}, .paused = true};
  state.tenants["run:0:1"] = {.priority = {},
                              .weight = {},
                              .memory = MemoryWord::of({std::uint64_t{3} << 30U, 0}),
                              .cores = CoresWord::none()};
  state.tenants["run:0:2"] = {
      .priority = {}, .weight = {}, .memory = MemoryWord::of({0, 25}), .cores = CoresWord::of(40)};
  state.tenants["run:0:3"] = {.priority = {}, .weight = {}, .memory = MemoryWord::none()};
  state.tenants["process:1:2"] = {};
  ASSERT_TRUE(save_state(folder_.path(), state));

  const auto loaded = load();
  ASSERT_TRUE(loaded) << loaded.error().message();
  EXPECT_EQ(remark_, "");
  ASSERT_EQ(loaded->gpus.size(), 2U);
  EXPECT_EQ(loaded->gpus.at("GPU-1").mode, core::Mode::serial);
  EXPECT_EQ(loaded->gpus.at("GPU-1").window, Duration::from_us(12'345));
  EXPECT_EQ(loaded->gpus.at("GPU-1").turn, Duration::from_ms(2'500));
  EXPECT_EQ(loaded->gpus.at("MIG-2").turn, std::nullopt);
  state.tenants.erase("process:1:2");  // nothing was set
  EXPECT_EQ(loaded->tenants, state.tenants);
}

TEST_F(StateFileTest, PodsComeBack) {
  SavedState state;
  state.pods["0a1b"] = {{"ml", "train"}, MemoryWord::of({0, 25}), CoresWord::of(40)};
  state.pods["0a1c"] = {{"ml", "serve"}, MemoryWord::none(), CoresWord::none()};
  state.pods["0a1d"] = {{"lab", "no \"limits\""}};
  state.pods["0a1e"] = {{"lab", "from-a-file"}, {}, {}, "00ff"};
  ASSERT_TRUE(save_state(folder_.path(), state));
  const auto loaded = load();
  ASSERT_TRUE(loaded);
  EXPECT_EQ(remark_, "");
  EXPECT_EQ(loaded->pods, state.pods);
}

TEST_F(StateFileTest, SlotsComeBack) {
  SavedState state;
  state.slots = {
      {"GPU-1::0", {"ml", "train"}, "main", MemoryWord::of({std::uint64_t{3} << 30U, 0}), {}},
      {"GPU-1::1", {"ml", "train"}, "no \"limits\""},
      {"GPU-1::1", {"lab", "serve"}, "main", MemoryWord::of({4097, 0}), CoresWord::of(40)}};
  ASSERT_TRUE(save_state(folder_.path(), state));
  const auto loaded = load();
  ASSERT_TRUE(loaded);
  EXPECT_EQ(remark_, "");
  EXPECT_EQ(loaded->slots, state.slots);
}

TEST_F(StateFileTest, SlotsThatAreNotUnderstoodAreLeftOutAlone) {
  const std::string good =
      R"({"slot":"GPU-1::0","namespace":"ml","pod":"train","container":"main","cores":40})";
  const auto changed = [&good](const std::string& from, const std::string& to) {
    std::string slot = good;
    return slot.replace(slot.find(from), from.size(), to);
  };
  const auto load_slots = [&](const std::string& slots) {
    folder_.write("state.json",
                  R"({"version":1,"gpus":{},"tenants":{"k":{"paused":true}},"slots":)" + slots +
                      R"(,"pods":{"0":3,"0a1c":{"namespace":"ml","pod":"serve"}}})");
    const auto state = load();
    EXPECT_TRUE(state && state->tenants.count("k") == 1 && state->pods.size() == 1) << slots;
    EXPECT_FALSE(folder_.has("state.json.bad")) << slots;
    EXPECT_NE(remark_.find("pods that are not understood are left out: 1"), std::string::npos);
    return state ? state->slots : SavedSlots{};
  };
  const std::string too_long(kPodNameMax + 1, 'a');
  for (const std::string& bad :
       {std::string("3"), std::string("null"), std::string("[]"), std::string("{}"),
        changed("GPU-1::0", ""), changed("\"GPU-1::0\"", "1"), changed("train", too_long),
        changed("\"namespace\"", "\"space\""), changed("container", "containers"),
        changed("40", "0"), changed("40", "\"none\""),
        changed("\"cores\":40", R"("memory":"none")")}) {
    const SavedSlots slots = load_slots("[" + bad + "," + good + "]");
    ASSERT_EQ(slots.size(), 1U) << bad;
    EXPECT_EQ(slots[0], (SlotUse{"GPU-1::0", {"ml", "train"}, "main", {}, CoresWord::of(40)}));
    EXPECT_NE(remark_.find("slots that are not understood are left out: 1"), std::string::npos)
        << remark_;
  }
  for (const char* bad : {"{}", "3", "\"GPU-1::0\"", "true"}) {
    EXPECT_EQ(load_slots(bad), SavedSlots{});
    EXPECT_NE(remark_.find("slots are no list"), std::string::npos) << bad << remark_;
  }
  std::string many = good;
  for (std::size_t i = 0; i < kSavedSlotsMax; ++i) many.append(",").append(good);
  EXPECT_EQ(load_slots("[" + many + "]"), SavedSlots{});
  EXPECT_NE(remark_.find("too many"), std::string::npos) << remark_;
}

TEST_F(StateFileTest, AFileOfBeforeThereWerePodsIsGood) {
  folder_.write("state.json", R"({"version":1,"gpus":{},"tenants":{"k":{"paused":true}}})");
  const auto state = load();
  ASSERT_TRUE(state);
  EXPECT_EQ(remark_, "");
  EXPECT_TRUE(state->tenants.at("k").paused);
  EXPECT_TRUE(state->pods.empty());
}

TEST_F(StateFileTest, LimitsComeBackExactly) {
  SavedState state;
  state.gpus["least"] = {core::Mode::automatic, core::kWindowMin, core::kTurnMin};
  state.gpus["most"] = {core::Mode::concurrent, core::kWindowMax, core::kTurnMax};
  for (std::int64_t us = 1000; us < 1'000'000; us += 997)
    state.gpus[std::to_string(us)] = {core::Mode::serial, Duration::from_us(us),
                                      Duration::from_ms(100 + us)};
  ASSERT_TRUE(save_state(folder_.path(), state));
  const auto loaded = load();
  ASSERT_TRUE(loaded);
  EXPECT_EQ(remark_, "");
  ASSERT_EQ(loaded->gpus.size(), state.gpus.size());
  for (const auto& [uuid, policy] : state.gpus) {
    EXPECT_EQ(loaded->gpus.at(uuid).window, policy.window);
    EXPECT_EQ(loaded->gpus.at(uuid).turn, policy.turn);
  }
}

TEST_F(StateFileTest, TheFileIsReplacedInOnePieceAndPrivate) {
  SavedState state;
  state.gpus["GPU-1"] = {};
  ASSERT_TRUE(save_state(folder_.path(), state));
  const std::string first = folder_.read("state.json");
  EXPECT_EQ(first,
            "{\"version\":1,\"gpus\":{\"GPU-1\":{\"mode\":\"auto\",\"window_ms\":20}},"
            "\"tenants\":{}}\n");
  struct stat before {};
  ASSERT_EQ(::stat(folder_.path("state.json").c_str(), &before), 0);
  EXPECT_EQ(before.st_mode & 0777U, 0600U);
  state.gpus.clear();
  ASSERT_TRUE(save_state(folder_.path(), state));
  struct stat after {};
  ASSERT_EQ(::stat(folder_.path("state.json").c_str(), &after), 0);
  EXPECT_NE(before.st_ino, after.st_ino);
  EXPECT_FALSE(folder_.has("state.json.new"));
}

TEST_F(StateFileTest, ABrokenFileIsSetAside) {
  const std::string gpu = R"({"version":1,"tenants":{},"gpus":{"GPU-1":)";
  const std::string tenant = R"({"version":1,"gpus":{},"tenants":{"run:0:1":)";
  const std::string pod = R"({"version":1,"gpus":{},"tenants":{},"pods":{"0a1b":)";
  for (const std::string& text : {std::string(),
                                  std::string("{"),
                                  std::string("[]"),
                                  std::string("null"),
                                  std::string("{}"),
                                  std::string("\xff\xfe"),
                                  std::string(100'000, '['),
                                  std::string(R"({"version":2,"gpus":{},"tenants":{}})"),
                                  std::string(R"({"version":1,"gpus":[],"tenants":{}})"),
                                  std::string(R"({"version":1,"gpus":{}})"),
                                  gpu + "{}}}",
                                  gpu + "3}}",
                                  gpu + R"({"mode":"warp","window_ms":20}}})",
                                  gpu + R"({"mode":"auto","window_ms":0}}})",
                                  gpu + R"({"mode":"auto","window_ms":1001}}})",
                                  gpu + R"({"mode":"auto"}}})",
                                  gpu + R"({"mode":"auto","window_ms":20,"turn_s":0.01}}})",
                                  gpu + R"({"mode":"auto","window_ms":20,"turn_s":"auto"}}})",
                                  tenant + R"({"priority":"urgent"}}})",
                                  tenant + R"({"priority":1}}})",
                                  tenant + R"({"weight":0}}})",
                                  tenant + R"({"weight":1001}}})",
                                  tenant + R"({"weight":-5}}})",
                                  tenant + R"({"weight":1.5}}})",
                                  tenant + R"({"memory":"4 GB"}}})",
                                  tenant + R"({"memory":0}}})",
                                  tenant + R"({"memory":true}}})",
                                  tenant + R"({"cores":101}}})",
                                  tenant + R"({"cores":"many"}}})",
                                  tenant + R"({"paused":"yes"}}})",
                                  pod + R"({"namespace":"ml","pod":"train","cores":40)"}) {
    folder_.write("state.json", text);
    const auto state = load();
    ASSERT_TRUE(state) << text;
    EXPECT_TRUE(state->gpus.empty() && state->tenants.empty() && state->pods.empty()) << text;
    EXPECT_NE(remark_.find("state.json is broken"), std::string::npos) << text;
    EXPECT_FALSE(folder_.has("state.json")) << text;
    EXPECT_EQ(folder_.read("state.json.bad"), text);
  }
}

TEST_F(StateFileTest, APodThatIsNotUnderstoodIsLeftOutAlone) {
  const std::string too_long(kPodNameMax + 1, 'a');
  for (const std::string& pod :
       {std::string("\"0a1b\":3"), std::string(R"("0a1b":{"pod":"train"})"),
        std::string(R"("0a1b":{"namespace":"","pod":"train"})"),
        std::string(R"("0a1b":{"namespace":"ml","pod":""})"),
        R"("0a1b":{"namespace":"ml","pod":")" + too_long + "\"}",
        std::string(R"("":{"namespace":"ml","pod":"train"})"),
        "\"" + too_long + R"(":{"namespace":"ml","pod":"train"})",
        std::string(R"("0":{"namespace":"a","pod":"b","static_uid":1})"),
        std::string(R"("0":{"namespace":"a","pod":"b","static_uid":""})"),
        std::string(R"("0":{"namespace":"a","pod":"b","cores":0})"),
        std::string(R"("0":{"namespace":"a","pod":"b","memory":"x"})")}) {
    folder_.write("state.json",
                  R"({"version":1,"gpus":{},"tenants":{"k":{"paused":true}},"pods":{)" + pod +
                      R"(,"0a1c":{"namespace":"ml","pod":"serve","cores":40}}})");
    const auto state = load();
    ASSERT_TRUE(state) << pod;
    EXPECT_EQ(state->tenants.count("k"), 1U) << pod;
    EXPECT_EQ(state->pods, (SavedPods{{"0a1c", {{"ml", "serve"}, {}, CoresWord::of(40)}}})) << pod;
    EXPECT_NE(remark_.find("left out: 1"), std::string::npos) << pod << remark_;
    EXPECT_FALSE(folder_.has("state.json.bad")) << pod;
  }
}

TEST_F(StateFileTest, APartOfPodsThatIsNoneIsLeftOutAlone) {
  for (const char* pods : {"[]", "[3]", "3", "true", "\"0a1b\""}) {
    folder_.write("state.json",
                  R"({"version":1,"gpus":{},"tenants":{"k":{"paused":true}},"pods":)" +
                      std::string(pods) + R"(,"slots":[{"slot":"GPU-1::0","namespace":"ml",)" +
                      R"("pod":"train","container":"main"}]})");
    const auto state = load();
    ASSERT_TRUE(state) << pods;
    EXPECT_TRUE(state->tenants.at("k").paused) << pods;
    EXPECT_EQ(state->pods, SavedPods{}) << pods;
    EXPECT_EQ(state->slots.size(), 1U) << pods;
    EXPECT_NE(remark_.find("pods are no object"), std::string::npos) << pods << remark_;
    EXPECT_FALSE(folder_.has("state.json.bad")) << pods;
  }
}

TEST_F(StateFileTest, FieldsOfTheFutureArePassedOver) {
  folder_.write("state.json",
                R"({"version":1,"new":[1],"gpus":{},"tenants":{"k":{"paused":true,"x":{}}}})");
  const auto state = load();
  ASSERT_TRUE(state);
  EXPECT_EQ(remark_, "");
  EXPECT_TRUE(state->tenants.at("k").paused);
}

TEST_F(StateFileTest, AFileThatIsTooLongIsSetAside) {
  folder_.write("state.json", std::string(kStateFileBytesMax + 1, ' '));
  ASSERT_TRUE(load());
  EXPECT_NE(remark_.find("too long"), std::string::npos);
  EXPECT_TRUE(folder_.has("state.json.bad"));
}

TEST_F(StateFileTest, ATenantTooManyIsNotWritten) {
  SavedState state;
  ASSERT_TRUE(save_state(folder_.path(), state));
  for (std::size_t i = 0; i <= kSavedTenantsMax; ++i)
    state.tenants["run:0:" + std::to_string(i)].paused = true;
  const auto saved = save_state(folder_.path(), state);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, Errc::kLimit);
  state.tenants.erase(state.tenants.begin());
  ASSERT_TRUE(save_state(folder_.path(), state));
  const auto loaded = load();
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->tenants.size(), kSavedTenantsMax);
}

TEST_F(StateFileTest, APodTooManyIsNeitherWrittenNorRead) {
  SavedState state;
  std::string text = R"({"version":1,"gpus":{},"tenants":{"k":{"paused":true}},"pods":{)";
  for (std::size_t i = 0; i <= kSavedPodsMax; ++i) {
    const std::string uid = "uid-" + std::to_string(i);
    state.pods[uid] = {{std::string(63, 's'), std::string(kPodNameMax, 'p')}};
    text += (i == 0 ? "\"" : ",\"") + uid + R"(":{"namespace":"ml","pod":"p"})";
  }
  const auto saved = save_state(folder_.path(), state);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().code, Errc::kLimit);
  state.pods.erase(state.pods.begin());
  ASSERT_TRUE(save_state(folder_.path(), state));
  const auto loaded = load();
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->pods.size(), kSavedPodsMax);
  folder_.write("state.json", text + "}}");
  const auto left = load();
  ASSERT_TRUE(left);
  EXPECT_NE(remark_.find("too many"), std::string::npos) << remark_;
  EXPECT_EQ(left->pods, SavedPods{});
  EXPECT_TRUE(left->tenants.at("k").paused) << "what an administrator has set is not lost for it";
}

TEST_F(StateFileTest, WhatCannotBeReadOrWrittenIsAnError) {
  std::filesystem::create_directories(folder_.path("state.json/in_the_way"));
  EXPECT_FALSE(load());
  EXPECT_TRUE(folder_.has("state.json"));
  const auto saved = save_state(folder_.path(), {});
  ASSERT_FALSE(saved);
  EXPECT_NE(saved.error().sys, 0);
  EXPECT_FALSE(folder_.has("state.json.new"));
  EXPECT_FALSE(save_state(folder_.path("missing"), {}));
}

}  // namespace
}  // namespace nvs::daemon
