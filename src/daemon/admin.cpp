// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin.h"

#include "daemon/admin_request.h"

namespace nvs::daemon {

std::string denied_answer(Asker asker) {
  const char* text = asker == Asker::administrator
                         ? "only root and the daemon's user may administer it, and not from a "
                           "container"
                         : "only root and the daemon's user may speak for the kubelet";
  return refusal_text({RefusalCode::denied, text}) + "\n";
}

void AdminConnection::received(NodeControl& control, std::string_view bytes) {
  if (closing_) return;
  input_ += bytes;
  answer_lines(control);
}

void AdminConnection::ended(NodeControl& control) {
  ended_ = true;
  answer_lines(control);
}

void AdminConnection::sent(NodeControl& control, std::size_t bytes) {
  sent_ += bytes;
  if (sent_ == output_.size()) {
    output_.clear();
    sent_ = 0;
  }
  answer_lines(control);
}

void AdminConnection::answer_lines(NodeControl& control) {
  std::size_t start = 0;
  while (may_answer()) {
    const std::size_t end = input_.find('\n', start);
    const bool is_whole = end != std::string::npos;
    const std::size_t length = (is_whole ? end : input_.size()) - start;
    if (length > kAdminRequestMax) {
      output_ += refusal_text({RefusalCode::invalid, "the request is longer than 64 KiB"}) + "\n";
      closing_ = true;
      input_.clear();
      return;
    }
    if (!is_whole && !(ended_ && length > 0)) break;
    output_ += answer(control, std::string_view(input_).substr(start, length), asker_) + "\n";
    start += length + (is_whole ? 1 : 0);
  }
  input_.erase(0, start);
  if (ended_ && input_.empty()) closing_ = true;
}

}  // namespace nvs::daemon
