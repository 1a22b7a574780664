// SPDX-License-Identifier: Apache-2.0

#include "clients/cpp/channel.h"

#include <arpa/inet.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <netinet/in.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/cord.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "clients/cpp/channel_impl.h"
#include "clients/cpp/error_details.h"
#include "core/status/try.h"
#include "google/rpc/status.pb.h"

namespace voxloc::client {
namespace {

constexpr size_t kTraceLength = 55;  // of a trace context of version 00
// Limit for later versions, which may append fields. gRPC's limit for all metadata is 8 kB.
constexpr size_t kMaxTraceLength = 512;

bool IsHex(absl::string_view digits) {
  return digits.find_first_not_of("0123456789abcdef") == absl::string_view::npos;
}

bool IsTraceId(absl::string_view digits) {
  return IsHex(digits) && digits.find_first_not_of('0') != absl::string_view::npos;
}

bool IsUnixSocket(absl::string_view address) {
  return absl::StartsWith(address, "unix:") || absl::StartsWith(address, "unix-abstract:");
}

// Of gRPC's names of targets: "dns:HOST:PORT", "dns://AUTHORITY/HOST:PORT", "ipv4:HOST:PORT", ...
absl::string_view WithoutScheme(absl::string_view address) {
  for (const absl::string_view scheme : {"dns:", "ipv4:", "ipv6:"}) {
    if (!absl::ConsumePrefix(&address, scheme)) continue;
    if (absl::ConsumePrefix(&address, "//")) {
      const size_t slash = address.find('/');
      address.remove_prefix(slash == absl::string_view::npos ? address.size() : slash + 1);
    }
    break;
  }
  return address;
}

// The addresses of ChannelOptions::server, at least one. InvalidArgument: an entry is empty, has no
// host, or no port from 1 to 65535.
absl::StatusOr<std::vector<std::string>> SplitAddresses(absl::string_view server) {
  std::vector<std::string> addresses;
  for (absl::string_view part : absl::StrSplit(server, ',')) {
    part = absl::StripAsciiWhitespace(part);
    if (!IsUnixSocket(part)) {
      const auto parsed = ParseHostPort(WithoutScheme(part), PortZero::kRefused);
      if (!parsed.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat("the server address ", parsed.status().message(),
                         part == server ? "" : absl::StrCat(" in '", server, "'")));
      }
    }
    addresses.emplace_back(part);
  }
  return addresses;
}

// Whether what is sent there cannot leave this machine: localhost, 127.0.0.0/8, ::1, a Unix socket.
bool IsLocal(absl::string_view address) {
  if (IsUnixSocket(address)) return true;
  const auto parsed = HostPortOf(address);
  if (!parsed.ok()) return false;
  const std::string host = absl::AsciiStrToLower(parsed->host);
  if (host == "localhost" || host == "localhost.") return true;
  in_addr v4 = {};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6 = {};
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

// The longest pause between two attempts to connect, and what one may take.
constexpr int kConnect_ms = 2000;
constexpr size_t kShownBytes = 80;  // of a wrong trace context; one of version 00 has 55

absl::Status Validate(const ChannelOptions& options) {
  if (options.max_receive_bytes <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_receive_bytes must be over 0 (got ", options.max_receive_bytes, ")"));
  }
  for (const double seconds : {options.keepalive_time_s, options.keepalive_timeout_s}) {
    if (!(seconds > 0.0 && seconds <= 86400.0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("a keepalive time must be over 0 and at most 86400 s (got ", seconds, ")"));
    }
  }
  if (!options.traceparent.empty() && options.current_traceparent != nullptr) {
    return absl::InvalidArgumentError(
        "traceparent and current_traceparent must not both be set (got both)");
  }
  if (!options.traceparent.empty() && !IsTraceparent(options.traceparent)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "traceparent must be a W3C trace context, 00-<32 hexadecimal digits>-<16>-<2> (got '",
        absl::CEscape(options.traceparent.substr(0, kShownBytes)), "')"));
  }
  return absl::OkStatus();
}

// A token without TLS may be sent to this machine only.
absl::Status CheckInsecureToken(const ChannelOptions& options,
                                const std::vector<std::string>& addresses) {
  if (options.tls || options.allow_insecure_token) return absl::OkStatus();
  for (const std::string& address : addresses) {
    if (IsLocal(address)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("a token must be sent over TLS, or to this machine only, since anyone on the "
                     "way could read and use it (got ",
                     address, " without tls; allow_insecure_token permits it)"));
  }
  return absl::OkStatus();
}

int Milliseconds(double seconds) { return static_cast<int>(std::lround(seconds * 1e3)); }

grpc::ChannelArguments ArgumentsOf(const ChannelOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(options.max_receive_bytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(options.keepalive_time_s));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(options.keepalive_timeout_s));
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // A session reopens by its own schedule: the channel must not wait longer between attempts.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // How long an attempt to connect may take: as long as the longest pause between two. Two round
  // trips of a slow link and a loaded machine need more than the first pause.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnect_ms);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kConnect_ms);
  // Channels of equal arguments would otherwise share one connection and its state.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (!options.tls_server_name.empty()) {
    arguments.SetSslTargetNameOverride(options.tls_server_name);
  }
  return arguments;
}

// Whether the connection is there before the deadline.
bool AwaitConnected(grpc::Channel& channel, std::chrono::system_clock::time_point deadline) {
  grpc_connectivity_state state = channel.GetState(/*try_to_connect=*/true);
  while (state == GRPC_CHANNEL_IDLE || state == GRPC_CHANNEL_CONNECTING) {
    if (!channel.WaitForStateChange(state, deadline)) return false;
    state = channel.GetState(/*try_to_connect=*/true);
  }
  return state == GRPC_CHANNEL_READY;
}

}  // namespace

bool IsTraceparent(absl::string_view text) {
  if (text.size() < kTraceLength || text.size() > kMaxTraceLength) return false;
  const absl::string_view version = text.substr(0, 2);
  if (!IsHex(version) || version == "ff") return false;
  const absl::string_view more = text.substr(kTraceLength);
  if (!more.empty() && (version == "00" || more.front() != '-')) return false;
  return text[2] == '-' && IsTraceId(text.substr(3, 32)) && text[35] == '-' &&
         IsTraceId(text.substr(36, 16)) && text[52] == '-' && IsHex(text.substr(53, 2)) &&
         std::all_of(more.begin(), more.end(), absl::ascii_isgraph);
}

std::string TraceparentOfEnvironment() {
  const char* const value = std::getenv("TRACEPARENT");
  return value != nullptr && IsTraceparent(value) ? value : "";
}

absl::StatusOr<HostPort> HostPortOf(absl::string_view address) {
  if (IsUnixSocket(address)) {
    return absl::InvalidArgumentError(
        absl::StrCat("a Unix socket has no port (got '", address, "')"));
  }
  return ParseHostPort(WithoutScheme(address), PortZero::kRefused);
}

absl::Status ToAbslStatus(const grpc::Status& status, absl::string_view server,
                          absl::string_view call) {
  if (status.ok()) return absl::OkStatus();
  const int number = static_cast<int>(status.error_code());
  const bool known = number >= 1 && number <= 16;
  const auto code = known ? static_cast<absl::StatusCode>(number) : absl::StatusCode::kUnknown;
  const std::string said = status.error_message();
  absl::Status result(
      code, absl::StrCat(server, " ", call, ": ", said.empty() ? "no reason given" : said));
  google::rpc::Status details;
  if (details.ParseFromString(status.error_details())) {
    for (const google::protobuf::Any& detail : details.details()) {
      result.SetPayload(detail.type_url(), absl::Cord(detail.value()));
    }
  }
  return result;
}

absl::StatusOr<Channel> Channel::Create(const ChannelOptions& options) {
  VOXLOC_TRY(Validate(options));
  VOXLOC_ASSIGN_OR_RETURN(const std::vector<std::string> addresses, SplitAddresses(options.server));
  VOXLOC_ASSIGN_OR_RETURN(BearerToken token,
                          BearerToken::Create(options.token, options.token_file));
  if (!token.empty()) {
    VOXLOC_TRY(CheckInsecureToken(options, addresses));
  }
  VOXLOC_ASSIGN_OR_RETURN(const std::shared_ptr<grpc::ChannelCredentials> credentials,
                          MakeCredentials(options));
  const grpc::ChannelArguments arguments = ArgumentsOf(options);
  auto impl = std::make_shared<Impl>();
  impl->token = std::move(token);
  impl->traceparent = options.current_traceparent;
  if (!options.traceparent.empty()) {
    impl->traceparent = [traceparent = options.traceparent] { return traceparent; };
  }
  for (const std::string& address : addresses) {
    impl->endpoints.push_back({address, grpc::CreateCustomChannel(address, credentials, arguments),
                               std::make_shared<TlsProbe>(address, options)});
  }
  return Channel(std::move(impl));
}

absl::Status Channel::CheckServer(absl::string_view server) {
  return SplitAddresses(server).status();
}

const std::string& Channel::server() const { return impl_->endpoint().address; }

absl::StatusOr<int64_t> Channel::CertificateExpiry() const {
  return impl_->endpoint().probe->Expiry();
}

void Channel::Impl::FailOver(const Endpoint& left) const {
  auto index = static_cast<size_t>(&left - endpoints.data());
  const size_t next = (index + 1) % endpoints.size();
  first.compare_exchange_strong(index, next);
}

absl::Status Channel::Impl::StatusOf(const Endpoint& called, absl::string_view call,
                                     const grpc::Status& end) const {
  if (end.error_code() != grpc::StatusCode::UNAVAILABLE) {
    called.answered->store(true);
    return ToAbslStatus(end, called.address, call);
  }
  FailOver(called);
  // What a server says itself has details. A connection that was there and is lost leaves the
  // channel idle; one that could not be made leaves it in failure.
  if (end.error_details().empty() && !called.answered->load() &&
      called.channel->GetState(/*try_to_connect=*/false) == GRPC_CHANNEL_TRANSIENT_FAILURE) {
    if (const std::string why = called.probe->Explain(); !why.empty()) {
      return ToAbslStatus(
          {end.error_code(), absl::StrCat(why, "; gRPC says: ", end.error_message())},
          called.address, call);
    }
  }
  return ToAbslStatus(end, called.address, call);
}

absl::Status Channel::Impl::StatusOfStream(const Endpoint& called, absl::string_view call,
                                           const grpc::Status& end, bool cancelled) const {
  absl::Status status = StatusOf(called, call, end);
  if (cancelled || !absl::IsCancelled(status) || !ReasonOf(status).empty()) return status;
  FailOver(called);
  return absl::UnavailableError(
      absl::StrCat(called.address, " ", call, ": the server or a proxy cancelled the stream"));
}

const Endpoint& Channel::Impl::AwaitReachable(
    std::chrono::system_clock::time_point deadline) const {
  const size_t begin = first;
  for (size_t i = 0; endpoints.size() > 1 && i < endpoints.size(); ++i) {
    const Endpoint& candidate = endpoints[(begin + i) % endpoints.size()];
    const auto until = std::chrono::system_clock::now() + std::chrono::milliseconds(kConnect_ms);
    if (AwaitConnected(*candidate.channel, std::min(deadline, until))) return candidate;
    FailOver(candidate);
  }
  return endpoints[begin];
}

std::unique_ptr<grpc::ClientContext> Channel::Impl::NewContext() const {
  auto context = std::make_unique<grpc::ClientContext>();
  const std::string value = token.Value();
  if (!value.empty()) context->AddMetadata("authorization", absl::StrCat("Bearer ", value));
  const std::string trace = traceparent == nullptr ? "" : traceparent();
  if (IsTraceparent(trace)) context->AddMetadata("traceparent", trace);
  return context;
}

void NameMap(absl::string_view map, grpc::ClientContext* context) {
  if (map.empty() || !std::all_of(map.begin(), map.end(), absl::ascii_isgraph)) return;
  context->AddMetadata("x-voxloc-map", std::string(map));
}

bool AddressRound::Next(absl::Status refusal) {
  refusals_.push_back(std::move(refusal));
  return refusals_.size() < impl_->endpoints.size();
}

absl::Status AddressRound::Refusal() const {
  if (refusals_.empty()) return absl::OkStatus();
  const absl::Status* telling = &refusals_.back();
  for (const absl::Status& refusal : refusals_) {
    if (refusal.code() != absl::StatusCode::kUnavailable) telling = &refusal;
  }
  std::string message(telling->message());
  for (const absl::Status& refusal : refusals_) {
    if (&refusal != telling) absl::StrAppend(&message, "; ", refusal.message());
  }
  absl::Status result(telling->code(), message);
  telling->ForEachPayload([&result](absl::string_view url, const absl::Cord& payload) {
    result.SetPayload(url, payload);
  });
  return result;
}

double AddressRound::RetryAfter_s() const {
  double least_s = refusals_.empty() ? 0.0 : RetryAfterS(refusals_.front()).value_or(0.0);
  for (const absl::Status& refusal : refusals_) {
    least_s = std::min(least_s, RetryAfterS(refusal).value_or(0.0));
  }
  return least_s;
}

}  // namespace voxloc::client
