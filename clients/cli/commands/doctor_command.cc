// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/commands/doctor_checks.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/flags/request_flags.h"
#include "clients/cli/flags/server_flags.h"
#include "clients/cli/output/message_text.h"
#include "clients/cli/output/output.h"
#include "clients/cpp/admin_client.h"
#include "clients/cpp/map_client.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

// A pose at 10 m/s is 1 m off by it.
constexpr double kMaxClockSkew_s = 0.1;
// Time to replace a certificate.
constexpr double kCertificateWarning_days = 14.0;

const char* WordOf(Finding finding) {
  return finding == Finding::kOk ? "ok" : finding == Finding::kWarning ? "warning" : "error";
}

struct DoctorFlags {
  ServerFlags server;
  std::string map;
};

Check AddressCheck(const ServerFlags& flags) {
  return {"address", Finding::kOk,
          flags.context.empty() ? flags.server
                                : absl::StrCat(flags.server, ", by context ", flags.context),
          ""};
}

std::string RemedyOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return "start voxlocd there, correct --server, or open the port in the firewall";
    case absl::StatusCode::kUnauthenticated:
      return "give a token that the server knows by --token-file, or a certificate by --tls-cert";
    case absl::StatusCode::kPermissionDenied:
      return "have the caller's roles extended in the server's access file";
    case absl::StatusCode::kUnimplemented:
      return "check that the address is that of voxlocd, and update the older of the two";
    default:
      return "see docs/errors.md";
  }
}

// Of major and minor: patches of a version work with each other.
std::string SeriesOf(const std::string& version) {
  const std::vector<std::string> parts = absl::StrSplit(version, absl::MaxSplits('.', 2));
  return parts.size() < 2 ? version : absl::StrCat(parts[0], ".", parts[1]);
}

Check VersionCheck(const v1::GetServerInfoResponse& info) {
  Check check{"version", Finding::kOk,
              absl::StrCat("client ", VOXLOC_VERSION, ", server ", info.version()), ""};
  if (SeriesOf(info.version()) != SeriesOf(VOXLOC_VERSION)) {
    check.finding = Finding::kWarning;
    check.remedy = "use client and server of one version";
  }
  return check;
}

Check ServerCheck(const v1::GetServerInfoResponse& info) {
  Check check{"server", Finding::kOk,
              absl::StrCat(EnumWordOr(info.state(), "unknown"), ", engine ", info.engine()), ""};
  if (info.state() != v1::SERVER_STATE_SERVING) {
    check.finding = Finding::kWarning;
    check.remedy = "wait until it is serving; see its log";
  } else if (!info.engine_note().empty()) {
    absl::StrAppend(&check.detail, ": ", info.engine_note());
    check.finding = Finding::kWarning;
    check.remedy = "see the server's log for why it took this engine";
  }
  return check;
}

Check CertificateCheck(const std::string& name, const absl::StatusOr<int64_t>& expiry_unix_s) {
  if (!expiry_unix_s.ok()) {
    return {name, Finding::kError, std::string(expiry_unix_s.status().message()),
            "correct the TLS flags"};
  }
  const double days =
      absl::ToDoubleSeconds(absl::FromUnixSeconds(*expiry_unix_s) - absl::Now()) / 86400.0;
  Check check{
      name, Finding::kOk,
      absl::StrFormat("valid until %s, %.1f days", TimeText(*expiry_unix_s * 1'000'000'000), days),
      ""};
  if (days < kCertificateWarning_days) {
    check.finding = days <= 0.0 ? Finding::kError : Finding::kWarning;
    check.remedy = "replace the certificate";
  }
  return check;
}

Check EncryptionCheck(const std::string& server) {
  const bool local = absl::StartsWith(server, "localhost:") || absl::StartsWith(server, "127.") ||
                     absl::StartsWith(server, "[::1]") || absl::StartsWith(server, "unix:");
  if (local) return {"TLS", Finding::kOk, "not used, on this machine", ""};
  return {"TLS", Finding::kWarning, "not used: others on the network can read and change scans",
          "set up TLS (docs/security.md) unless the network is encrypted otherwise"};
}

Check MapCheck(const std::vector<v1::MapInfo>& maps, const std::string& wanted) {
  std::string names;
  bool found = wanted.empty() && !maps.empty();
  for (const v1::MapInfo& map : maps) {
    absl::StrAppend(&names, names.empty() ? "" : ", ", map.name());
    found = found || map.name() == wanted;
  }
  if (found) return {"map", Finding::kOk, names, ""};
  const std::string have = maps.empty() ? "the server has no map" : absl::StrCat("maps: ", names);
  return {"map", wanted.empty() ? Finding::kWarning : Finding::kError,
          wanted.empty() ? have : absl::StrCat("there is no map ", wanted, "; ", have),
          absl::StrCat("load it: voxloc map load --map ", wanted.empty() ? "NAME" : wanted,
                       " PATH...")};
}

absl::StatusOr<ExitCode> ReportChecks(const DoctorFlags& flags, const std::vector<Check>& checks,
                                      ExitCode unhealthy) {
  TextTable table("check|finding|detail");
  std::string remedies;
  Json list = Json::array();
  bool failed = false;
  for (const Check& check : checks) {
    table.AddRow({check.name, WordOf(check.finding), check.detail});
    if (!check.remedy.empty()) {
      absl::StrAppend(&remedies, "\n", check.name, ": ", check.remedy, "\n");
    }
    list.push_back({{"check", check.name},
                    {"finding", WordOf(check.finding)},
                    {"detail", check.detail},
                    {"remedy", check.remedy}});
    failed = failed || check.finding == Finding::kError;
  }
  return Report(flags.server.json, absl::StrCat(table.Text(), remedies),
                {{"healthy", !failed}, {"checks", list}}, failed ? unhealthy : ExitCode::kOk);
}

absl::StatusOr<ExitCode> Diagnose(const DoctorFlags& flags) {
  std::vector<Check> checks = {AddressCheck(flags.server)};
  const absl::StatusOr<client::Channel> channel = Connect(flags.server);
  if (!channel.ok()) {
    checks.push_back({"connection", Finding::kError, std::string(channel.status().message()),
                      "correct the flags or the context"});
    return ReportChecks(flags, checks, ExitCode::kFailed);
  }
  const client::ChannelOptions options = ChannelOptionsOf(flags.server);
  if (!options.tls_certificate_file.empty()) {
    checks.push_back(CertificateCheck("own certificate",
                                      client::CertificateFileExpiry(options.tls_certificate_file)));
  }
  const int64_t before_ns = absl::ToUnixNanos(absl::Now());
  const absl::StatusOr<v1::GetServerInfoResponse> info =
      client::GetServerInfo(*channel, flags.server.timeout_s);
  const int64_t after_ns = absl::ToUnixNanos(absl::Now());
  if (options.tls) checks.push_back(CertificateCheck("TLS", channel->CertificateExpiry()));
  if (!info.ok()) {
    checks.push_back({"connection", Finding::kError, std::string(info.status().message()),
                      RemedyOf(info.status())});
    return ReportChecks(flags, checks, ExitCodeFor(info.status()));
  }
  checks.push_back({"connection", Finding::kOk,
                    absl::StrFormat("%s answers in %.1f ms", channel->server(),
                                    static_cast<double>(after_ns - before_ns) * 1e-6),
                    ""});
  if (!options.tls) checks.push_back(EncryptionCheck(channel->server()));
  checks.push_back(VersionCheck(*info));
  checks.push_back(ServerCheck(*info));
  checks.push_back(ClockCheck(info->now_ns(), before_ns, after_ns));
  const absl::StatusOr<std::vector<v1::MapInfo>> maps =
      client::MapClient(*channel).List(flags.server.timeout_s);
  checks.push_back(maps.ok() ? MapCheck(*maps, flags.map)
                             : Check{"map", Finding::kError, std::string(maps.status().message()),
                                     RemedyOf(maps.status())});
  return ReportChecks(flags, checks, ExitCode::kFailed);
}

}  // namespace

Check ClockCheck(int64_t server_ns, int64_t before_ns, int64_t after_ns) {
  const double round_trip_s = static_cast<double>(after_ns - before_ns) * 1e-9;
  const double skew_s = static_cast<double>(server_ns - before_ns) * 1e-9 - round_trip_s / 2.0;
  Check check{"clock", Finding::kOk,
              absl::StrFormat("the server's is %.3f s %s, to within %.3f s", std::abs(skew_s),
                              skew_s < 0.0 ? "behind" : "ahead", round_trip_s / 2.0),
              ""};
  if (std::abs(skew_s) > kMaxClockSkew_s + round_trip_s / 2.0) {
    check.finding = Finding::kWarning;
    check.remedy = "synchronise both clocks, by chrony or PTP: ages of scans are wrong by it";
  }
  return check;
}

void AddDoctorCommand(CLI::App* parent, Work* chosen) {
  const auto [command, flags] = AddCommand(
      parent, chosen, &Diagnose, "doctor", "Check the way to a server, and name what to do",
      R"(Checks the address, the connection, TLS and its certificates, the versions, the server's state
and engine, the clocks, and whether a map is there. The exit code is 0 without an error.

Examples:
  voxloc doctor
  voxloc doctor --server voxloc.example:50051 --tls-ca ca.pem --map town
  voxloc doctor --json - | jq '.checks[] | select(.finding != "ok")')");
  AddMapFlag(command, &flags->map, "Expect this map");
  AddServerFlags(command, &flags->server);
}

}  // namespace voxloc::cli
