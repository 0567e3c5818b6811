// SPDX-License-Identifier: Apache-2.0
// What is asked of the API server: path and query of lists and watches of one node's pods. Only
// their metadata, so that nothing of what is in pods' specs ever gets here.
#pragma once

#include <string>
#include <string_view>

#include "base/instant.h"
#include "kube/watch_event.h"

namespace nvs::kube {

// One pod a line in a watch, a list of them in a list: each form has its name, and servers answer
// 406 to the other's.
inline constexpr const char* kListForm =
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
inline constexpr const char* kWatchForm =
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";

// `next`: the token of a page before; empty: the first page, of the newest state.
std::string list_target(std::string_view node, int pods, std::string_view next);
std::string watch_target(std::string_view node, const ResourceVersion& from, Duration timeout);

// As a value in a query: everything but letters, digits and -._~ as %XX.
std::string percent_encoded(std::string_view text);

}  // namespace nvs::kube
