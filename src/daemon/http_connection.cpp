// SPDX-License-Identifier: Apache-2.0
#include "daemon/http_connection.h"

#include <algorithm>
#include <utility>

#include "daemon/limits.h"

namespace nvs::daemon {
namespace {

constexpr const char* kPlainText = "text/plain; charset=utf-8";

bool is_visible(char character) { return character > ' ' && character <= '~'; }

// The text up to `end`, which is taken off with it; all of it if there is no end.
std::string_view take_until(std::string_view& text, char end) {
  const std::size_t length = std::min(text.find(end), text.size());
  const std::string_view taken = text.substr(0, length);
  text.remove_prefix(std::min(length + 1, text.size()));
  return taken;
}

// Where the empty line begins that ends a request; npos while there is none. Lines may end without
// a carriage return.
std::size_t end_of_request(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find('\n', from); at != std::string_view::npos;
       at = text.find('\n', at + 1)) {
    const std::string_view rest = text.substr(at + 1);
    if (rest.starts_with('\n') || rest.starts_with("\r\n")) return at;
  }
  return std::string_view::npos;
}

}  // namespace

void HttpConnection::received(const HttpPages& pages, std::string_view bytes) {
  if (has_answer()) return;
  // The end may have begun with what came before.
  const std::size_t from = input_.size() - std::min<std::size_t>(input_.size(), 2);
  const std::size_t room = kHttpRequestMax - input_.size();
  input_ += bytes.substr(0, room);
  if (end_of_request(input_, from) != std::string::npos) {
    std::string_view line = std::string_view(input_).substr(0, input_.find('\n'));
    if (line.ends_with('\r')) line.remove_suffix(1);
    answer(pages, line);
  } else if (input_.size() == kHttpRequestMax) {
    refuse("431 Request Header Fields Too Large");
  }
  if (has_answer()) input_ = {};
}

void HttpConnection::answer(const HttpPages& pages, std::string_view request_line) {
  std::string_view rest = request_line;
  const std::string_view method = take_until(rest, ' ');
  std::string_view target = take_until(rest, ' ');
  const bool is_request = !method.empty() && target.starts_with('/') &&
                          (rest == "HTTP/1.1" || rest == "HTTP/1.0") &&
                          std::all_of(method.begin(), method.end(), is_visible) &&
                          std::all_of(target.begin(), target.end(), is_visible);
  if (!is_request) return refuse("400 Bad Request");
  is_head_ = method == "HEAD";
  if (!is_head_ && method != "GET") {
    return refuse("405 Method Not Allowed", "Allow: GET, HEAD\r\n");
  }
  HttpPage page = pages(take_until(target, '?'));
  if (!page.body) return refuse("404 Not Found");
  answer_with("200 OK", std::move(page));
}

void HttpConnection::refuse(std::string_view status, std::string_view more) {
  answer_with(status,
              {kPlainText, std::make_shared<const std::string>(std::string(status) + "\n")});
  head_.insert(head_.size() - 2, more);
}

void HttpConnection::answer_with(std::string_view status, HttpPage page) {
  head_ = "HTTP/1.1 " + std::string(status) + "\r\nContent-Type: " + page.type +
          "\r\nContent-Length: " + std::to_string(page.body->size()) +
          "\r\nConnection: close\r\n\r\n";
  if (!is_head_) body_ = std::move(page.body);
}

std::string_view HttpConnection::to_send() const {
  if (sent_ < head_.size()) return std::string_view(head_).substr(sent_);
  return body_ ? std::string_view(*body_).substr(sent_ - head_.size()) : std::string_view();
}

}  // namespace nvs::daemon
