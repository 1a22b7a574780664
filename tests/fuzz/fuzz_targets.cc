// SPDX-License-Identifier: Apache-2.0

#include "tests/fuzz/fuzz_targets.h"

namespace voxloc {
namespace {

// As many as take the slowest of them, those of YAML, a few seconds under AddressSanitizer.
constexpr uint64_t kMutations = 3000;
// Each database is opened, which takes some milliseconds.
constexpr uint64_t kDatabaseMutations = 400;

constexpr FuzzTarget kTargets[] = {
    {"access_file", FuzzAccessFile, kMutations},
    {"align_scan_request", FuzzAlignScanRequest, kMutations},
    {"align_scans_request", FuzzAlignScansRequest, kMutations},
    {"bag_mcap", FuzzBagFile, kMutations},
    {"bag_message", FuzzBagMessage, kMutations},
    {"bag_ros1", FuzzBagFile, kMutations},
    {"bag_sqlite", FuzzBagFile, kMutations},
    {"capture_file", FuzzCaptureFile, kMutations},
    {"cloud_kittibin", FuzzCloudKittiBin, kMutations},
    {"cloud_las", FuzzCloudLas, kMutations},
    {"cloud_npy", FuzzCloudNpy, kMutations},
    {"cloud_pcd", FuzzCloudPcd, kMutations},
    {"cloud_ply", FuzzCloudPly, kMutations},
    {"cloud_text", FuzzCloudText, kMutations},
    {"configuration", FuzzConfiguration, kMutations},
    {"estimate_initial_pose_request", FuzzEstimateInitialPoseRequest, kMutations},
    {"map_build_text", FuzzMapBuildText, kMutations},
    {"map_frame_text", FuzzMapFrameText, kMutations},
    {"map_projector_yaml", FuzzMapProjectorYaml, kMutations},
    {"map_request", FuzzMapRequest, kMutations},
    {"map_store", FuzzMapStore, kDatabaseMutations},
    {"map_yaml", FuzzMapYaml, kMutations},
    {"moments_file", FuzzMomentsFile, kDatabaseMutations},
    {"profile_text", FuzzProfileText, kMutations},
    {"score_poses_request", FuzzScorePosesRequest, kMutations},
    {"sensor_calibration", FuzzSensorCalibration, kMutations},
    {"stored_piece", FuzzStoredPiece, kMutations},
    {"tile_codec", FuzzTileCodec, kMutations},
    {"tile_content", FuzzTileContent, kMutations},
    {"traceparent", FuzzTraceparent, kMutations},
    {"trajectory", FuzzTrajectory, kMutations},
    {"update_map_tiles_request", FuzzUpdateMapTilesRequest, kMutations},
};

}  // namespace

absl::Span<const FuzzTarget> FuzzTargets() { return kTargets; }

}  // namespace voxloc
