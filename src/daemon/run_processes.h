// SPDX-License-Identifier: Apache-2.0
// For a daemon that ends when nobody uses it: whether anything of an `nvshare run` still lives that
// was told to use it. A script that `nvshare run` became may have ended before a program that it
// left behind uses a GPU for the first time, and nobody has connected from there yet.
//
// The environment says it: who has lost the variables of the run, by whatever way, would not find
// this daemon anyway. Nothing has to be left in programs for it, such as a descriptor that some
// close and others pass on for ever; and children that change their session, group or parent are
// found as well.
#pragma once

#include <optional>
#include <string>

#include <sys/types.h>

namespace nvs::daemon {

// Any process but this one that has NVSHARE_RUN set, and NVSHARE_FOLDER to `folder`; nothing if
// there is none that this user may look at.
std::optional<pid_t> find_run_process(const std::string& folder, const char* proc_root = "/proc");

}  // namespace nvs::daemon
