// SPDX-License-Identifier: Apache-2.0
#include "workloads/status.h"

#include <gtest/gtest.h>

namespace nvs::workloads {
namespace {

template <class T>
T round_trip(const T& status) {
  const std::string line = encode_status(status);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const std::optional<Status> decoded = decode_status(line);
  EXPECT_TRUE(decoded.has_value() && std::holds_alternative<T>(*decoded)) << line;
  return decoded && std::holds_alternative<T>(*decoded) ? std::get<T>(*decoded) : T{};
}

TEST(Status, CarriesEachKind) {
  EXPECT_EQ(round_trip(ReadyStatus{.gpu_name = "T4", .bytes = 12ull << 30}).bytes, 12ull << 30);
  EXPECT_EQ(round_trip(Progress{.done = 7, .total = 9}).done, 7u);
  EXPECT_EQ(round_trip(VerifyingStatus{{.done = 9, .total = 9}}).progress.done, 9u);
  const ResultStatus result = round_trip(ResultStatus{
      .pass = true, .iterations = 9, .seconds = 1.5, .rate = 6, .message = "a\n\"b\""});
  EXPECT_TRUE(result.pass);
  EXPECT_DOUBLE_EQ(result.seconds, 1.5);
  EXPECT_EQ(result.message, "a\n\"b\"");
}

TEST(Status, SurvivesBytesThatAreNotUtf8) {
  EXPECT_FALSE(round_trip(ResultStatus{.message = "\xff\xfe"}).message.empty());
}

TEST(Status, RefusesWhatIsNotOurs) {
  for (const char* line : {"", "hello", "{}", "[1]", "{\"event\":\"result\"}", "{\"event\":3}",
                           "{\"event\":\"other\"}", "{\"event\":\"ready\",\"bytes\":\"x\"}"}) {
    EXPECT_FALSE(decode_status(line).has_value()) << line;
  }
}

}  // namespace
}  // namespace nvs::workloads
