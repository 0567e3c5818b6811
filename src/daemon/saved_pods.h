// SPDX-License-Identifier: Apache-2.0
// The part of state.json that is about Kubernetes: what the API server said of pods, and the
// kubelet of slots. All of it will be told again, so what is not understood of it is left out with
// a remark, and is no reason to lose the rest or what an administrator has set.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "daemon/pods.h"
#include "daemon/status_writer.h"

namespace nvs::daemon {

// Null is an empty part: files of earlier daemons have none. A remark is a line, and is appended.
SavedPods read_pods(const nlohmann::json& saved, std::string& remark);
SavedSlots read_slots(const nlohmann::json& saved, std::string& remark);

// As members of the object that is being written, if there are any.
void write_pods(JsonWriter& out, const SavedPods& pods);
void write_slots(JsonWriter& out, const SavedSlots& slots);

}  // namespace nvs::daemon
