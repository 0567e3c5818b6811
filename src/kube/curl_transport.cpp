// SPDX-License-Identifier: Apache-2.0
#include "kube/curl_transport.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "kube/curl_library.h"
#include "kube/limits.h"
#include "os/clock.h"

namespace nvs::kube {
namespace {

constexpr long kKeepaliveIdleS = 30;
constexpr long kKeepaliveIntervalS = 10;
constexpr int kWaitMsMax = 60'000;

// What went wrong, in our words for it.
Reason reason_of(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:  // only connecting has a time
      return Reason::connect;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
      return Reason::tls;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_BAD_CONTENT_ENCODING:
    case CURLE_HTTP2:
      return Reason::garbage;
    default:
      return Reason::cut;
  }
}

class Transport final : public CurlTransport {
 public:
  Transport(const CurlLibrary& curl, CURLM* multi, std::string user_agent)
      : curl_(curl), multi_(multi), user_agent_(std::move(user_agent)) {}
  ~Transport() override {
    cancel();
    curl_.curl_multi_cleanup(multi_);
  }

  Result<void> start(const CurlRequest& request) override;
  void cancel() override;
  std::vector<Input> wait(std::optional<Instant> deadline) override;
  void wake() override { curl_.curl_multi_wakeup(multi_); }

 private:
  // Long, pointer or function: what the option takes. The library copies texts.
  template <class Value>
  void set(CURLoption option, Value value) {
    is_set_ = is_set_ && curl_.curl_easy_setopt(easy_, option, value) == CURLE_OK;
  }
  void add_header(const std::string& line);
  void set_all(const CurlRequest& request);
  void set_security(const CurlRequest& request);
  void end_of_headers();
  void read_end();

  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);

  const CurlLibrary& curl_;
  CURLM* multi_;
  const std::string user_agent_;
  CURL* easy_ = nullptr;
  curl_slist* headers_ = nullptr;
  bool is_set_ = true;
  bool has_headers_ = false;
  std::array<char, CURL_ERROR_SIZE> error_{};
  std::vector<Input> inputs_;
};

std::size_t Transport::on_header(char* data, std::size_t size, std::size_t count, void* self) {
  const std::string_view line(data, size * count);
  if (line == "\r\n" || line == "\n") static_cast<Transport*>(self)->end_of_headers();
  return line.size();
}

std::size_t Transport::on_body(char* data, std::size_t size, std::size_t count, void* self) {
  static_cast<Transport*>(self)->inputs_.emplace_back(ResponseBytes{{data, size * count}});
  return size * count;
}

// Of an answer, or of one of those that come before it (100), or of what follows the body.
void Transport::end_of_headers() {
  long status = 0;
  curl_off_t retry_after_s = 0;
  curl_.curl_easy_getinfo(easy_, CURLINFO_RESPONSE_CODE, &status);
  curl_.curl_easy_getinfo(easy_, CURLINFO_RETRY_AFTER, &retry_after_s);
  if (status < 200 || std::exchange(has_headers_, true)) return;
  ResponseHeaders headers{static_cast<int>(status), std::nullopt};
  if (retry_after_s > 0) {
    const auto seconds = std::min<std::int64_t>(retry_after_s, std::numeric_limits<int>::max());
    headers.retry_after = Duration::from_s(seconds);
  }
  inputs_.emplace_back(headers);
}

void Transport::add_header(const std::string& line) {
  curl_slist* longer = curl_.curl_slist_append(headers_, line.c_str());
  is_set_ = is_set_ && longer != nullptr;
  if (longer != nullptr) headers_ = longer;
}

void Transport::set_security(const CurlRequest& request) {
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_SSL_VERIFYPEER, 1L);
  set(CURLOPT_SSL_VERIFYHOST, 2L);
  // From memory: libcurl would keep a file's content for a day, and a CA changes sooner. And no
  // other CA of this system is believed.
  set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  if (!request.url.starts_with("https://")) return;
  const curl_blob ca{const_cast<char*>(request.ca_pem.data()), request.ca_pem.size(),
                     CURL_BLOB_COPY};
  set(CURLOPT_CAINFO_BLOB, &ca);
}

void Transport::set_all(const CurlRequest& request) {
  is_set_ = true;
  add_header("Accept: " + request.accept);
  if (!request.token.empty()) add_header("Authorization: Bearer " + request.token);
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_HTTPHEADER, headers_);
  set(CURLOPT_USERAGENT, user_agent_.c_str());
  set_security(request);
  // A connection of HTTP/2 would be shared, and a stream that hangs would take the next one along.
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_FRESH_CONNECT, 1L);
  set(CURLOPT_FORBID_REUSE, 1L);
  set(CURLOPT_NOPROXY, "*");
  // A quiet watch is no dead one: only a connection whose other end does not answer is.
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_TCP_KEEPIDLE, kKeepaliveIdleS);
  set(CURLOPT_TCP_KEEPINTVL, kKeepaliveIntervalS);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.connect_timeout.ns() / 1'000'000));
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_ERRORBUFFER, error_.data());
  set(CURLOPT_HEADERFUNCTION, &Transport::on_header);
  set(CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(CURLOPT_WRITEFUNCTION, &Transport::on_body);
  set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  // Else whoever cancels would wait for the name of the server to be looked up.
  set(CURLOPT_QUICK_EXIT, 1L);
}

Result<void> Transport::start(const CurlRequest& request) {
  cancel();
  easy_ = curl_.curl_easy_init();
  if (easy_ == nullptr) return tl::unexpected(Error{Errc::kLimit, 0, "curl_easy_init"});
  set_all(request);
  if (!is_set_ || curl_.curl_multi_add_handle(multi_, easy_) != CURLM_OK) {
    cancel();
    return tl::unexpected(Error{Errc::kLimit, 0, "libcurl does not take a request"});
  }
  return {};
}

void Transport::cancel() {
  if (easy_ != nullptr) {
    curl_.curl_multi_remove_handle(multi_, easy_);
    curl_.curl_easy_cleanup(std::exchange(easy_, nullptr));
  }
  if (headers_ != nullptr) curl_.curl_slist_free_all(std::exchange(headers_, nullptr));
  has_headers_ = false;
  error_.fill('\0');
  inputs_.clear();
}

void Transport::read_end() {
  int left = 0;
  while (const CURLMsg* message = curl_.curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE || message->easy_handle != easy_) continue;
    const CURLcode code = message->data.result;
    if (code == CURLE_OK) {
      inputs_.emplace_back(ResponseEnd{});
      continue;
    }
    const char* text = error_[0] != '\0' ? error_.data() : curl_.curl_easy_strerror(code);
    inputs_.emplace_back(RequestFailed{reason_of(code), shown(text, kMessageBytesMax)});
  }
}

std::vector<Input> Transport::wait(std::optional<Instant> deadline) {
  int running = 0;
  curl_.curl_multi_perform(multi_, &running);
  read_end();
  if (inputs_.empty()) {
    // Rounded up: at the deadline it has come.
    const Duration left = deadline ? *deadline - os::monotonic_now() : Duration::from_s(60);
    const std::int64_t ms = (left.ns() + 999'999) / 1'000'000;
    curl_.curl_multi_poll(multi_, nullptr, 0,
                          static_cast<int>(std::clamp<std::int64_t>(ms, 0, kWaitMsMax)), nullptr);
    curl_.curl_multi_perform(multi_, &running);
    read_end();
  }
  return std::exchange(inputs_, {});
}

}  // namespace

Result<std::unique_ptr<CurlTransport>> CurlTransport::create(std::string user_agent) {
  const CurlLibrary* curl = NVS_TRY(CurlLibrary::get());
  CURLM* multi = curl->curl_multi_init();
  if (multi == nullptr) return tl::unexpected(Error{Errc::kLimit, 0, "curl_multi_init"});
  return std::make_unique<Transport>(*curl, multi, std::move(user_agent));
}

}  // namespace nvs::kube
