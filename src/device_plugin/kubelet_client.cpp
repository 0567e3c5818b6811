// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/kubelet_client.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include <device_plugin.grpc.pb.h>
#include <grpcpp/grpcpp.h>
#include <pod_resources.grpc.pb.h>

namespace nvs::plugin {
namespace {

constexpr const char* kApiVersion = "v1beta1";
constexpr int kListBytesMax = 64 << 20;

// A connection of its own for each question: those that share one also share how long gRPC waits
// after a failure, and we know better when the kubelet is there again.
std::shared_ptr<grpc::Channel> connect_to(const std::string& socket) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(kListBytesMax);
  return grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
}

void set_deadline(grpc::ClientContext& context, Duration deadline) {
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::nanoseconds(deadline.ns()));
}

std::string words_of(const grpc::Status& status) {
  return status.error_message() + " (code " + std::to_string(status.error_code()) + ")";
}

void add_container(const v1::PodResources& pod, const v1::ContainerResources& container,
                   ListedPods& found) {
  SlotHolder holder{"", pod.namespace_(), pod.name(), container.name()};
  std::vector<PodDevice> slots;
  for (const v1::ContainerDevices& devices : container.devices()) {
    for (const std::string& id : devices.device_ids()) {
      found.devices.insert({devices.resource_name(), id});
      const auto device = parse_device_id(id);
      if (!device) continue;
      if (device->kind == DeviceKind::slot) slots.push_back({devices.resource_name(), id});
      if (device->kind == DeviceKind::memory) ++holder.memory_units;
      if (device->kind == DeviceKind::core) ++holder.core_units;
    }
  }
  for (PodDevice& slot : slots) {
    holder.slot = std::move(slot.id);
    holder.resource = std::move(slot.resource);
    found.holders.push_back(holder);
  }
}

}  // namespace

Parsed<void> register_with_kubelet(const std::string& kubelet_socket, const std::string& endpoint,
                                   const std::string& resource, Preference preference,
                                   Duration deadline, const std::stop_token& stop) {
  const auto stub = v1beta1::Registration::NewStub(connect_to(kubelet_socket));
  grpc::ClientContext context;
  set_deadline(context, deadline);
  v1beta1::RegisterRequest request;
  request.set_version(kApiVersion);
  request.set_endpoint(endpoint);
  request.set_resource_name(resource);
  request.mutable_options()->set_get_preferred_allocation_available(preference ==
                                                                    Preference::offered);
  v1beta1::Empty answer;
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  const grpc::Status status = stub->Register(&context, request, &answer);
  if (!status.ok()) return tl::unexpected(words_of(status));
  return {};
}

Parsed<ListedPods> list_pods(const std::string& socket, Duration deadline,
                             const std::stop_token& stop) {
  const auto stub = v1::PodResourcesLister::NewStub(connect_to(socket));
  grpc::ClientContext context;
  set_deadline(context, deadline);
  v1::ListPodResourcesResponse answer;
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  const grpc::Status status = stub->List(&context, {}, &answer);
  if (!status.ok()) return tl::unexpected(words_of(status));
  ListedPods found;
  for (const v1::PodResources& pod : answer.pod_resources()) {
    for (const v1::ContainerResources& container : pod.containers()) {
      add_container(pod, container, found);
    }
  }
  // The kubelet's order is by chance, and no news.
  std::sort(found.holders.begin(), found.holders.end());
  return found;
}

}  // namespace nvs::plugin
