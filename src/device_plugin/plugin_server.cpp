// SPDX-License-Identifier: Apache-2.0
#include "device_plugin/plugin_server.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <utility>

#include <device_plugin.grpc.pb.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include "os/clock.h"

namespace nvs::plugin {
namespace {

// Calls are answered from memory, so what is still under way then is stuck.
constexpr std::chrono::seconds kShutdownPatience{2};

v1beta1::ListAndWatchResponse list_message(const std::vector<ListedDevice>& devices) {
  v1beta1::ListAndWatchResponse message;
  for (const ListedDevice& device : devices) {
    v1beta1::Device* out = message.add_devices();
    out->set_id(device.id);
    out->set_health(device.is_healthy ? "Healthy" : "Unhealthy");
    if (device.numa_node) out->mutable_topology()->add_nodes()->set_id(*device.numa_node);
  }
  return message;
}

void fill(const ContainerAnswer& answer, v1beta1::ContainerAllocateResponse& out) {
  for (const auto& [name, value] : answer.envs) (*out.mutable_envs())[name] = value;
  for (const auto& [name, value] : answer.annotations) (*out.mutable_annotations())[name] = value;
  for (const Mount& mount : answer.mounts) {
    v1beta1::Mount* to = out.add_mounts();
    to->set_container_path(mount.container_path);
    to->set_host_path(mount.host_path);
    to->set_read_only(true);
  }
  for (const DeviceFile& file : answer.devices) {
    v1beta1::DeviceSpec* to = out.add_devices();
    to->set_container_path(file.container_path);
    to->set_host_path(file.host_path);
    to->set_permissions("rw");
  }
  for (const std::string& name : answer.cdi_devices) out.add_cdi_devices()->set_name(name);
}

grpc::ServerUnaryReactor* finished(grpc::CallbackServerContext* context, grpc::Status status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(std::move(status));
  return reactor;
}

}  // namespace

// One ListAndWatch. It lives until gRPC is done with it.
class DeviceStream : public grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse> {
 public:
  using Source = std::function<v1beta1::ListAndWatchResponse()>;
  DeviceStream(Source source, std::function<void(DeviceStream*)> on_done)
      : source_(std::move(source)), on_done_(std::move(on_done)) {}

  void send() {
    const std::lock_guard<std::mutex> guard(lock_);
    is_due_ = true;
    write_if_idle();
  }
  void end() {
    const std::lock_guard<std::mutex> guard(lock_);
    is_ending_ = true;
    finish_if_idle();
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard<std::mutex> guard(lock_);
    is_writing_ = false;
    if (!ok) is_ending_ = true;
    finish_if_idle();
    write_if_idle();
  }
  void OnCancel() override { end(); }
  void OnDone() override {
    on_done_(this);
    delete this;
  }

 private:
  void write_if_idle() {
    if (is_writing_ || is_ending_ || !is_due_) return;
    is_due_ = false;
    is_writing_ = true;
    message_ = source_();
    StartWrite(&message_);
  }
  void finish_if_idle() {
    if (!is_ending_ || is_writing_ || is_finished_) return;
    is_finished_ = true;
    Finish(grpc::Status::OK);
  }

  Source source_;
  std::function<void(DeviceStream*)> on_done_;
  std::mutex lock_;  // of all that follows
  v1beta1::ListAndWatchResponse message_;
  bool is_writing_ = false;
  bool is_due_ = false;
  bool is_ending_ = false;
  bool is_finished_ = false;
};

class PluginServer::Impl : public v1beta1::DevicePlugin::CallbackService {
 public:
  using Context = grpc::CallbackServerContext;

  Impl(std::string path, std::string resource, Answers& answers, ServerEvents events)
      : path_(std::move(path)),
        resource_(std::move(resource)),
        answers_(answers),
        events_(std::move(events)) {}

  ~Impl() override {
    {
      const std::lock_guard<std::mutex> guard(lock_);
      is_closing_ = true;
      for (DeviceStream* stream : streams_) stream->end();
    }
    if (server_) server_->Shutdown(std::chrono::system_clock::now() + kShutdownPatience);
    {
      std::unique_lock<std::mutex> guard(lock_);
      all_done_.wait(guard, [this] { return streams_.empty(); });
    }
    server_.reset();
    ::unlink(path_.c_str());  // gRPC does it too, but promises it nowhere
  }

  bool start() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + path_, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    // gRPC says so in no other way if it could not bind.
    return server_ != nullptr && ::access(path_.c_str(), F_OK) == 0;
  }

  void send_devices() {
    const std::lock_guard<std::mutex> guard(lock_);
    for (DeviceStream* stream : streams_) stream->send();
  }

  grpc::ServerUnaryReactor* GetDevicePluginOptions(Context* context, const v1beta1::Empty*,
                                                   v1beta1::DevicePluginOptions* out) override {
    out->set_get_preferred_allocation_available(answers_.prefers(resource_));
    return finished(context, grpc::Status::OK);
  }

  grpc::ServerWriteReactor<v1beta1::ListAndWatchResponse>* ListAndWatch(
      Context*, const v1beta1::Empty*) override {
    auto* stream = new DeviceStream([this] { return list_message(answers_.devices(resource_)); },
                                    [this](DeviceStream* done) { forget(done); });
    bool is_late = false;
    {
      const std::lock_guard<std::mutex> guard(lock_);
      streams_.insert(stream);
      is_late = is_closing_;
    }
    events_.stream_began();
    is_late ? stream->end() : stream->send();
    return stream;
  }

  grpc::ServerUnaryReactor* GetPreferredAllocation(
      Context* context, const v1beta1::PreferredAllocationRequest* request,
      v1beta1::PreferredAllocationResponse* out) override {
    for (const auto& one : request->container_requests()) {
      const PreferredRequest wish{
          .available = {one.available_deviceids().begin(), one.available_deviceids().end()},
          .must_include = {one.must_include_deviceids().begin(),
                           one.must_include_deviceids().end()},
          .size = static_cast<unsigned>(std::max(one.allocation_size(), 0))};
      const auto picked = answers_.prefer(os::monotonic_now(), resource_, wish);
      if (!picked) {
        return finished(context, {grpc::StatusCode::INVALID_ARGUMENT, picked.error()});
      }
      auto* container = out->add_container_responses();
      for (const std::string& id : *picked) container->add_deviceids(id);
    }
    return finished(context, grpc::Status::OK);
  }

  grpc::ServerUnaryReactor* Allocate(Context* context, const v1beta1::AllocateRequest* request,
                                     v1beta1::AllocateResponse* out) override {
    for (const auto& one : request->container_requests()) {
      const std::vector<std::string> ids(one.devices_ids().begin(), one.devices_ids().end());
      const auto answer = answers_.allocate(os::monotonic_now(), resource_, ids);
      if (!answer) {
        const bool is_unknown = answer.error().kind == AllocateError::Kind::unknown_device;
        return finished(context, {is_unknown ? grpc::StatusCode::INVALID_ARGUMENT
                                             : grpc::StatusCode::FAILED_PRECONDITION,
                                  answer.error().text});
      }
      fill(*answer, *out->add_container_responses());
    }
    events_.allocated();
    return finished(context, grpc::Status::OK);
  }

  grpc::ServerUnaryReactor* PreStartContainer(Context* context,
                                              const v1beta1::PreStartContainerRequest*,
                                              v1beta1::PreStartContainerResponse*) override {
    return finished(context, grpc::Status::OK);
  }

 private:
  void forget(DeviceStream* stream) {
    events_.stream_ended();
    const std::lock_guard<std::mutex> guard(lock_);
    streams_.erase(stream);
    all_done_.notify_all();
  }

  const std::string path_;
  const std::string resource_;
  Answers& answers_;
  const ServerEvents events_;
  std::unique_ptr<grpc::Server> server_;
  std::mutex lock_;  // of all that follows
  std::condition_variable all_done_;
  std::set<DeviceStream*> streams_;
  bool is_closing_ = false;
};

PluginServer::PluginServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PluginServer::~PluginServer() = default;

void PluginServer::send_devices() { impl_->send_devices(); }

Parsed<std::unique_ptr<PluginServer>> PluginServer::serve(const std::string& path,
                                                          std::string resource, Answers& answers,
                                                          ServerEvents events) {
  auto impl = std::make_unique<Impl>(path, std::move(resource), answers, std::move(events));
  if (!impl->start()) return tl::unexpected(path + ": it cannot be served");
  return std::unique_ptr<PluginServer>(new PluginServer(std::move(impl)));
}

}  // namespace nvs::plugin
