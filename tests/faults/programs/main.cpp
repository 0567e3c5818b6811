// SPDX-License-Identifier: Apache-2.0
// The tenants of the fault tests in one program. It prints "ok" and exits with 0 if its data was
// right to the end.
#include <exception>
#include <string_view>

#include <unistd.h>

#include "tests/faults/programs/kit.h"

namespace nvs::faults {
namespace {

struct Program {
  std::string_view name;
  int (*run)(int argc, char** argv);
};

constexpr Program kPrograms[] = {
    {"worker", worker},
    {"bursts", bursts},
    {"holder", holder},
    {"hang", hang},
    {"forker", forker},
    {"closer", closer},
    {"meet_gpus", meet_gpus},
    {"meet_pair", meet_pair},
    {"graphs", graphs},
    {"streams", streams},
    {"copies", copies},
    {"contexts", contexts},
    {"retainer", retainer},
    {"ledger", ledger},
    {"stream_waits", stream_waits},
    {"per_thread", per_thread},
    {"stopwatch", stopwatch},
    {"across", across},
    {"alone", alone},
    {"away", away},
    {"ipc_share", ipc_share},
    {"ipc_open", ipc_open},
    {"ipc_share_many", ipc_share_many},
    {"ipc_open_many", ipc_open_many},
    {"pools", pools},
    {"kept", kept},
    {"captured", captured},
    {"queued", queued},
    {"refused", refused},
    {"pool_threads", pool_threads},
    {"mixed", mixed},
    {"churn", churn},
    {"freer", freer},
    {"leaver", leaver},
    {"hog", hog},
    {"views", views},
    {"created", created},
    {"orphan", orphan},
    {"limits", limits},
    {"smi", smi},
    {"poisoned", poisoned},
};

int run(int argc, char** argv) {
  for (const Program& program : kPrograms) {
    if (argc < 2 || program.name != argv[1]) continue;
    const int status = program.run(argc - 2, argv + 2);
    if (status == 0) say("ok");
    return status;
  }
  say("usage: fault_tenant PROGRAM [ARGUMENT...]");
  return 2;
}

}  // namespace
}  // namespace nvs::faults

int main(int argc, char** argv) {
  try {
    return nvs::faults::run(argc, argv);
  } catch (const std::exception& error) {
    nvs::faults::say(std::string("failed: ") + error.what());
    ::_exit(1);  // with whatever threads it has
  }
}
