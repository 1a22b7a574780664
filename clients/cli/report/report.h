// SPDX-License-Identifier: Apache-2.0
//
// Reports as HTML files that need no network: of a replay, of its comparison with a recorded
// localizer, and of one look at a fleet; map_view.h has that of a map. The pages are put together
// from page/ when the program is built; "{{data}}" stands where a page's data goes.

#ifndef VOXLOC_CLIENTS_CLI_REPORT_REPORT_H_
#define VOXLOC_CLIENTS_CLI_REPORT_REPORT_H_

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/cli/output/output.h"
#include "core/cloud/point_cloud.h"
#include "core/geometry/pose.h"

namespace voxloc::cli {

// The pictures that a report embeds are bounded and packed into few bytes.

// A Gaussian of the map.
struct ViewCell {
  Eigen::Vector3d mean_map = Eigen::Vector3d::Zero();
  Eigen::Matrix3d covariance_map = Eigen::Matrix3d::Identity();  // m^2
};

// One scan over the cells of the map.
struct ScanView {
  size_t index = 0;  // of the scan in the drive
  PointCloud points_base;
  std::vector<float> scores;  // of the points, 0: no cell is near; empty: not known
  Pose map_T_base;            // the result
  std::vector<ViewCell> cells;
};

struct ScanViews {
  std::vector<ScanView> scans;
  double cell_size_m = 0.0;  // edge of a cell; 0: there are none
  // Cells are those whose mean is at most this far from the result in x and y.
  double radius_m = 0.0;
  // Why cells, or scores, are missing, for people. Empty: they are not.
  std::string cells_missing;
  std::string scores_missing;
};

// Points that a scan shows, and cells: those nearest to the result.
inline constexpr size_t kMaxViewPoints = 4000;
inline constexpr size_t kMaxViewCells = 3000;

// `origin`: whole metres of the map near the result, the zero of `cells`. Points and means of cells
// are three int16 in steps of 5 mm, base frame and map axes; a point is followed by a byte with its
// score (50 steps a unit, at least 1; 0: no cell is near), a mean by the symmetric square root of
// the covariance (xx, xy, xz, yy, yz, zz), int16 in millimetres. Little endian, base64. What lies
// 163 m or farther away is left out. `points_of`, `cells_of`: before thinning.
[[nodiscard]] Json ScanViewsJson(const ScanViews& views);

struct ChosenScan {
  size_t index = 0;  // of the scan in the drive
  double error_m = 0.0;
  PointCloud cloud;  // sensor frame
};

// Selects the scans of a replay whose points a report shows: half evenly spread over the drive,
// half with the largest errors. Works online: only selected scans are in memory. Not thread-safe.
class ScanChoice {
 public:
  // `scans`: number of scans of the drive. `max_scans`: maximum number to select.
  ScanChoice(size_t scans, size_t max_scans);

  // To be called once for each scan that has a pose, with the error of its position, metres.
  void Offer(size_t index, double error_m, const PointCloud& cloud);

  // In the order of the drive.
  [[nodiscard]] std::vector<ChosenScan> Take();

 private:
  [[nodiscard]] bool IsSpread(size_t index) const;

  size_t scans_;
  size_t spread_;  // how many are evenly spread
  size_t worst_;   // how many have the largest errors
  std::vector<ChosenScan> spread_scans_;
  std::vector<ChosenScan> worst_scans_;  // the smallest error first
};

// The surroundings of a drive from above, gathered from scans placed at their estimated poses.
//
// A grid in x and y that remembers how many points fell into each cell and between which heights.
// It grows coarser as it fills, so its memory is bounded for any drive. For one thread.
class MapPicture {
 public:
  // Points that are not finite, or farther than 10 km from the first pose, are left out.
  void Add(const Pose& map_T_base, const PointCloud& cloud_base);

  // The picture as it is embedded: 6 bytes a cell (x and y index from the lowest ones, uint16
  // little endian; 255 for the fullest cell, logarithmic; height from the lowest to the highest
  // point, 1/32 m a unit), in base64.
  struct Encoded {
    double cell_m = 0.0;
    Eigen::Vector2d low = Eigen::Vector2d::Zero();  // corner of cell (0, 0), map frame
    size_t cells = 0;
    std::string base64;
  };
  [[nodiscard]] Encoded Encode(size_t max_cells = 120000) const;

  [[nodiscard]] size_t cells() const { return cells_.size(); }

 private:
  using Index = std::pair<int32_t, int32_t>;  // in y and x, the order in which cells are encoded
  struct Cell {
    uint32_t points = 0;
    float lowest = std::numeric_limits<float>::infinity();
    float highest = -std::numeric_limits<float>::infinity();
  };
  using Cells = absl::flat_hash_map<Index, Cell>;

  static void Merge(const Cell& more, Cell* cell);
  static Cells Coarsen(const Cells& cells);

  std::optional<Eigen::Vector3d> origin_;  // the first pose, in whole metres
  double cell_m_ = 0.25;
  Cells cells_;
};

// The pages of a replay, of a comparison, of a fleet and of a map, without data.
[[nodiscard]] absl::string_view ReportPage();
[[nodiscard]] absl::string_view ComparePage();
[[nodiscard]] absl::string_view FleetPage();
[[nodiscard]] absl::string_view MapPage();

// The page with its data. No text in the data can end the script element that holds it.
[[nodiscard]] std::string PageWithData(absl::string_view page, const Json& data);

// About 11 MB of rows; more scans than a screen has columns of pixels.
inline constexpr size_t kMaxReportRows = 10'000;

// A row as ReplayJson gives it, without what the page does not use. In the place of `covariance`
// stands `position_covariance`: xx, xy, xz, yy, yz, zz, m^2, map axes; null where there is none.
[[nodiscard]] Json ReportRow(const Json& row);

// What a report also shows, apart from the results.
struct ReportContent {
  MapPicture picture;
  ScanViews views;
  Json compared;  // as CompareRuns gives it; null: no other run
};

// The page, with the replay's results (as ReplayJson gives them) and the rest embedded. Of more
// than kMaxReportRows rows every k-th is shown, which the page says; its statistics are of all.
[[nodiscard]] std::string ReportHtml(const Json& replay, const ReportContent& content);

// `comparison` as ComparisonJson gives it. Of more than kMaxReportRows rows every k-th is shown.
[[nodiscard]] std::string CompareHtml(const Json& comparison);

// `fleet` as FleetJson gives it, with `tiles` as FleetTilesJson does; or `interval_s` alone, for a
// page whose server sends both (FleetPageServer).
[[nodiscard]] std::string FleetHtml(const Json& fleet);

// Another run over the same scans: the JSON that `voxloc replay --json` has written. The file may
// hold anything: what is used of it is checked. NotFound: there is no such file.
// InvalidArgument: it is no such JSON, or larger than 1 GiB; the message names the file and the
// row.
[[nodiscard]] absl::StatusOr<Json> ReadRun(const std::string& path);

// What a report says of the other run: `name`, its setting, and `results`, which has for each row
// of `replay` the other run's row with the same stamp, or null. Scans that share a stamp are
// matched in their order. `unmatched`: rows of the other run that this one does not have.
// InvalidArgument: not one stamp is in both.
[[nodiscard]] absl::StatusOr<Json> CompareRuns(const Json& replay, const Json& other,
                                               const std::string& name);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_REPORT_REPORT_H_
