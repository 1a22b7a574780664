// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/results/mcap_recording.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "clients/cli/results/ros_messages.h"
#include "clients/cpp/messages.h"
#include "clients/dataset/bag/mcap_writer.h"
#include "core/status/try.h"

namespace voxloc::cli {

// Where the bridge publishes to: a channel of the file for each topic, which its first message
// adds.
class RecordedOutput : public ros::Output {
 public:
  explicit RecordedOutput(std::unique_ptr<bag::McapWriter> file) : file_(std::move(file)) {}

  [[nodiscard]] bool HasSubscribers(ros::Topic /*topic*/) const override { return true; }

  void Publish(ros::Topic topic, const ros::PoseWithCovarianceStamped& message) override {
    Record(NameOf(topic), kPoseWithCovarianceType, message.header.stamp_ns, ToCdr(message));
  }
  void Publish(ros::Topic topic, ros::PointCloud2 message) override {
    Record(NameOf(topic), kPointCloudType, message.header.stamp_ns, ToCdr(message));
  }
  void Publish(ros::Topic topic, const ros::Float32Stamped& message) override {
    Record(NameOf(topic), kFloatType, message.stamp_ns, ToCdr(message));
  }
  void Publish(ros::Topic topic, const ros::Int32Stamped& message) override {
    Record(NameOf(topic), kIntType, message.stamp_ns, ToCdr(message));
  }
  void Publish(ros::Topic topic, const std::vector<ros::ArrowMarker>& message) override {
    if (message.empty()) return;
    Record(NameOf(topic), kMarkersType, message.front().header.stamp_ns, ToCdr(message));
  }
  // A recording is for looking at: it has the poses that a twist is between.
  void Publish(ros::Topic /*topic*/, const ros::TwistWithCovarianceStamped& /*message*/) override {}
  // Of these every value is in another topic too, or the replay asks for none.
  void Publish(ros::Topic /*topic*/, const ros::PoseStamped& /*message*/) override {}
  void Publish(ros::Topic /*topic*/, const ros::PoseArray& /*message*/) override {}

  void PublishDiagnostics(int64_t stamp_ns, const ros::DiagnosticStatus& status) override {
    Record("/diagnostics", kDiagnosticsType, stamp_ns, ToCdr(stamp_ns, status));
  }
  void Broadcast(const ros::TransformStamped& transform) override {
    Record("/tf", kTransformsType, transform.header.stamp_ns, ToCdr(transform));
  }

  void Record(const std::string& topic, const char* type, int64_t stamp_ns,
              const std::string& message) {
    const auto [channel, is_new] = channels_.try_emplace(topic);
    if (is_new) channel->second = file_->AddChannel(topic, type, DefinitionOf(type));
    file_->Write(channel->second, stamp_ns, message);
  }

  [[nodiscard]] absl::Status Close() { return file_->Close(); }

 private:
  static std::string NameOf(ros::Topic topic) {
    return absl::StrCat("/voxloc/", absl::StripPrefix(ros::InfoOf(topic).name, "ndt_"));
  }

  std::unique_ptr<bag::McapWriter> file_;
  std::map<std::string, uint16_t> channels_;
};

namespace {

constexpr char kNodeName[] = "voxloc";

ros::Parameters RecordingParameters() {
  ros::Parameters parameters;
  parameters.frame.ndt_base_frame = parameters.frame.base_frame;  // what /tf places in the map
  return parameters;
}

// The half edge of a square whose even distribution has the standard deviation 1.
constexpr double kHalfEdge = 1.7320508075688772;  // sqrt(3)

// Appends the two triangles of the cell's square.
void AppendSquare(const MapCell& cell, const ros::Color& color, TriangleMarker* marker) {
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> axes(cell.covariance_map);
  const auto half_edge = [&axes](int axis) -> Eigen::Vector3d {
    return kHalfEdge * std::sqrt(std::max(axes.eigenvalues()[axis], 0.0)) *
           axes.eigenvectors().col(axis);
  };
  const Eigen::Vector3d u = half_edge(1);  // eigenvalues ascend
  const Eigen::Vector3d v = half_edge(2);
  const Eigen::Vector3d& mean = cell.mean_map;
  for (const Eigen::Vector3d& corner :
       {Eigen::Vector3d(mean - u - v), Eigen::Vector3d(mean + u - v), Eigen::Vector3d(mean + u + v),
        Eigen::Vector3d(mean - u - v), Eigen::Vector3d(mean + u + v),
        Eigen::Vector3d(mean - u + v)}) {
    marker->corners.push_back(corner);
    marker->colors.push_back(color);
  }
}

ros::DiagnosticStatus VerdictOf(const ReplayRow& row) {
  ros::StatusReport report(kNodeName, "verdict");
  report.SetInt("topic_time_stamp", row.stamp_ns);
  report.SetText("status", row.status);
  report.SetBool("accepted", row.accepted);
  if (row.map_T_base.has_value()) {
    report.SetDouble("nvtl", row.result.scores().nvtl());
    report.SetDouble("transform_probability", row.result.scores().transform_probability());
    report.SetDouble("matched_ratio", row.result.scores().matched_ratio());
    if (row.result.has_confidence()) {
      report.SetDouble("confidence", row.result.confidence().value());
    }
    if (row.position_sigma_m.has_value()) {
      report.SetDouble("position_sigma_m", *row.position_sigma_m);
    }
    report.SetInt("iterations", row.result.iterations());
    report.SetText("termination", client::TerminationName(row.result.termination_reason()));
  }
  report.SetDouble("latency_ms", row.latency_ms);
  if (!row.accepted) report.Warn(absl::StrCat(row.status, ": ", row.result.detail()));
  return report.Status();
}

}  // namespace

absl::StatusOr<std::unique_ptr<McapRecording>> McapRecording::Create(const std::string& path) {
  VOXLOC_ASSIGN_OR_RETURN(auto file,
                          bag::McapWriter::Create(path, absl::StrCat("voxloc ", VOXLOC_VERSION)));
  return std::unique_ptr<McapRecording>(
      new McapRecording(std::make_unique<RecordedOutput>(std::move(file))));
}

McapRecording::McapRecording(std::unique_ptr<RecordedOutput> output)
    : parameters_(RecordingParameters()),
      output_(std::move(output)),
      results_(parameters_, *output_) {}

McapRecording::~McapRecording() = default;

void McapRecording::AddCells(int64_t stamp_ns, const std::vector<MapCell>& cells) {
  double lowest_m = std::numeric_limits<double>::infinity();
  double highest_m = -lowest_m;
  for (const MapCell& cell : cells) {
    lowest_m = std::min(lowest_m, cell.mean_map.z());
    highest_m = std::max(highest_m, cell.mean_map.z());
  }
  TriangleMarker marker;
  marker.header = {stamp_ns, parameters_.frame.map_frame};
  marker.ns = "map_cells";
  for (const MapCell& cell : cells) {
    const double height = (cell.mean_map.z() - lowest_m) / std::max(highest_m - lowest_m, 1e-9);
    AppendSquare(cell, ros::ColorOfRatio(height), &marker);
  }
  output_->Record("/voxloc/map_cells", kMarkersType, stamp_ns, ToCdr(marker));
}

void McapRecording::AddTruth(int64_t stamp_ns, const Pose& map_T_base) {
  ros::PoseWithCovarianceStamped truth;
  truth.header = {stamp_ns, parameters_.frame.map_frame};
  truth.pose = map_T_base;
  output_->Record("/voxloc/truth", kPoseWithCovarianceType, stamp_ns, ToCdr(truth));
}

void McapRecording::Add(const ReplayRow& row) {
  ros::ScanContext scan;
  scan.number = row.index + 1;
  scan.stamp_ns = row.stamp_ns;
  scan.execution_time_ms = row.latency_ms;
  const bool published = results_.Publish(row.result, scan);
  ros::ScanStatus status(kNodeName, parameters_, row.stamp_ns);
  status.AddAnswer(row.result);
  status.CheckExecutionTime(row.latency_ms);
  output_->PublishDiagnostics(row.stamp_ns, status.Finish(published, true, skipped_));
  output_->PublishDiagnostics(row.stamp_ns, VerdictOf(row));
  if (!row.result.has_fused()) return;
  output_->PublishDiagnostics(
      row.stamp_ns, ros::FusionStatus(kNodeName, row.stamp_ns, row.result.fused(), resets_));
  resets_ = row.result.fused().resets();
}

absl::Status McapRecording::Close() { return output_->Close(); }

}  // namespace voxloc::cli
