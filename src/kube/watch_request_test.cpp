// SPDX-License-Identifier: Apache-2.0
#include "kube/watch_request.h"

#include <gtest/gtest.h>

namespace nvs::kube {
namespace {

// Section 5.1, to the letter.
TEST(WatchRequest, Lists) {
  EXPECT_EQ(list_target("node-1.lab", 500, ""),
            "/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-1.lab&limit=500");
  EXPECT_EQ(list_target("n", 50, "eyJ2Ij+/=="),
            "/api/v1/pods?fieldSelector=spec.nodeName%3Dn&limit=50&continue=eyJ2Ij%2B%2F%3D%3D");
}

TEST(WatchRequest, Watches) {
  EXPECT_EQ(watch_target("n", "a b&c", Duration::from_ms(300'999)),
            "/api/v1/pods?fieldSelector=spec.nodeName%3Dn&watch=1&allowWatchBookmarks=true"
            "&resourceVersion=a%20b%26c&timeoutSeconds=300");
}

TEST(WatchRequest, EveryByteCanBeEncoded) {
  EXPECT_EQ(percent_encoded(std::string_view("\0\n\xff~", 4)), "%00%0A%FF~");
}

}  // namespace
}  // namespace nvs::kube
