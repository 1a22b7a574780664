// SPDX-License-Identifier: Apache-2.0

#include "server/http/http_listener.h"

#include <civetweb.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/text/host_port.h"
#include "server/http/gzip.h"

namespace voxloc::server {
namespace {

// A probe, a scrape, and as many clients that are slow.
constexpr const char* kThreads = "4";
// Connections that wait for a thread.
constexpr const char* kQueue = "32";
// For a whole request to arrive. kubelet gives a probe one second by default.
constexpr const char* kRequestTimeoutMs = "1000";
// Of request line and headers, bytes. Prometheus sends about 300.
constexpr const char* kMaxRequestBytes = "4096";
// Until the listener has ended, for as long as it takes without them.
constexpr std::chrono::milliseconds kKnockPeriod{20};
constexpr int kKnocks = 100;
// Smaller bodies fit a packet as they are.
constexpr size_t kLeastCompressedBytes = 1400;

const char* PhraseOf(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    default:
      return "Service Unavailable";
  }
}

void Write(mg_connection* connection, const HttpResponse& response, bool head) {
  const char* const accepted = mg_get_header(connection, "Accept-Encoding");
  std::string compressed;
  bool gzip = false;
  if (response.body.size() >= kLeastCompressedBytes && accepted != nullptr &&
      AcceptsGzip(accepted)) {
    if (auto smaller = Gzip(response.body); smaller.has_value()) {
      compressed = *std::move(smaller);
      gzip = true;
    }
  }
  const std::string& body = gzip ? compressed : response.body;
  const std::string text = absl::StrCat(
      "HTTP/1.1 ", response.status, " ", PhraseOf(response.status), "\r\n",
      response.status == 405 ? "Allow: GET, HEAD\r\n" : "", "Content-Type: ", response.content_type,
      "\r\n", gzip ? "Content-Encoding: gzip\r\n" : "", "Content-Length: ", body.size(),
      "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
      head ? "" : body);
  // A client that has gone takes nothing; there is nobody to be told.
  static_cast<void>(mg_write(connection, text.data(), text.size()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<HttpListener>> HttpListener::Start(const std::string& address,
                                                                  Handler handler) {
  // CivetWeb would read more into other characters: a list, or a port with TLS.
  if (const auto parsed = ParseHostPort(address, PortZero::kAllowed); !parsed.ok()) {
    return parsed.status();
  }
  static std::once_flag once;
  std::call_once(once, [] { mg_init_library(MG_FEATURES_DEFAULT); });
  const char* options[] = {"listening_ports",
                           address.c_str(),
                           "num_threads",
                           kThreads,
                           "connection_queue",
                           kQueue,
                           "request_timeout_ms",
                           kRequestTimeoutMs,
                           "max_request_size",
                           kMaxRequestBytes,
                           "enable_keep_alive",
                           "no",
                           "enable_directory_listing",
                           "no",
                           nullptr};
  mg_callbacks callbacks{};
  // Before anything that CivetWeb would do by itself.
  callbacks.begin_request = &HttpListener::Serve;
  // Its words about broken requests are not worth a line of the log.
  callbacks.log_message = [](const mg_connection*, const char*) { return 1; };
  std::string host = address.substr(0, address.rfind(':'));
  auto listener = absl::WrapUnique(new HttpListener(std::move(host), std::move(handler)));
  listener->context_ = mg_start(&callbacks, listener.get(), options);
  if (listener->context_ == nullptr) {
    return absl::AlreadyExistsError(
        absl::StrCat(address, ": the address is taken or not this machine's"));
  }
  return listener;
}

HttpListener::~HttpListener() {
  if (context_ == nullptr) return;
  // CivetWeb looks for its end when a connection comes, or every two seconds.
  const int own_port = port();
  std::atomic<bool> stopped{false};
  std::thread knock([this, own_port, &stopped] {
    for (int i = 0; i < kKnocks && !stopped; ++i) {
      std::this_thread::sleep_for(kKnockPeriod);
      char error[128];
      mg_close_connection(
          mg_connect_client(host_.c_str(), own_port, /*use_ssl=*/0, error, sizeof(error)));
    }
  });
  mg_stop(context_);
  stopped = true;
  knock.join();
}

int HttpListener::port() const {
  mg_server_port port{};
  return mg_get_server_ports(context_, 1, &port) == 1 ? port.port : 0;
}

int HttpListener::Serve(mg_connection* connection) {
  const mg_request_info& info = *mg_get_request_info(connection);
  static_cast<const HttpListener*>(info.user_data)->Answer(connection);
  return 1;  // answered
}

void HttpListener::Answer(mg_connection* connection) const {
  const mg_request_info& info = *mg_get_request_info(connection);
  const absl::string_view method = info.request_method == nullptr ? "" : info.request_method;
  const bool head = method == "HEAD";
  if (method != "GET" && !head) {
    Write(connection, {405, "only GET and HEAD are served here\n"}, head);
    return;
  }
  Write(connection, handler_(info.local_uri == nullptr ? "" : info.local_uri), head);
}

}  // namespace voxloc::server
