// SPDX-License-Identifier: Apache-2.0
//
// FleetPageServer: serves the page of a fleet over HTTP, and keeps it up to date. For one thread.
//
//   GET /        the page, which needs nothing but this server
//   GET /events  server-sent events: `fleet`, what FleetJson gives, and before the first and after
//                each change `tiles`, what FleetTilesJson gives
//
// The page is for everybody who reaches the address, with what the command's identity may see.

#ifndef VOXLOC_CLIENTS_CLI_FLEET_FLEET_PAGE_SERVER_H_
#define VOXLOC_CLIENTS_CLI_FLEET_FLEET_PAGE_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/cli/fleet/fleet_state.h"
#include "core/http/http_listener.h"

namespace voxloc::cli {

class FleetPageServer {
 public:
  // `address` is HOST:PORT, port 0 for a free one. On a loopback address, only requests whose Host
  // is one are answered, so that no page of another site can read this one by a name that resolves
  // to this machine (DNS rebinding). The errors are those of HttpListener::Start.
  // `interval_s`: the page expects looks so often.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<FleetPageServer>> Start(
      const std::string& address, double interval_s);

  // Shows this look from now on.
  void Publish(const FleetState& fleet);

  // "http://127.0.0.1:8080/".
  [[nodiscard]] const std::string& url() const { return url_; }
  // Whether other machines cannot reach it.
  [[nodiscard]] bool loopback() const { return loopback_; }

 private:
  FleetPageServer() = default;

  std::string url_;
  bool loopback_ = false;
  std::string tiles_;  // as published last
  std::unique_ptr<HttpListener> listener_;
};

// Whether a host, without its port, is localhost or an address of 127.0.0.0/8 or ::1.
[[nodiscard]] bool IsLoopbackHost(absl::string_view host);

// The value of Content-Security-Policy for a page of this program: its own style and script, by
// their digests, and connections to its server.
[[nodiscard]] std::string ContentSecurityPolicy(absl::string_view page);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_FLEET_FLEET_PAGE_SERVER_H_
