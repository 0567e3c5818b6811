// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "daemon/test_admin.h"

namespace nvs::daemon {
namespace {

TEST_F(AdminTest, StatusAndTraceAreHandedOn) {
  EXPECT_EQ(ask(R"({"command":"status"})"), R"({"ok":true,"result":{"version":"x"}})");
  EXPECT_EQ(ask(R"({"command":"trace","seconds":1.5})"),
            R"({"ok":true,"result":{"ns":1500000000}})");
  EXPECT_EQ(ask("  {\"command\" : \"status\"}\r"), R"({"ok":true,"result":{"version":"x"}})");
}

TEST_F(AdminTest, WhatIsNoRequestIsAnswered) {
  refused("", "invalid", "not JSON");
  refused("status", "invalid", "not JSON");
  refused("{\"command\":\"status\"", "invalid", "not JSON");
  refused("{\"command\":\"\xff\"}", "invalid", "not JSON");
  refused(R"({"command":"status"}{"command":"status"})", "invalid", "not JSON");
  refused("[]", "invalid", "not a JSON object");
  refused("null", "invalid", "not a JSON object");
  refused("\"status\"", "invalid", "not a JSON object");
  refused("{}", "invalid", "'command' is missing");
  refused(R"({"command":"reboot"})", "invalid", "not one of status, set, pause, resume");
  refused(R"({"command":7})", "invalid", "'command' is 7");
  refused(R"({"command":null})", "invalid", "'command' is null");
  refused(R"({"command":"status","gpu":0})", "invalid", "has no field \"gpu\"");
  refused(R"({"command":"pause","":1,"tenant":1})", "invalid", "has no field \"\"");
}

TEST_F(AdminTest, DeepNestingIsHarmless) {
  const std::size_t depth = kAdminRequestMax / 2 - 20;
  const std::string deep = std::string(depth, '[') + std::string(depth, ']');
  refused(deep, "invalid", "not a JSON object");
  refused("{\"command\":" + deep + "}", "invalid", "'command' is a list");
  refused(R"({"command":"pause","tenant":{"a":)" + deep + "}}", "invalid", "is an object");
  refused(std::string(kAdminRequestMax, '['), "invalid", "not JSON");
}

TEST_F(AdminTest, WhatIsInForceAndNotSavedSaysSo) {
  node_.unsaved_ = Unsaved{"/f/state.json", "No space left on device"};
  const std::string why =
      R"("unsaved":{"file":"/f/state.json","error":"No space left on device"}}})";
  EXPECT_EQ(ask(R"({"command":"set","gpu":1,"mode":"serial"})"),
            R"({"ok":true,"result":{"gpus":[1],)" + why);
  for (const std::string command : {R"("pause")", R"("resume")", R"("priority","priority":"low")",
                                    R"("weight","weight":1)", R"("limit","memory":"1Gi")"}) {
    EXPECT_EQ(ask(R"({"tenant":1,"command":)" + command + "}"),
              R"({"ok":true,"result":{"tenant":1,"name":"ml/train",)" + why);
  }
  EXPECT_EQ(ask(R"({"command":"status"})"), R"({"ok":true,"result":{"version":"x"}})");
}

TEST_F(AdminTest, SetChangesWhatIsNamed) {
  done(R"({"command":"set","gpu":1,"mode":"serial"})", "set 1 serial 20000000 auto;");
  done(R"({"command":"set","gpu":1,"turn_s":30,"window_ms":2.5})",
       "set 1 serial 2500000 30000000000;");
  done(R"({"command":"set","gpu":1,"turn_s":"auto"})", "set 1 serial 2500000 auto;");
  done(R"({"command":"set","gpu":"0","window_ms":1})", "set 0 auto 1000000 auto;");
  done(R"({"command":"set","gpu":"GPU-aab","window_ms":1000})", "set 1 serial 1000000000 auto;");
  done(R"({"command":"set","gpu":"MIG-aaaa-3","mode":"concurrent"})",
       "set 2 concurrent 20000000 auto;");
  EXPECT_EQ(ask(R"({"command":"set","gpu":"all","mode":"auto"})"),
            R"({"ok":true,"result":{"gpus":[0,1,2]}})");
  EXPECT_EQ(node_.take_done(),
            "set 0 auto 1000000 auto;set 1 auto 1000000000 auto;set 2 auto 20000000 auto;");
  EXPECT_EQ(ask(R"({"command":"set","gpu":["MIG-aaaa-3",0,"0"],"mode":"serial"})"),
            R"({"ok":true,"result":{"gpus":[0,2]}})");
  EXPECT_EQ(node_.take_done(), "set 0 serial 1000000 auto;set 2 serial 20000000 auto;");
}

TEST_F(AdminTest, WithoutGpusThereIsNothingToSet) {
  node_.gpus_.clear();
  for (const char* gpu : {"\"all\"", "0", "[0,1]"}) {
    refused(R"({"command":"set","mode":"serial","gpu":)" + std::string(gpu) + "}", "not_found",
            "this node has no GPU");
  }
}

TEST_F(AdminTest, SetIsRefusedAsAWhole) {
  const auto set = [](const std::string& rest) { return R"({"command":"set",)" + rest + "}"; };
  refused(set(R"("mode":"auto")"), "invalid", "'gpu' is missing");
  refused(set(R"("gpu":0)"), "invalid", "nothing to set");
  for (const char* gpu : {"3", "-1", "18446744073709551615", "\"7\"", "\"GPU-c\"", "\"aaaa-1\"",
                          "\"\"", "\"ALL\"", "\"GPU-aaaa-1x\""})
    refused(set(R"("mode":"auto","gpu":)" + std::string(gpu)), "not_found", "no GPU is");
  for (const char* gpu : {"null", "true", "1.5", "[]", "[[0]]", "[0,null]", "{}"})
    refused(set(R"("mode":"auto","gpu":)" + std::string(gpu)), "invalid", "'gpu' is");
  refused(set(R"("mode":"auto","gpu":"GPU-aa")"), "invalid", "GPU-aaaa-1, GPU-aabb-2");
  refused(set(R"("mode":"auto","gpu":[0,7])"), "not_found", "no GPU is 7");
  for (const char* mode : {"\"fast\"", "\"\"", "1", "null"})
    refused(set(R"("gpu":0,"mode":)" + std::string(mode)), "invalid",
            "not auto, serial or concurrent");
  for (const char* window : {"\"20\"", "null", "[]"})
    refused(set(R"("gpu":0,"window_ms":)" + std::string(window)), "invalid", "of milliseconds");
  for (const char* turn : {"\"30\"", "\"AUTO\"", "null", "true"})
    refused(set(R"("gpu":0,"turn_s":)" + std::string(turn)), "invalid", "of seconds or \"auto\"");
  refused(set(R"("gpu":0,"windw_ms":20,"mode":"auto")"), "invalid", "no field \"windw_ms\"");
}

TEST_F(AdminTest, TimesThatAreOutOfRangeAreNamedAsPeopleWriteThem) {
  using Pair = std::pair<const char*, const char*>;
  for (const auto& [ms, text] : {Pair{"0", "not 0ms"},
                                 {"0.99", "not 0.99ms"},
                                 {"5000.0", "not 5s"},
                                 {"1500", "not 1.5s"},
                                 {"-20", "not -20ms"},
                                 {"1e300", "not 1e"}}) {
    const std::string request = R"({"command":"set","gpu":"all","window_ms":)" + std::string(ms);
    refused(request + "}", "invalid", std::string("a window can be 1ms to 1s long, and ") + text);
  }
  for (const auto& [s, text] :
       {Pair{"0", "not 0ms"}, {"0.05", "not 50ms"}, {"3601", "not 3601s"}}) {
    const std::string request = R"({"command":"set","gpu":0,"turn_s":)" + std::string(s);
    refused(request + "}", "invalid",
            std::string("a turn can be 100ms to 1h long or auto, and ") + text);
  }
}

TEST_F(AdminTest, UnderMpsNothingIsSetThatWouldNotTakeEffect) {
  node_.gpus_[1].mps_active = true;
  node_.gpus_[1].policy.mode = core::Mode::concurrent;
  for (const char* gpu : {"1", "\"all\""}) {
    for (const char* what : {R"("mode":"auto")", R"("mode":"serial")", R"("window_ms":10)",
                             R"("turn_s":"auto")", R"("mode":"concurrent","turn_s":5)"}) {
      const std::string request = R"({"command":"set","gpu":)" + std::string(gpu) + "," + what;
      refused(request + "}", "invalid", "off on GPU 1, because MPS runs there");
    }
  }
  done(R"({"command":"set","gpu":1,"mode":"concurrent"})", "set 1 concurrent 20000000 auto;");
  done(R"({"command":"set","gpu":0,"mode":"serial"})", "set 0 serial 20000000 auto;");
  EXPECT_EQ(json::parse(ask(R"({"command":"set","gpu":"all","mode":"concurrent"})"))["ok"], true);
}

TEST_F(AdminTest, TenantsAreNamedByIdOrName) {
  EXPECT_EQ(ask(R"({"command":"pause","tenant":2})"),
            R"({"ok":true,"result":{"tenant":2,"name":"python3"}})");
  EXPECT_EQ(node_.take_done(), "pause 2;");
  done(R"({"command":"resume","tenant":"ml/train"})", "resume 1;");
  done(R"({"command":"pause","tenant":"3"})", "pause 3;");
  done(R"({"command":"pause","tenant":1})", "pause 1;");
  done(R"({"command":"priority","tenant":3,"priority":"high"})", "priority 3 high;");
  done(R"({"command":"weight","tenant":3,"weight":1000})", "weight 3 1000;");
}

TEST_F(AdminTest, LimitsAreWordsAndNumbers) {
  const auto limit = [](const std::string& rest) {
    return R"({"command":"limit","tenant":2,)" + rest + "}";
  };
  done(limit(R"("memory":"4Gi")"), "limit 2 memory 4Gi;");
  done(limit(R"("memory":4096)"), "limit 2 memory 4Ki;");
  done(limit(R"("memory":"25%","cores":"none")"), "limit 2 memory 25% cores none;");
  done(limit(R"("cores":40)"), "limit 2 cores 40;");
  done(limit(R"("cores":"40%")"), "limit 2 cores 40;");
  done(limit(R"("memory":"none","cores":"default")"), "limit 2 memory none cores default;");
  EXPECT_EQ(ask(limit(R"("cores":1)")), R"({"ok":true,"result":{"tenant":2,"name":"python3"}})");
  node_.take_done();
  refused(R"({"command":"limit","tenant":2})", "invalid",
          "nothing to set: give 'memory' or 'cores'");
  refused(limit(R"("memory":"4 GB")"), "invalid",
          "'memory' is \"4 GB\", not a size such as 4Gi, 4096Mi, 4G, 512MiB or 25%, nor none or "
          "default");
  refused(limit(R"("cores":150)"), "invalid",
          "'cores' is 150, not a number from 1 to 100, none or default");
  for (const char* value :
       {"0", "-1", "1.5", "true", "null", "[]", "{}", "\"\"", "\"all\"", "18446744073709551615"}) {
    refused(limit(R"("memory":"4Gi","cores":)" + std::string(value)), "invalid", "'cores' is ");
    refused(limit(R"("cores":40,"memory":)" + std::string(value)), "invalid", "'memory' is ");
  }
  refused(limit(R"("memory":")" + std::string(5000, '9') + "\""), "invalid", "'memory' is ");
}

TEST_F(AdminTest, TenantsThatAreNotOneAreRefused) {
  for (const char* command : {"pause", "resume", "priority", "weight", "limit"}) {
    const auto ask_for = [&](const std::string& tenant) {
      const std::string name(command);
      const std::string value = name == "priority" ? R"(,"priority":"low")"
                                : name == "weight" ? R"(,"weight":1)"
                                : name == "limit"  ? R"(,"cores":1)"
                                                   : "";
      return R"({"command":")" + name + "\"" + value + tenant + "}";
    };
    refused(ask_for(""), "invalid", "'tenant' is missing");
    refused(ask_for(R"(,"tenant":"python3")"), "invalid", "2 tenants are meant");
    refused(ask_for(R"(,"tenant":"python3")"), "invalid", "by id: 2, 3");
    // One has taken the other's number for its name.
    refused(ask_for(R"(,"tenant":"1")"), "invalid", "by id: 1, 4");
    refused(ask_for(R"(,"tenant":9)"), "not_found", "no tenant is 9");
    refused(ask_for(R"(,"tenant":-1)"), "not_found", "no tenant is -1");
    refused(ask_for(R"(,"tenant":"")"), "not_found", "no tenant is \"\"");
    refused(ask_for(R"(,"tenant":null)"), "invalid", "'tenant' is null");
    refused(ask_for(R"(,"tenant":1.0)"), "invalid", "'tenant' is 1.0");
    refused(ask_for(R"(,"tenant":")" + std::string(5000, 'x') + "\""), "not_found", "xxx...");
  }
}

TEST_F(AdminTest, OtherValuesAreChecked) {
  const std::string priority = R"({"command":"priority","tenant":1)";
  refused(priority + "}", "invalid", "'priority' is missing");
  for (const char* value : {"\"urgent\"", "\"High\"", "2", "null"})
    refused(priority + ",\"priority\":" + value + "}", "invalid", "not low, normal or high");
  const std::string weight = R"({"command":"weight","tenant":1)";
  refused(weight + "}", "invalid", "'weight' is missing");
  for (const char* value : {"0", "1001", "-1", "1.5", "\"5\"", "null", "4294967396"})
    refused(weight + ",\"weight\":" + value + "}", "invalid", "from 1 to 1000");
  refused(R"({"command":"trace"})", "invalid", "'seconds' is missing");
  for (const char* value : {"0", "-1", "86401", "1e300", "\"5\"", "null"})
    refused(R"({"command":"trace","seconds":)" + std::string(value) + "}", "invalid",
            "above 0 and up to 86400");
}

TEST_F(AdminTest, HostileNamesDoNotForgeAnswers) {
  node_.tenants_ = {{core::TenantId{1}, "\"},\n{\"ok\":true"}};
  const std::string reply = ask(R"({"command":"pause","tenant":1})");
  EXPECT_EQ(reply.find('\n'), std::string::npos);
  EXPECT_EQ(json::parse(reply)["result"]["name"], "\"},\n{\"ok\":true");
}

TEST_F(AdminTest, ManyMatchesAreNotAllListed) {
  node_.tenants_.clear();
  for (std::uint64_t id = 0; id < 5000; ++id) node_.tenants_.push_back({core::TenantId{id}, "x"});
  refused(R"({"command":"pause","tenant":"x"})", "invalid", "5000 tenants are meant");
}

TEST(DeniedAnswer, IsALine) {
  for (const Asker asker : {Asker::administrator, Asker::plugin}) {
    const std::string line = denied_answer(asker);
    EXPECT_EQ(line.back(), '\n');
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    EXPECT_EQ(json::parse(line)["code"], "denied");
  }
}

class AdminConnectionTest : public AdminTest {
 protected:
  std::string take() {
    const std::string text(connection_.to_send());
    connection_.sent(node_, text.size());
    return text;
  }
  AdminConnection connection_;
  const std::string request_ = "{\"command\":\"status\"}\n";
  const std::string answer_ = "{\"ok\":true,\"result\":{\"version\":\"x\"}}\n";
};

TEST_F(AdminConnectionTest, LinesMayComeInPieces) {
  for (const char byte : request_) {
    EXPECT_EQ(connection_.to_send(), "");
    connection_.received(node_, std::string_view(&byte, 1));
  }
  EXPECT_EQ(take(), answer_);
  connection_.received(node_, request_ + request_ + "{\"comm");
  EXPECT_EQ(take(), answer_ + answer_);
  connection_.received(node_, "and\":\"status\"}\n");
  EXPECT_EQ(take(), answer_);
  EXPECT_TRUE(connection_.wants_input());
  EXPECT_FALSE(connection_.is_over());
}

TEST_F(AdminConnectionTest, AnswersMayGoInPieces) {
  connection_.received(node_, request_);
  std::string got;
  while (!connection_.to_send().empty()) {
    got += connection_.to_send().front();
    connection_.sent(node_, 1);
  }
  EXPECT_EQ(got, answer_);
}

TEST_F(AdminConnectionTest, TheEndIsWaitedForUntilAllIsSent) {
  connection_.received(node_, request_ + "{\"command\":\"status\"}");
  connection_.ended(node_);
  EXPECT_FALSE(connection_.wants_input());
  EXPECT_FALSE(connection_.is_over());
  EXPECT_EQ(take(), answer_ + answer_);
  EXPECT_TRUE(connection_.is_over());
}

TEST_F(AdminConnectionTest, AConnectionWithoutRequestsEnds) {
  connection_.ended(node_);
  EXPECT_TRUE(connection_.is_over());
}

TEST_F(AdminConnectionTest, ALineThatDoesNotEndIsRefused) {
  connection_.received(node_, std::string(kAdminRequestMax, ' '));
  EXPECT_EQ(connection_.to_send(), "");
  connection_.received(node_, " ");
  EXPECT_FALSE(connection_.wants_input());
  connection_.received(node_, "\n" + request_);
  const std::string reply = take();
  EXPECT_NE(reply.find("longer than 64 KiB"), std::string::npos);
  EXPECT_EQ(std::count(reply.begin(), reply.end(), '\n'), 1);
  EXPECT_TRUE(connection_.is_over());
}

TEST_F(AdminConnectionTest, ALineOfTheLongestLengthIsAnswered) {
  std::string line = request_.substr(0, request_.size() - 1);
  line += std::string(kAdminRequestMax - line.size(), ' ') + "\n";
  connection_.received(node_, line);
  EXPECT_EQ(take(), answer_);
}

TEST_F(AdminConnectionTest, WhoDoesNotReadIsNotAnswered) {
  node_.status_ = "\"" + std::string(kAdminBacklogMax / 2, 'x') + "\"";
  const int requests = 5;
  for (int i = 0; i < requests; ++i) connection_.received(node_, request_);
  EXPECT_FALSE(connection_.wants_input());
  EXPECT_LT(connection_.to_send().size(), 2 * kAdminBacklogMax);
  connection_.ended(node_);
  EXPECT_FALSE(connection_.is_over());
  std::string got;
  while (!connection_.to_send().empty()) {
    got += connection_.to_send().substr(0, 100'000);
    connection_.sent(node_, std::min<std::size_t>(connection_.to_send().size(), 100'000));
  }
  EXPECT_EQ(std::count(got.begin(), got.end(), '\n'), requests);
  EXPECT_TRUE(connection_.is_over());
}

}  // namespace
}  // namespace nvs::daemon
