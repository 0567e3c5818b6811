// SPDX-License-Identifier: Apache-2.0
// One connection of somebody who asks over HTTP, as bytes: one request is answered, and that is
// all. Whoever asks may be anybody in the network: nothing of a request is kept but its path.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace nvs::daemon {

struct HttpPage {
  std::string type;                         // of its content
  std::shared_ptr<const std::string> body;  // nothing: there is no such page
};
// The page at a path, without its query.
using HttpPages = std::function<HttpPage(std::string_view path)>;

class HttpConnection {
 public:
  // Once the request is whole or cannot be one, there is an answer. What comes after is ignored.
  void received(const HttpPages& pages, std::string_view bytes);

  bool has_answer() const { return !head_.empty(); }
  // Empty once all is sent.
  std::string_view to_send() const;
  // The first `bytes` of to_send() have been written.
  void sent(std::size_t bytes) { sent_ += bytes; }

 private:
  void answer(const HttpPages& pages, std::string_view request_line);
  void answer_with(std::string_view status, HttpPage page);
  void refuse(std::string_view status, std::string_view more = "");

  std::string input_;
  bool is_head_ = false;  // whoever asks wants no body
  std::string head_;
  std::shared_ptr<const std::string> body_;
  std::size_t sent_ = 0;  // of both
};

}  // namespace nvs::daemon
