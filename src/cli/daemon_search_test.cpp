// SPDX-License-Identifier: Apache-2.0
#include "cli/daemon_search.h"

#include <map>

#include <gtest/gtest.h>

namespace nvs::cli {
namespace {

// Folders that are not listed have no daemon. `later` is what they become after a wait.
struct FakeMachine {
  std::map<std::string, Presence> now;
  std::map<std::string, Presence> later;
  int waits = 0;

  DaemonChoice choose(const DaemonRequest& request) {
    const auto look = [](const std::map<std::string, Presence>& there, const std::string& folder) {
      const auto found = there.find(folder);
      return found == there.end() ? Presence::absent : found->second;
    };
    return choose_daemon(request, {[&](const std::string& folder) { return look(now, folder); },
                                   [&](const std::string& folder) {
                                     ++waits;
                                     return look(later, folder);
                                   }});
  }
};

DaemonRequest request() { return {std::nullopt, false, "/node", "/mine"}; }

TEST(DaemonSearch, TheNodesComesFirst) {
  FakeMachine machine{{{"/node", Presence::accepts}, {"/mine", Presence::accepts}}, {}};
  const DaemonChoice choice = machine.choose(request());
  EXPECT_EQ(choice.folder, "/node");
  EXPECT_FALSE(choice.start);
  EXPECT_EQ(choice.warning, "");
  EXPECT_EQ(machine.waits, 0);
}

TEST(DaemonSearch, ThenTheUsersOwnWhichIsStartedIfNeedBe) {
  FakeMachine machine{{{"/mine", Presence::accepts}}, {}};
  EXPECT_EQ(machine.choose(request()).folder, "/mine");
  EXPECT_FALSE(machine.choose(request()).start);
  machine.now["/mine"] = Presence::silent;  // killed
  EXPECT_TRUE(machine.choose(request()).start);
  machine.now.clear();
  EXPECT_TRUE(machine.choose(request()).start);
  EXPECT_EQ(machine.choose(request()).warning, "");
  EXPECT_EQ(machine.waits, 0);
}

TEST(DaemonSearch, ANodesDaemonThatRestartsIsWaitedFor) {
  FakeMachine machine{{{"/node", Presence::silent}}, {{"/node", Presence::accepts}}};
  EXPECT_EQ(machine.choose(request()).folder, "/node");
  EXPECT_EQ(machine.waits, 1);
  machine.later["/node"] = Presence::silent;
  const DaemonChoice choice = machine.choose(request());
  EXPECT_EQ(choice.folder, "/mine");
  EXPECT_TRUE(choice.start);
  EXPECT_NE(choice.warning.find("does not answer on /node/tenant/scheduler.sock"),
            std::string::npos);
}

TEST(DaemonSearch, OneThatIsOutOfReachIsWarnedOf) {
  FakeMachine machine{{{"/node", Presence::unreachable}}, {}};
  const DaemonChoice choice = machine.choose(request());
  EXPECT_EQ(choice.folder, "/mine");
  EXPECT_NE(choice.warning.find("cannot be reached on /node/tenant/scheduler.sock"),
            std::string::npos);
}

TEST(DaemonSearch, ANamedFolderIsTheOnlyOne) {
  FakeMachine machine{{{"/node", Presence::accepts}, {"/mine", Presence::accepts}}, {}};
  DaemonRequest named = request();
  named.named = "/named";
  EXPECT_EQ(machine.choose(named).folder, "/named");
  EXPECT_TRUE(machine.choose(named).start);
  machine.now["/named"] = Presence::accepts;
  EXPECT_FALSE(machine.choose(named).start);
}

TEST(DaemonSearch, InsideAnotherRunTheNodesDaemonIsKeptEvenWhileItIsAway) {
  FakeMachine machine;
  DaemonRequest inner = request();
  inner.named = "/node";
  inner.nested = true;
  const DaemonChoice choice = machine.choose(inner);
  EXPECT_EQ(choice.folder, "/node");
  EXPECT_FALSE(choice.start);
  EXPECT_NE(choice.warning.find("the daemon is away"), std::string::npos);
  inner.nested = false;
  EXPECT_EQ(machine.choose(inner).folder, "/mine");
}

}  // namespace
}  // namespace nvs::cli
