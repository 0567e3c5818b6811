// SPDX-License-Identifier: Apache-2.0
#include "cli/target.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/test_folder.h"

namespace nvs::cli {
namespace {

using std::filesystem::perms;

constexpr ElfMachine kTargetMachine = {ELFCLASS64, ELFDATA2LSB, EM_X86_64};
constexpr Caller kUser = {1000, 1000, true};

void expect_failure(const Outcome<std::string>& found, int code, const std::string& part) {
  ASSERT_FALSE(found) << *found;
  EXPECT_EQ(found.error().code, code);
  EXPECT_NE(found.error().text.find(part), std::string::npos) << found.error().text;
}

TEST(FindProgram, TheFirstExecutableOnThePath) {
  const TestFolder folder;
  folder.write("a/prog", "", perms::owner_read);
  const std::string good = folder.write("b/prog", "", perms::owner_all);
  folder.write("c/prog", "", perms::owner_all);
  const std::string path = folder.path("none") + ":" + folder.path("a") + ":" + folder.path("b") +
                           ":" + folder.path("c");
  EXPECT_EQ(find_program("prog", path).value(), good);
}

TEST(FindProgram, AFolderIsNoProgram) {
  const TestFolder folder;
  folder.write("a/prog/file", "");
  const std::string good = folder.write("b/prog", "", perms::owner_all);
  EXPECT_EQ(find_program("prog", folder.path("a") + ":" + folder.path("b")).value(), good);
  expect_failure(find_program("prog", folder.path("a")), kExitNotFound, "no program 'prog'");
  expect_failure(find_program(folder.path("a"), std::nullopt), kExitNotExecutable,
                 "Is a directory");
}

TEST(FindProgram, ANameWithASlashIsNotSearchedFor) {
  const TestFolder folder;
  const std::string good = folder.write("prog", "", perms::owner_all);
  EXPECT_EQ(find_program(good, "/nowhere").value(), good);
  expect_failure(find_program(folder.path("absent"), "/bin"), kExitNotFound, "check the path");
  expect_failure(find_program(good + "/sub", "/bin"), kExitNotFound, "check the path");
}

TEST(FindProgram, FoundButNotExecutableIs126) {
  const TestFolder folder;
  const std::string file = folder.write("prog", "", perms::owner_read);
  const std::string text = file + " cannot be started: Permission denied; make it executable";
  expect_failure(find_program(file, std::nullopt), kExitNotExecutable, text);
  expect_failure(find_program("prog", "/nowhere:" + folder.path("")), kExitNotExecutable,
                 "Permission denied");
}

TEST(FindProgram, AFolderThatIsClosedToUsHidesWhatIsInIt) {
  if (::geteuid() == 0) GTEST_SKIP() << "no folder is closed to root";
  const TestFolder folder;
  folder.write("closed/prog", "", perms::owner_all);
  std::filesystem::permissions(folder.path("closed"), perms::none);
  expect_failure(find_program("prog", folder.path("closed")), kExitNotFound,
                 "in no folder of PATH");
  expect_failure(find_program(folder.path("closed/prog"), ""), kExitNotExecutable,
                 "Permission denied");
  std::filesystem::permissions(folder.path("closed"), perms::owner_all);
}

TEST(FindProgram, AnEmptyNameIsNowhere) {
  expect_failure(find_program("", "/bin"), kExitNotFound, "an empty word");
  expect_failure(find_program("prog", "/nowhere"), kExitNotFound, "in no folder of PATH");
}

TEST(FindProgram, UnsetPathIsNotEmptyPath) {
  EXPECT_EQ(find_program("sh", std::nullopt).value(), "/bin/sh");
  const TestFolder folder;
  folder.write("nvshare_cli_test_prog", "", perms::owner_all);
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path(""));
  EXPECT_EQ(find_program("nvshare_cli_test_prog", "").value(), "./nvshare_cli_test_prog");
  EXPECT_EQ(find_program("nvshare_cli_test_prog", "/nowhere:").value(), "./nvshare_cli_test_prog");
  std::filesystem::current_path(before);
}

TEST(Privileges, SetIdBitsCountOnlyIfTheyChangeSomething) {
  EXPECT_FALSE(gains_privileges({S_IFREG | 0755, 0, 0, false}, kUser));
  EXPECT_TRUE(gains_privileges({S_IFREG | S_ISUID | 0755, 0, 0, false}, kUser));
  EXPECT_FALSE(gains_privileges({S_IFREG | S_ISUID | 0755, 1000, 0, false}, kUser));
  EXPECT_TRUE(gains_privileges({S_IFREG | S_ISGID | 0755, 0, 0, false}, kUser));
  EXPECT_FALSE(gains_privileges({S_IFREG | S_ISGID | 0745, 0, 0, false}, kUser));
  EXPECT_FALSE(gains_privileges({S_IFREG | S_ISGID | 0755, 0, 1000, false}, kUser));
}

TEST(Privileges, CapabilitiesCountForAllButRoot) {
  EXPECT_TRUE(gains_privileges({S_IFREG | 0755, 0, 0, true}, kUser));
  EXPECT_FALSE(gains_privileges({S_IFREG | 0755, 0, 0, true}, {0, 0, true}));
}

TEST(Privileges, NoneWhereTheKernelGivesNone) {
  const Caller confined = {1000, 1000, false};
  EXPECT_FALSE(gains_privileges({S_IFREG | S_ISUID | S_ISGID | 0755, 0, 0, true}, confined));
}

TEST(InspectTarget, AScriptHasNoElfFile) {
  const TestFolder folder;
  const Target target = inspect_target(folder.write("s", "#!/bin/sh\nexit 3\n", perms::owner_all));
  EXPECT_FALSE(target.elf);
  EXPECT_EQ(why_not_shared(target, kTargetMachine), std::nullopt);
}

TEST(InspectTarget, ThisProgramIsDynamic) {
  const Target target = inspect_target("/proc/self/exe");
  ASSERT_TRUE(target.elf);
  EXPECT_TRUE(target.elf->has_interpreter);
  EXPECT_EQ(why_not_shared(target, target.elf->machine), std::nullopt);
}

Target dynamic_program() {
  Target target{"/p", ElfFile{}, false};
  target.elf->machine = kTargetMachine;
  target.elf->native = target.elf->has_interpreter = true;
  return target;
}

TEST(WhyNotShared, ADynamicProgramIs) {
  EXPECT_EQ(why_not_shared(dynamic_program(), kTargetMachine), std::nullopt);
}

TEST(WhyNotShared, StaticProgramsButNotTheLoaderItself) {
  Target target = dynamic_program();
  target.elf->has_interpreter = false;
  EXPECT_NE(why_not_shared(target, kTargetMachine).value_or("").find("statically linked"),
            std::string::npos);
  target.elf->has_soname = true;
  EXPECT_EQ(why_not_shared(target, kTargetMachine), std::nullopt);
}

TEST(WhyNotShared, ProgramsOfAnotherMachine) {
  Target target = dynamic_program();
  target.elf->native = false;
  target.elf->machine = {ELFCLASS32, ELFDATA2LSB, EM_386};
  EXPECT_EQ(why_not_shared(target, kTargetMachine),
            "it is a program for i386 (32 bit) and the library is for x86-64");
}

TEST(WhyNotShared, ProgramsWithRightsOfTheirOwnEvenIfTheyCannotBeRead) {
  Target target = dynamic_program();
  target.gains_privileges = true;
  EXPECT_NE(why_not_shared(target, kTargetMachine).value_or("").find("sudo nvshare run"),
            std::string::npos);
  target.elf.reset();
  EXPECT_TRUE(why_not_shared(target, kTargetMachine));
}

}  // namespace
}  // namespace nvs::cli
