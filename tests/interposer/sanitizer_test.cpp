// SPDX-License-Identifier: Apache-2.0
// Programs that were built with a sanitizer, whose run-time looks functions up before anything else
// is ready: they run as they do alone, and their sanitizer still finds what it looks for.
#include <gtest/gtest.h>

#include "tests/interposer/run.h"

namespace nvs::interposer_test {
namespace {

// The run-time of AddressSanitizer insists on being the first of all libraries.
Command with_address_sanitizer(const std::string& name) {
  Command command{.program = "sanitized_address", .arguments = {name}};
  command.before = {NVS_ADDRESS_SANITIZER};
  // Looking for leaks needs ptrace, which not every machine allows.
  command.environment["ASAN_OPTIONS"] = "detect_leaks=0";
  return command;
}

// The shadow memory of ThreadSanitizer does not fit between addresses as random as some systems
// make them.
Command with_thread_sanitizer(const std::string& name) {
  return {.program = "sanitized_thread", .arguments = {name}, .addresses = Addresses::fixed};
}

TEST(Sanitizers, AddressSanitizerRunsTheSame) {
  const Outcome with = same_as_alone(with_address_sanitizer("use_driver"));
  EXPECT_EQ(with.status, 0) << with.errors;
  EXPECT_TRUE(is_hooked(with)) << with.evidence;
}

TEST(Sanitizers, AddressSanitizerFindsWhatItLooksFor) {
  for (const Library library : {Library::none, Library::product}) {
    const Outcome outcome = run(with_address_sanitizer("make_a_mistake"), library);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_NE(outcome.errors.find("heap-buffer-overflow"), std::string::npos) << outcome.errors;
  }
}

TEST(Sanitizers, ThreadSanitizerRunsTheSame) {
  const Outcome with = same_as_alone(with_thread_sanitizer("use_driver"));
  EXPECT_EQ(with.status, 0) << with.errors;
  EXPECT_TRUE(is_hooked(with)) << with.evidence;
}

TEST(Sanitizers, ThreadSanitizerFindsWhatItLooksFor) {
  for (const Library library : {Library::none, Library::product}) {
    const Outcome outcome = run(with_thread_sanitizer("make_a_mistake"), library);
    EXPECT_EQ(outcome.status, 66);
    EXPECT_NE(outcome.errors.find("data race"), std::string::npos) << outcome.errors;
  }
}

}  // namespace
}  // namespace nvs::interposer_test
