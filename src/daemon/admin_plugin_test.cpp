// SPDX-License-Identifier: Apache-2.0
// What the device plugin may ask, and what it may not.
#include "daemon/test_admin.h"

namespace nvs::daemon {
namespace {

class PluginTest : public AdminTest {
 protected:
  PluginTest() { asker_ = Asker::plugin; }
};

TEST_F(PluginTest, SaysWhoHasWhichSlot) {
  const json reply = json::parse(
      ask(R"({"command":"slots","begins":true,"used":[{"slot":"GPU-1::0","namespace":"ml",)"
          R"("pod":"train","container":"main"}],"freed":["GPU-1::7"],"ends":true})"));
  EXPECT_EQ(reply["ok"], true) << reply;
  EXPECT_EQ(node_.take_done(), "slots begins ends;GPU-1::0=ml/train/main;free GPU-1::7;");
  EXPECT_EQ(json::parse(ask(R"({"command":"slots"})"))["ok"], true);
  EXPECT_EQ(node_.take_done(), "slots;");
}

TEST_F(PluginTest, SaysWhatContainersAskedFor) {
  ask(R"({"command":"slots","used":[{"slot":"a","namespace":"ml","pod":"p","container":"c",)"
      R"("memory_bytes":4294967296,"cores":40}]})");
  EXPECT_EQ(node_.take_done(), "slots;a=ml/p/c 4Gi 40;");
}

TEST_F(PluginTest, WhatIsWrongInAListChangesNothing) {
  const std::string begin = R"({"command":"slots","used":[)";
  const std::string good = R"({"slot":"a","namespace":"ml","pod":"train","container":"main"})";
  refused(begin + good + ",7]}", "invalid", "'used' holds 7, not an object");
  refused(begin + R"({"slot":"a","namespace":"ml","pod":"train"}]})", "invalid",
          "a slot in use has no 'container'");
  refused(begin + R"({"slot":"a","namespace":"ml","pod":5,"container":"c"}]})", "invalid",
          "pod is 5, not a text");
  refused(begin + R"({"slot":"","namespace":"ml","pod":"p","container":"c"}]})", "invalid",
          "not 1 to 253 characters");
  refused(begin + R"({"slot":"a","namespace":"ml","pod":"p","container":"c","cores":101}]})",
          "invalid", "'cores' of a slot is 101, not a number from 1 to 100");
  refused(begin + R"({"slot":"a","namespace":"ml","pod":"p","container":"c","memory_bytes":-1}]})",
          "invalid", "'memory_bytes' of a slot is -1");
  refused(R"({"command":"slots","used":{}})", "invalid", "'used' is an object, not a list");
  refused(R"({"command":"slots","begins":1})", "invalid", "'begins' is 1, not true or false");
  refused(R"({"command":"slots","freed":[[]]})", "invalid", "a slot in 'freed' is a list");
}

TEST_F(PluginTest, MayDoNothingElseThanThatAndLook) {
  EXPECT_EQ(json::parse(ask(R"({"command":"status"})"))["ok"], true);
  refused(R"({"command":"pause","tenant":1})", "invalid", "not one of status, slots");
}

TEST_F(AdminTest, AnAdministratorDoesNotSpeakForTheKubelet) {
  refused(R"({"command":"slots"})", "invalid", "not one of status, set");
}

}  // namespace
}  // namespace nvs::daemon
