// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/replay/capture_replay.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/output/message_text.h"
#include "clients/cpp/admin_client.h"
#include "clients/cpp/align.h"
#include "clients/cpp/messages.h"
#include "core/geometry/euler.h"
#include "core/status/try.h"

namespace voxloc::cli {
namespace {

std::array<double, 7> NumbersOf(const v1::Pose& pose) {
  const v1::Vector3& p = pose.position();
  const v1::Quaternion& q = pose.orientation();
  return {p.x(), p.y(), p.z(), q.x(), q.y(), q.z(), q.w()};
}

void ComparePoses(const v1::AlignmentResult& captured, const v1::AlignmentResult& answer,
                  CaptureComparison* comparison) {
  comparison->has_pose = captured.has_map_t_base() && answer.has_map_t_base();
  if (!comparison->has_pose) {
    comparison->same_pose = captured.has_map_t_base() == answer.has_map_t_base();
    return;
  }
  const v1::Pose& before = captured.map_t_base().pose();
  const v1::Pose& after = answer.map_t_base().pose();
  const std::array<double, 7> left = NumbersOf(before);
  const std::array<double, 7> right = NumbersOf(after);
  comparison->same_pose = std::memcmp(left.data(), right.data(), sizeof(left)) == 0;
  const absl::StatusOr<Pose> a = client::DecodePose(before);
  const absl::StatusOr<Pose> b = client::DecodePose(after);
  if (!a.ok() || !b.ok()) return;
  comparison->translation_m = TranslationDistance(*a, *b);
  comparison->rotation_deg = RotationDistance(*a, *b) * kDegreesPerRadian;
}

std::vector<std::string> WarningsOf(const v1::Capture& capture, const v1::AlignmentResult& answer,
                                    const ReplayServer& server) {
  std::vector<std::string> warnings;
  const v1::AlignmentResult& captured = capture.result();
  if (server.version != capture.server_version() || server.git_revision != capture.git_revision()) {
    warnings.push_back(absl::StrCat("the server is ", server.version, " (", server.git_revision,
                                    "), captured by ", capture.server_version(), " (",
                                    capture.git_revision(), ")"));
  }
  if (!answer.engine().empty() && !captured.engine().empty() &&
      answer.engine() != captured.engine()) {
    warnings.push_back(
        absl::StrCat("the engine is ", answer.engine(), ", captured on ", captured.engine()));
  }
  if (answer.map_revision() != captured.map_revision()) {
    warnings.push_back(absl::StrCat(
        "the map has revision ", answer.map_revision(), ", captured on revision ",
        captured.map_revision(),
        "; an alignment uses the active one: `voxloc map rollback` returns to one that is kept"));
  }
  if (captured.tiles_missing() > 0 || answer.tiles_missing() > 0) {
    warnings.push_back(absl::StrCat(
        "tiles of the map near the guess were not in memory: ", captured.tiles_missing(),
        " when captured, ", answer.tiles_missing(), " now"));
  }
  if (captured.points().joined_scans() > 1) {
    warnings.push_back(absl::StrCat("the session had joined ", captured.points().joined_scans(),
                                    " scans; the pose is of all, but the confidence, and a status "
                                    "that follows from it, may differ"));
  }
  if (captured.status() == v1::ALIGNMENT_STATUS_DEADLINE) {
    warnings.push_back("the captured alignment was stopped by its deadline; this one has none");
  }
  return warnings;
}

// What an error of AlignScan would be in a session.
v1::AlignmentStatus StatusOfError(const absl::Status& error, v1::AlignmentStatus captured) {
  const bool malformed =
      captured == v1::ALIGNMENT_STATUS_INVALID_INPUT || captured == v1::ALIGNMENT_STATUS_NO_PRIOR;
  if (malformed && absl::IsInvalidArgument(error)) return captured;
  if (captured == v1::ALIGNMENT_STATUS_NO_MAP && absl::IsNotFound(error)) return captured;
  return v1::ALIGNMENT_STATUS_UNSPECIFIED;
}

// Reads a capture, aligns it, and prints how the answer compares with the captured one.
absl::StatusOr<Json> ReplayCapture(const ServerFlags& flags, const std::string& map,
                                   const client::Channel& channel, const ReplayServer& server,
                                   const std::string& path) {
  VOXLOC_ASSIGN_OR_RETURN(v1::Capture capture, ReadCapture(path));
  v1::AlignScanRequest& request = *capture.mutable_request();
  if (!map.empty()) request.mutable_setup()->set_map(map);
  VOXLOC_ASSIGN_OR_RETURN(
      const CaptureComparison comparison,
      CompareWithCapture(capture, client::AlignScan(channel, request, flags.timeout_s), server));
  if (flags.prints_text()) {
    std::fputs(ComparisonText(capture, comparison).c_str(), stdout);
  }
  Json json = ComparisonJson(capture, comparison);
  json["file"] = path;
  return json;
}

}  // namespace

absl::StatusOr<v1::Capture> ReadCapture(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return absl::NotFoundError(absl::StrCat(path, " cannot be read: ", std::strerror(errno)));
  }
  v1::Capture capture;
  if (!capture.ParseFromIstream(&file) || capture.info().id().empty() || !capture.has_request() ||
      !capture.has_result()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " must be a capture, as `voxloc admin captures get` writes it"));
  }
  return capture;
}

absl::StatusOr<CaptureComparison> CompareWithCapture(
    const v1::Capture& capture, const absl::StatusOr<v1::AlignmentResult>& answer,
    const ReplayServer& server) {
  CaptureComparison comparison;
  const v1::AlignmentStatus captured = capture.result().status();
  if (!answer.ok()) {
    const v1::AlignmentStatus status = StatusOfError(answer.status(), captured);
    if (status == v1::ALIGNMENT_STATUS_UNSPECIFIED) return answer.status();
    comparison.status = client::StatusName(status);
    comparison.same_status = true;
    comparison.same_pose = !capture.result().has_map_t_base();
    return comparison;
  }
  ComparePoses(capture.result(), *answer, &comparison);
  comparison.status = client::StatusName(answer->status());
  comparison.same_status =
      answer->status() == captured || capture.result().points().joined_scans() > 1;
  comparison.warnings = WarningsOf(capture, *answer, server);
  return comparison;
}

std::string ComparisonText(const v1::Capture& capture, const CaptureComparison& comparison) {
  const v1::CaptureInfo& info = capture.info();
  std::string text = absl::StrCat("capture ", info.id(), ": map ", info.map(), " revision ",
                                  info.map_revision(), info.vehicle().empty() ? "" : ", vehicle ",
                                  info.vehicle(), ", ", TimeText(info.captured_at_ns()), "\n");
  const std::string captured = client::StatusName(capture.result().status());
  absl::StrAppend(&text, "  status: ", comparison.status,
                  comparison.status == captured ? ", as captured" : ", captured as ",
                  comparison.status == captured ? "" : captured, "\n");
  if (!comparison.has_pose) {
    absl::StrAppend(&text, comparison.same_pose ? "  pose: none, as captured\n"
                                                : "  pose: only one of both answers has one\n");
  } else if (comparison.same_pose) {
    absl::StrAppend(&text, "  pose: the same to the last bit\n");
  } else {
    absl::StrAppendFormat(&text, "  pose: differs by %.3g m and %.3g degrees\n",
                          comparison.translation_m, comparison.rotation_deg);
  }
  for (const std::string& warning : comparison.warnings) {
    absl::StrAppend(&text, "  warning: ", warning, "\n");
  }
  return text;
}

Json ComparisonJson(const v1::Capture& capture, const CaptureComparison& comparison) {
  const bool has_pose = comparison.has_pose;
  return {{"info", MessageJson(capture.info())},
          {"same", comparison.same()},
          {"same_pose", comparison.same_pose},
          {"translation_m", has_pose ? Json(comparison.translation_m) : Json()},
          {"rotation_deg", has_pose ? Json(comparison.rotation_deg) : Json()},
          {"captured_status", client::StatusName(capture.result().status())},
          {"status", comparison.status},
          {"warnings", comparison.warnings}};
}

absl::StatusOr<ExitCode> ReplayCaptures(const std::vector<std::string>& paths,
                                        const std::string& map, const ServerFlags& flags) {
  VOXLOC_ASSIGN_OR_RETURN(const client::Channel channel, Connect(flags));
  VOXLOC_ASSIGN_OR_RETURN(const v1::GetServerInfoResponse info,
                          client::GetServerInfo(channel, flags.timeout_s));
  Json list = Json::array();
  absl::Status failure;
  bool same = true;
  for (const std::string& path : paths) {
    absl::StatusOr<Json> replayed =
        ReplayCapture(flags, map, channel, {info.version(), info.git_revision()}, path);
    if (replayed.ok()) {
      same = same && (*replayed)["same"].get<bool>();
      list.push_back(*std::move(replayed));
    } else {
      absl::FPrintF(stderr, "error: %s: %s\n", path, replayed.status().message());
      failure.Update(replayed.status());
    }
  }
  const Json json = {{"same", same && failure.ok()}, {"captures", std::move(list)}};
  VOXLOC_TRY(WriteJson(flags.json, json));
  if (!failure.ok()) return ExitCodeFor(failure);
  return same ? ExitCode::kOk : ExitCode::kNotAccepted;
}

}  // namespace voxloc::cli
