// SPDX-License-Identifier: Apache-2.0
//
// Why a connection could not be made, where TLS is the reason: gRPC's own words for it are those of
// its TLS library, or "Socket closed". A connection of its own is made to the server, and nothing
// is sent on it but a handshake. Included by this library's sources only. Thread-safe.

#ifndef VOXLOC_CLIENTS_CPP_TLS_PROBE_H_
#define VOXLOC_CLIENTS_CPP_TLS_PROBE_H_

#include <chrono>
#include <mutex>
#include <string>

#include "clients/cpp/channel.h"

namespace voxloc::client {

class TlsProbe {
 public:
  // `address` is one of those of `options`, whose files have been read.
  TlsProbe(std::string address, const ChannelOptions& options);

  // A full clause; empty: TLS is not the reason, or the server cannot be reached at all. Takes at
  // most a few seconds, and looks every few seconds only: between, it says what it found.
  [[nodiscard]] std::string Explain();

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] std::string Look() const;

  const std::string address_;
  const bool tls_;
  const std::string ca_file_;
  const std::string certificate_file_;
  const std::string key_file_;
  const std::string server_name_;
  std::mutex mutex_;
  bool looked_ = false;
  Clock::time_point looked_at_;
  std::string found_;
};

}  // namespace voxloc::client

#endif  // VOXLOC_CLIENTS_CPP_TLS_PROBE_H_
