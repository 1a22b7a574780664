// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/fleet/fleet_page_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <optional>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "clients/cli/output/output.h"
#include "clients/cli/report/report.h"
#include "core/checksum/sha256.h"
#include "core/status/try.h"
#include "core/text/host_port.h"

namespace voxloc::cli {
namespace {

std::string LineOf(const Json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

// The host of a Host header: its port is optional.
std::string HostOf(const std::string& header) {
  const auto with_port = ParseHostPort(header, PortZero::kAllowed);
  if (with_port.ok()) return with_port->host;
  absl::string_view host = header;
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  return std::string(host);
}

// As the policy names the text between the marks.
std::string DigestOf(absl::string_view page, absl::string_view begin, absl::string_view end) {
  const size_t from = page.find(begin) + begin.size();
  const Sha256Digest digest = Sha256Of(page.substr(from, page.find(end, from) - from));
  return absl::StrCat("'sha256-", absl::Base64Escape(ToBytes(digest)), "'");
}

HttpResponse FleetResponse(const HttpRequest& request, const std::string& page,
                           const std::string& headers, bool only_loopback) {
  HttpResponse response;
  response.headers = headers;
  if (only_loopback && !IsLoopbackHost(HostOf(request.host))) {
    response.status = 403;
    response.body = "this page is served to localhost\n";
  } else if (request.path == "/") {
    response.body = page;
    response.content_type = "text/html; charset=utf-8";
  } else if (request.path == "/events") {
    response.content_type = "text/event-stream";
    response.streams_events = true;
  } else {
    response.status = 404;
    response.body = "there are / and /events\n";
  }
  return response;
}

}  // namespace

bool IsLoopbackHost(absl::string_view host) {
  const std::string text(host);
  in_addr four{};
  if (inet_pton(AF_INET, text.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  in6_addr six{};
  if (inet_pton(AF_INET6, text.c_str(), &six) == 1) return IN6_IS_ADDR_LOOPBACK(&six) != 0;
  return absl::EqualsIgnoreCase(host, "localhost");
}

std::string ContentSecurityPolicy(absl::string_view page) {
  return absl::StrCat("default-src 'none'; style-src ", DigestOf(page, "<style>", "</style>"),
                      "; script-src ", DigestOf(page, "<script>", "</script>"),
                      "; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
                      "frame-ancestors 'none'");
}

absl::StatusOr<std::unique_ptr<FleetPageServer>> FleetPageServer::Start(const std::string& address,
                                                                        double interval_s) {
  VOXLOC_ASSIGN_OR_RETURN(const HostPort parsed, ParseHostPort(address, PortZero::kAllowed));
  auto server = absl::WrapUnique(new FleetPageServer());
  server->loopback_ = IsLoopbackHost(parsed.host);
  // With an empty icon, which browsers otherwise ask the server for.
  const std::string page =
      absl::StrReplaceAll(FleetHtml({{"interval_s", interval_s}}),
                          {{"<title>", "<link rel=\"icon\" href=\"data:,\">\n<title>"}});
  const std::string headers = absl::StrCat(
      "Content-Security-Policy: ", ContentSecurityPolicy(page),
      "\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n"
      "X-Frame-Options: DENY\r\n");
  HttpPages pages;
  pages.quick = [page, headers, loopback = server->loopback_](const HttpRequest& request) {
    return std::optional<HttpResponse>(FleetResponse(request, page, headers, loopback));
  };
  VOXLOC_ASSIGN_OR_RETURN(server->listener_, HttpListener::Start(address, std::move(pages)));
  const bool six = absl::StrContains(parsed.host, ':');
  server->url_ = absl::StrCat("http://", six ? "[" : "", parsed.host, six ? "]" : "", ":",
                              server->listener_->port(), "/");
  return server;
}

void FleetPageServer::Publish(const FleetState& fleet) {
  std::string tiles = LineOf(FleetTilesJson(fleet));
  if (tiles != tiles_) {
    listener_->Publish("tiles", tiles);
    tiles_ = std::move(tiles);
  }
  listener_->Publish("fleet", LineOf(FleetJson(fleet)));
}

}  // namespace voxloc::cli
