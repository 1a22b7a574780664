// SPDX-License-Identifier: Apache-2.0
//
// The flags of requests: which map, how scans are aligned (--override, --gate,
// --base-t-sensor, --vehicle), what is estimated beside a pose (--covariance, --sensor,
// --protection-risk, --no-confidence and the like), what else results carry (--trace,
// --diagnostics, --point-scores, --no-ground-margin), how revisions of maps are committed, how
// scans are read and thinned (--leaf, --points, --min-range, --max-range, --record-floats), and
// which scans of a bag of ROS are taken (--bag, the topics and the frames).

#ifndef VOXLOC_CLIENTS_CLI_FLAGS_REQUEST_FLAGS_H_
#define VOXLOC_CLIENTS_CLI_FLAGS_REQUEST_FLAGS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/dataset/bag/drive.h"
#include "core/cloud/filters.h"
#include "core/cloud/io/cloud_file.h"
#include "core/cloud/point_cloud.h"
#include "voxloc/v1/admin_service.pb.h"
#include "voxloc/v1/cloud.pb.h"
#include "voxloc/v1/map.pb.h"
#include "voxloc/v1/map_service.pb.h"
#include "voxloc/v1/options.pb.h"
#include "voxloc/v1/scan.pb.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace voxloc::cli {

struct AlignmentFlags {
  std::vector<std::string> overrides;  // KEY=VALUE of v1::AlignmentOverrides
  std::vector<std::string> gate;       // KEY=VALUE of v1::GateOptions
  std::string base_T_sensor;           // X,Y,Z,ROLL,PITCH,YAW; empty: the scans are in base axes
  std::string vehicle;                 // empty: that of the setup stays

  // The flags were checked while the command line was read.
  void AddTo(v1::ScanSetup* setup) const;
};

void AddAlignmentFlags(CLI::App* command, AlignmentFlags* flags);

// Without --gate, for commands that accept no poses.
void AddScoringFlags(CLI::App* command, AlignmentFlags* flags);

// --base-t-sensor and --vehicle alone, for commands that take the profile as it is.
void AddVehicleFlags(CLI::App* command, AlignmentFlags* flags);

struct EstimateFlags {
  std::string covariance;  // empty: the profile's
  bool no_confidence = false;
  // One value for all three axes; nullopt: the server's default.
  std::optional<double> systematic_position_sigma_m;
  std::optional<double> systematic_rotation_sigma_deg;
  std::optional<double> systematic_time_sigma_s;
  std::optional<double> systematic_skew_sigma_s;
  std::string sensor;                     // empty: the server's default
  std::optional<double> protection_risk;  // nullopt: no protection levels

  void AddTo(v1::AlignmentOptions* options, v1::OutputOptions* output) const;
};

void AddEstimateFlags(CLI::App* command, EstimateFlags* flags);

struct OutputFlags {
  bool trace = false;
  bool diagnostics = false;
  bool point_scores = false;
  std::optional<double> no_ground_margin_m;  // nullopt: no scores without the ground

  void AddTo(v1::OutputOptions* output) const;
};

void AddOutputFlags(CLI::App* command, OutputFlags* flags);

// These alone, for commands that offer nothing else.
void AddTraceFlag(CLI::App* command, bool* trace);
void AddDiagnosticsFlag(CLI::App* command, bool* diagnostics);
void AddPointScoresFlag(CLI::App* command, bool* point_scores);

struct MapFlags {
  std::string map;
  std::string profile;  // empty: the server's default

  void AddTo(const char* vehicle, v1::ScanSetup* setup) const;
};

// --map NAME, where the command says what for.
CLI::Option* AddMapFlag(CLI::App* command, std::string* map, const std::string& description);

void AddMapFlags(CLI::App* command, MapFlags* flags);

// --profile alone, for commands that name maps in another way.
void AddProfileFlag(CLI::App* command, std::string* profile);

// The profile of that name; empty: the server's default. NotFound lists those that there are.
[[nodiscard]] absl::StatusOr<v1::Profile> ProfileNamed(const v1::GetServerInfoResponse& info,
                                                       const std::string& name);

// How a revision is committed: --comment, --stage, --canary, --request-id, --base-revision.
struct CommitFlags {
  std::string comment;
  bool stage = false;
  std::string canary;  // names, comma-separated; they stage the revision
  std::string request_id;
  uint64_t base_revision = 0;

  // Whether the revision is not put in use.
  [[nodiscard]] bool stages() const { return stage || !canary.empty(); }
  void AddTo(v1::BeginUpdate* begin, v1::CommitUpdate* commit) const;
};

// `comment` in `flags` is the default that --help shows.
void AddCommitFlags(CLI::App* command, CommitFlags* flags);

// "a,b" as its parts, without empty ones.
[[nodiscard]] std::vector<std::string> NamesOf(const std::string& comma_separated);

// How scans are read and thinned before they are sent, which saves bytes on the network.
struct ScanFlags {
  double leaf_m = 0.0;
  size_t points = 0;
  double min_range_m = 0.0;
  double max_range_m = 0.0;  // 0: no limit
  uint64_t seed = 0;
  size_t record_floats = 0;  // of .bin files; 0: by their names and values

  [[nodiscard]] FilterOptions filter() const;
  [[nodiscard]] CloudReadOptions read() const;
  // The same for the server to do.
  void AddTo(v1::ScanFilter* filter) const;
};

void AddScanFlags(CLI::App* command, ScanFlags* flags);

// FILE, for commands that take one scan.
void AddScanFile(CLI::App* command, std::string* file);

// What the filter keeps of a scan. The error has the scan's name.
[[nodiscard]] absl::StatusOr<PointCloud> FilterScan(const std::string& name, const PointCloud& scan,
                                                    const FilterOptions& filter);

// A scan as its file places it, filtered. The error names the file.
[[nodiscard]] absl::StatusOr<PointCloud> ReadScan(const std::string& path, const ScanFlags& flags);

// The scan of a command that takes one. Prints DescribeClouds.
[[nodiscard]] absl::StatusOr<PointCloud> LoadScan(const std::string& path, const ScanFlags& flags);

// --points of commands that write a map's page.
CLI::Option* AddViewPointsFlag(CLI::App* command, size_t* points);

// --bag, which fills `paths`, and the flags of topics and frames, which need it.
CLI::Option* AddBagFlags(CLI::App* command, bag::DriveOptions* options);

// The times of points by --point-times: `none` (nullopt), `auto`, or a field's name.
[[nodiscard]] std::optional<ros::PointTimeChoice> PointTimesOf(const std::string& field);

// Opens a recorded drive, at the mount `base_T_sensor`, X,Y,Z,ROLL,PITCH,YAW; empty: by the bag's
// frames. Standard error shows the progress and then what was chosen, a line each.
[[nodiscard]] absl::StatusOr<std::unique_ptr<bag::Drive>> OpenDrive(
    bag::DriveOptions options, const std::string& base_T_sensor);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_FLAGS_REQUEST_FLAGS_H_
