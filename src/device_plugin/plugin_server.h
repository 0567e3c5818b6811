// SPDX-License-Identifier: Apache-2.0
// The plugin's side of the kubelet's protocol for one resource, at one socket, as long as the
// object lives. gRPC's own threads serve the calls; what they need is in Answers.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "device_plugin/answers.h"

namespace nvs::plugin {

// Called from gRPC's threads, with no lock held.
struct ServerEvents {
  std::function<void()> stream_began;
  std::function<void()> stream_ended;
  std::function<void()> allocated;
};

class PluginServer {
 public:
  // The error is a sentence. Nothing may be at the path.
  static Parsed<std::unique_ptr<PluginServer>> serve(const std::string& path, std::string resource,
                                                     Answers& answers, ServerEvents events);
  // Ends the streams, waits for calls that are under way, and removes the socket.
  ~PluginServer();
  PluginServer(const PluginServer&) = delete;
  PluginServer& operator=(const PluginServer&) = delete;

  // The devices or their health changed: all streams get the new list.
  void send_devices();

 private:
  class Impl;
  explicit PluginServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace nvs::plugin
