// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/flags/server_flags.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "clients/cli/flags/option.h"
#include "clients/cli/flags/value_flag.h"
#include "clients/cli/output/map_text.h"
#include "clients/cli/output/output_file.h"
#include "clients/cpp/traceparent.h"
#include "clients/dataset/map_source.h"
#include "clients/dataset/map_yaml.h"
#include "core/geometry/angles.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

constexpr char kServerVariable[] = "VOXLOC_SERVER";
constexpr char kTokenVariable[] = "VOXLOC_TOKEN";
constexpr char kSecurityGroup[] = "TLS and token";

void AddSecurityFlags(CLI::App* command, ServerFlags* flags) {
  const auto option = [command](const std::string& name, std::string* value,
                                const std::string& type, const std::string& help) {
    return AddOption(command, name, *value, type, help)->group(kSecurityGroup);
  };
  command
      ->add_flag("--tls", flags->tls,
                 "Encrypt the connection, and verify the server by the system's authorities")
      ->group(kSecurityGroup);
  option("--tls-ca", &flags->tls_ca_file, "FILE",
         "Verify the server by the authorities in FILE, PEM; implies --tls");
  CLI::Option* certificate =
      option("--tls-cert", &flags->tls_certificate_file, "FILE",
             "Present the certificate in FILE, PEM, to the server; implies --tls");
  CLI::Option* key = option("--tls-key", &flags->tls_key_file, "FILE",
                            "Read the key of --tls-cert from FILE, PEM without a passphrase");
  certificate->needs(key);
  key->needs(certificate);
  option("--tls-server-name", &flags->tls_server_name, "NAME",
         "Expect this name in the server's certificate in place of the host of --server; implies "
         "--tls");
  option("--token-file", &flags->token_file, "FILE",
         "Send the token in FILE with every call; without it, the environment variable "
         "VOXLOC_TOKEN is the token, if it is set");
  command
      ->add_flag("--allow-insecure-token", flags->allow_insecure_token,
                 "Send the token without TLS also to other machines, where anyone on the way can "
                 "read it")
      ->group(kSecurityGroup);
}

}  // namespace

void AddServerFlags(CLI::App* command, ServerFlags* flags) {
  AddDefaulted(command, "--server", flags->server, "ADDR",
               "Connect to this server, HOST:PORT or unix:PATH, or to the first of several, "
               "separated by commas, that can be reached")
      ->envname(kServerVariable)
      ->each([flags](const std::string& address) {
        const char* variable = std::getenv(kServerVariable);
        flags->server_of_environment = variable != nullptr && address == variable;
      });
  AddDefaulted(command, "--timeout", flags->timeout_s, "S",
               "Wait at most S seconds for each answer of the server; 0: no limit")
      ->check(CLI::Range(0.0, 86400.0));
  AddOutputFile(command, "--json", &flags->json,
                "Write the result as JSON to FILE; -: standard output");
  AddSecurityFlags(command, flags);
}

client::ChannelOptions ChannelOptionsOf(const ServerFlags& flags) {
  client::ChannelOptions options;
  options.server = flags.server;
  options.tls_ca_file = flags.tls_ca_file;
  options.tls_certificate_file = flags.tls_certificate_file;
  options.tls_key_file = flags.tls_key_file;
  options.tls_server_name = flags.tls_server_name;
  options.tls = flags.tls || !flags.tls_ca_file.empty() || !flags.tls_certificate_file.empty() ||
                !flags.tls_key_file.empty() || !flags.tls_server_name.empty();
  options.token_file = flags.token_file;
  options.allow_insecure_token = flags.allow_insecure_token;
  options.traceparent = client::TraceparentOfEnvironment();
  const char* token = std::getenv(kTokenVariable);
  if (flags.token_file.empty() && token != nullptr) options.token = token;
  return options;
}

absl::Status CheckServer(const ServerFlags& flags) {
  const absl::Status status = client::Channel::CheckServer(flags.server);
  if (status.ok() || !flags.server_of_environment) return status;
  return absl::Status(status.code(), absl::StrCat(kServerVariable, ": ", status.message()));
}

absl::StatusOr<client::Channel> Connect(const ServerFlags& flags) {
  VOXLOC_TRY(CheckServer(flags));
  return client::Channel::Create(ChannelOptionsOf(flags));
}

namespace {

constexpr char kOriginNames[] = "LAT,LON[,ALT[,YAW]]";

absl::StatusOr<v1::Wgs84Origin> ParseOrigin(const std::string& text) {
  VOXLOC_ASSIGN_OR_RETURN(std::vector<double> numbers, ParseNumbers(text, kOriginNames, 2, 4));
  numbers.resize(4, 0.0);
  v1::Wgs84Origin origin;
  origin.mutable_point()->set_latitude_deg(numbers[0]);
  origin.mutable_point()->set_longitude_deg(numbers[1]);
  origin.mutable_point()->set_altitude_m(numbers[2]);
  origin.set_x_axis_yaw_rad(numbers[3] / kDegreesPerRadian);
  return origin;
}

// The projector that the directories among the paths have, and the file that says so.
absl::StatusOr<std::optional<v1::MapProjector>> ProjectorBeside(
    const std::vector<std::string>& paths) {
  std::optional<v1::MapProjector> projector;
  std::string first;
  for (const std::string& path : paths) {
    const std::optional<std::string> file = FindProjectorYaml(path);
    if (!file.has_value()) continue;
    VOXLOC_ASSIGN_OR_RETURN(v1::MapProjector read, ReadProjectorYaml(*file));
    if (!projector.has_value()) {
      projector = std::move(read);
      first = *file;
    } else if (read.SerializeAsString() != projector->SerializeAsString()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the directories of a map must have one projector (got ", first, ": ",
                       ProjectorText(*projector), "; ", *file, ": ", ProjectorText(read), ")"));
    }
  }
  if (projector.has_value()) {
    absl::FPrintF(stderr, "%s: the map's projector is %s\n", first, ProjectorText(*projector));
  }
  return projector;
}

}  // namespace

CLI::Option* AddMapFlag(CLI::App* command, std::string* map, const std::string& description) {
  return AddOption(command, "--map", *map, "NAME", description);
}

CLI::Option* AddRevisionFlag(CLI::App* command, uint64_t* revision,
                             const std::string& description) {
  return AddOption(command, "--revision", *revision, "N", description);
}

void AddMapFlags(CLI::App* command, MapFlags* flags) {
  AddMapFlag(command, &flags->map, "Use this map")->required();
  AddProfileFlag(command, &flags->profile);
}

void AddProfileFlag(CLI::App* command, std::string* profile) {
  AddOption(command, "--profile", *profile, "P",
            "Align with this profile: autoware, precise, or another that the server lists");
}

void CommitFlags::AddTo(v1::BeginUpdate* begin, v1::CommitUpdate* commit) const {
  begin->set_request_id(request_id);
  begin->set_base_revision(base_revision);
  commit->set_comment(comment);
  commit->set_stage(stages());
  for (const std::string& vehicle : NamesOf(canary)) commit->add_canary_vehicles(vehicle);
}

void AddCommitFlags(CLI::App* command, CommitFlags* flags) {
  AddDefaulted(command, "--comment", flags->comment, "TEXT", "Note this in the map's history");
  command->add_flag("--stage", flags->stage,
                    "Commit the revision without putting it in use; voxloc map activate does that");
  AddOption(command, "--canary", flags->canary, "V,...",
            "Stage the revision and let these vehicles try it, separated by commas");
  AddOption(command, "--request-id", flags->request_id, "ID",
            "Name the change, so that repeating the command after a failure does not commit it "
            "twice; at most 128 bytes");
  AddDefaulted(command, "--base-revision", flags->base_revision, "N",
               "Change the map only if it is at this revision; 0: any revision");
}

std::vector<std::string> NamesOf(const std::string& comma_separated) {
  return absl::StrSplit(comma_separated, ',', absl::SkipEmpty());
}

absl::StatusOr<std::optional<v1::MapFrame>> MapFrameFlags::FrameOf(
    const std::vector<std::string>& paths) const {
  v1::MapFrame frame;
  if (!projector.empty()) {
    VOXLOC_ASSIGN_OR_RETURN(*frame.mutable_projector(), ReadProjectorYaml(projector));
  } else {
    VOXLOC_ASSIGN_OR_RETURN(std::optional<v1::MapProjector> found, ProjectorBeside(paths));
    if (found.has_value()) *frame.mutable_projector() = *std::move(found);
  }
  if (!wgs84_origin.empty()) {
    VOXLOC_ASSIGN_OR_RETURN(*frame.mutable_origin(), ParseOrigin(wgs84_origin));
  }
  if (!frame.has_projector() && !frame.has_origin()) return std::nullopt;
  return frame;
}

void AddMapFrameFlags(CLI::App* command, MapFrameFlags* flags) {
  AddOption(command, "--projector", flags->projector, "FILE",
            "Read how x and y follow from latitude and longitude from this file, as Autoware "
            "writes it; default: map_projector_info.yaml in a PATH");
  AddNumbersFlag(command, "--wgs84-origin", kOriginNames, 2, 4,
                 "Put the map's origin at this latitude and longitude (degrees, WGS84) and "
                 "altitude (metres), its x axis YAW degrees from east, counterclockwise; "
                 "default: ALT 0, YAW 0",
                 &flags->wgs84_origin);
}

}  // namespace voxloc::cli
