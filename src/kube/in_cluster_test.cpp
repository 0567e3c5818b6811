// SPDX-License-Identifier: Apache-2.0
#include "kube/in_cluster.h"

#include <gtest/gtest.h>

namespace nvs::kube {
namespace {

constexpr Environment kInPod = {"10.96.0.1", "443", "node-1"};

TEST(InCluster, APodIsToldAllByKubernetes) {
  const auto settings = settings_of({}, kInPod);
  ASSERT_TRUE(settings) << settings.error();
  EXPECT_EQ(settings->api_url, "https://10.96.0.1:443");
  EXPECT_EQ(settings->node, "node-1");
  EXPECT_EQ(settings->token_path, "/var/run/secrets/kubernetes.io/serviceaccount/token");
  EXPECT_EQ(settings->ca_path, "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt");
}

// Section 5.2.
TEST(InCluster, AddressesOfIpv6GetBrackets) {
  EXPECT_EQ(settings_of({}, {"fd00::1", "6443", "n"})->api_url, "https://[fd00::1]:6443");
}

TEST(InCluster, FlagsCountMore) {
  const auto settings = settings_of(
      {.api_url = "https://api.lab:6443//", .account_folder = "/tmp/sa", .node = "other"}, kInPod);
  ASSERT_TRUE(settings) << settings.error();
  EXPECT_EQ(settings->api_url, "https://api.lab:6443");
  EXPECT_EQ(settings->node, "other");
  EXPECT_EQ(settings->token_path, "/tmp/sa/token");
  EXPECT_EQ(settings->ca_path, "/tmp/sa/ca.crt");
}

TEST(InCluster, AnOpenWireIsForThoseWhoAskForIt) {
  const auto open = settings_of({.api_url = "http://127.0.0.1:8001"}, kInPod);
  ASSERT_TRUE(open) << open.error();
  EXPECT_EQ(open->token_path, "");
  EXPECT_EQ(open->ca_path, "");
  const auto with_token =
      settings_of({.api_url = "http://127.0.0.1:8001", .account_folder = "/sa"}, kInPod);
  EXPECT_EQ(with_token->token_path, "/sa/token");
}

TEST(InCluster, WhatIsWrongIsSaid) {
  const auto error_of = [](const Flags& flags, const Environment& environment) {
    const auto settings = settings_of(flags, environment);
    return settings ? "fine" : settings.error();
  };
  EXPECT_EQ(error_of({}, {}),
            "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this is no pod");
  EXPECT_EQ(error_of({}, {"10.0.0.1", "", "n"}),
            "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this is no pod");
  EXPECT_EQ(error_of({}, {"h", "0", "n"}), "KUBERNETES_SERVICE_PORT is '0', no port");
  EXPECT_EQ(error_of({}, {"h", "65536", "n"}), "KUBERNETES_SERVICE_PORT is '65536', no port");
  EXPECT_EQ(error_of({}, {"h", "443x", "n"}), "KUBERNETES_SERVICE_PORT is '443x', no port");
  EXPECT_EQ(error_of({}, {"h/x", "443", "n"}), "KUBERNETES_SERVICE_HOST is 'h/x', no host");
  EXPECT_EQ(error_of({}, {"h", "443", nullptr}),
            "NODE_NAME is not set: take it from spec.nodeName");
  EXPECT_EQ(error_of({}, {"h", "443", "a,b"}), "'a,b' is no name of a node");
  EXPECT_EQ(error_of({.node = std::string(254, 'a')}, kInPod),
            "'" + std::string(254, 'a') + "' is no name of a node");
  for (const char* url : {"ftp://h", "h:1", "https://", "http://u@h", "https://h?x", "https://a b"})
    EXPECT_NE(error_of({.api_url = url}, kInPod), "fine") << url;
}

}  // namespace
}  // namespace nvs::kube
