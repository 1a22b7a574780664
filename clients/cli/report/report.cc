// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/report/report.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "clients/cli/report/packing.h"

namespace voxloc::cli {
namespace {

constexpr absl::string_view kDataMark = "{{data}}";

// What a row of the page has of a row of the replay.
constexpr char kReportKeys[] =
    "index file stamp_s status answered accepted pose truth guess translation_error_m "
    "rotation_error_deg sigma_shares confidence protection unobserved_axes weak_axes "
    "least_observed iterations points_used map_revision latency_ms engine_ms";

constexpr size_t kAxes = 6;

Json PositionCovariance(const Json& row) {
  const auto found = row.find("covariance");
  if (found == row.end() || !found->is_array() || found->size() != kAxes * kAxes) return nullptr;
  Json values = Json::array();
  for (size_t i = 0; i < 3; ++i) {
    for (size_t j = i; j < 3; ++j) values.push_back((*found)[kAxes * i + j]);
  }
  return values;
}

// Every how many rows one is kept, so that at most kMaxReportRows are left. 1: all.
size_t RowStep(size_t rows) {
  return std::max<size_t>(1, (rows + kMaxReportRows - 1) / kMaxReportRows);
}

// Which rows are shown: every step-th, and those whose points are.
std::vector<size_t> ShownRows(size_t rows, size_t step, const ScanViews& views) {
  std::set<size_t> shown;
  for (size_t i = 0; i < rows; i += step) shown.insert(i);
  for (const ScanView& view : views.scans) {
    if (view.index < rows) shown.insert(view.index);
  }
  return {shown.begin(), shown.end()};
}

// The replay with rows as the page wants them.
Json ReplayForPage(const Json& replay, const std::vector<size_t>& rows_shown) {
  Json shown = Json::object();
  for (const auto& entry : replay.items()) {
    if (entry.key() != "results") shown[entry.key()] = entry.value();
  }
  shown["results"] =
      ListJson(rows_shown, [&](size_t i) { return ReportRow(replay["results"][i]); });
  return shown;
}

// About 400,000 rows; more than a report shows.
constexpr uintmax_t kMaxRunBytes = uintmax_t{1} << 30;

bool IsNumberOrNull(const Json& row, const char* key) {
  const auto found = row.find(key);
  return found != row.end() && (found->is_number() || found->is_null());
}

bool IsPose(const Json& row, const char* key, bool may_be_null) {
  const auto found = row.find(key);
  if (found == row.end()) return false;
  if (found->is_null()) return may_be_null;
  return found->is_array() && found->size() == 7 &&
         std::all_of(found->begin(), found->end(), [](const Json& n) { return n.is_number(); });
}

// Where dead reckoning is in the plane; null where the row has none.
Json DeadReckonedPlace(const Json& row) {
  const auto found = row.find("dead_reckoning");
  if (found == row.end() || !found->is_object() || !IsPose(*found, "pose", false)) return nullptr;
  const Json& pose = *found->find("pose");
  return {pose[0], pose[1]};
}

// What the page shows of the pose by the session's filter; null where the row has none.
Json FusedOfRow(const Json& row) {
  const auto found = row.find("fused");
  if (found == row.end() || !found->is_object() || !IsPose(*found, "pose", false)) return nullptr;
  Json kept = Json::object();
  for (const char* key :
       {"pose", "translation_error_m", "rotation_error_deg", "error_m", "sigma_m"}) {
    const auto value = found->find(key);
    kept[key] = value == found->end() ? Json(nullptr) : *value;
  }
  return kept;
}

bool IsRow(const Json& row) {
  if (!row.is_object()) return false;
  const auto has = [&row](const char* key, bool (Json::*is)() const noexcept) {
    const auto found = row.find(key);
    return found != row.end() && ((*found).*is)();
  };
  const auto scores = row.find("scores");
  return has("stamp_ns", &Json::is_number_integer) && has("file", &Json::is_string) &&
         has("status", &Json::is_string) && has("accepted", &Json::is_boolean) &&
         has("answered", &Json::is_boolean) && IsPose(row, "pose", true) &&
         IsPose(row, "truth", false) && IsNumberOrNull(row, "translation_error_m") &&
         IsNumberOrNull(row, "rotation_error_deg") && IsNumberOrNull(row, "latency_ms") &&
         scores != row.end() && scores->is_object() && IsNumberOrNull(*scores, "nvtl");
}

constexpr double kScoreSteps = 50.0;

// Evenly spread over the cloud's own order, which follows the sensor's sweep.
Json PointsJson(const ScanView& view) {
  const size_t size = view.points_base.size();
  const size_t most = std::min(size, kMaxViewPoints);
  const bool scored = view.scores.size() == size;
  std::string bytes;
  size_t count = 0;
  for (size_t k = 0; k < most; ++k) {
    const size_t i = k * size / most;
    const Eigen::Vector3d place = view.points_base.Point(i);
    if (!IsNear(place)) continue;
    AppendPlace(place, &bytes);
    const double score = scored ? static_cast<double>(view.scores[i]) : 0.0;
    const long steps = score > 0.0 ? std::clamp(std::lround(kScoreSteps * score), 1L, 255L) : 0L;
    bytes.push_back(static_cast<char>(static_cast<uint8_t>(steps)));
    ++count;
  }
  return {{"count", count},
          {"points_of", size},
          {"scored", scored && size > 0},
          {"base64", absl::Base64Escape(bytes)}};
}

Json CellsJson(const ScanView& view, const Eigen::Vector3d& origin) {
  std::vector<size_t> order(view.cells.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto distance = [&view](size_t i) {
    return (view.cells[i].mean_map - view.map_T_base.translation).squaredNorm();
  };
  std::stable_sort(order.begin(), order.end(),
                   [&distance](size_t a, size_t b) { return distance(a) < distance(b); });
  order.resize(std::min(order.size(), kMaxViewCells));
  std::string bytes;
  size_t count = 0;
  for (const size_t i : order) {
    const Eigen::Vector3d place = view.cells[i].mean_map - origin;
    if (!IsNear(place)) continue;
    AppendCell(place, view.cells[i].covariance_map, &bytes);
    ++count;
  }
  return {{"count", count}, {"cells_of", view.cells.size()}, {"base64", absl::Base64Escape(bytes)}};
}

constexpr size_t kMaxCellsInMemory = 2'000'000;
constexpr double kMaxDistanceM = 10'000.0;
constexpr double kHeightUnitsPerMetre = 32.0;

uint8_t ByteOf(double value) {
  return static_cast<uint8_t>(std::clamp(std::lround(value), 0L, 255L));
}

// Half of the index, rounded down.
int32_t Half(int32_t index) { return (index - (index & 1)) / 2; }

}  // namespace

Json ReportRow(const Json& row) {
  Json kept = Json::object();
  const std::vector<std::string> keys = absl::StrSplit(kReportKeys, ' ');
  for (const std::string& key : keys) {
    const auto found = row.find(key);
    kept[key] = found == row.end() ? Json(nullptr) : *found;
  }
  const auto scores = row.find("scores");
  kept["scores"] = {{"nvtl", nullptr}};
  if (scores != row.end() && scores->contains("nvtl")) kept["scores"]["nvtl"] = (*scores)["nvtl"];
  kept["dead_reckoned"] = DeadReckonedPlace(row);
  kept["fused"] = FusedOfRow(row);
  kept["position_covariance"] = PositionCovariance(row);
  return kept;
}

std::string PageWithData(absl::string_view page, const Json& data) {
  const std::string json =
      data.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  const size_t mark = page.find(kDataMark);
  // No "<" is left in the data.
  return absl::StrCat(page.substr(0, mark), absl::StrReplaceAll(json, {{"<", "\\u003c"}}),
                      page.substr(mark + kDataMark.size()));
}

std::string ReportHtml(const Json& replay, const ReportContent& content) {
  const size_t rows = replay["results"].size();
  const std::vector<size_t> shown = ShownRows(rows, RowStep(rows), content.views);
  Json compared = content.compared;
  if (!compared.is_null()) {
    compared["results"] = ListJson(shown, [&](size_t i) { return compared["results"][i]; });
  }
  const MapPicture::Encoded picture = content.picture.Encode();
  const Json data = {{"replay", ReplayForPage(replay, shown)},
                     {"row_step", RowStep(rows)},
                     {"picture",
                      {{"cell_m", picture.cell_m},
                       {"low", {picture.low.x(), picture.low.y()}},
                       {"cells", picture.cells},
                       {"base64", picture.base64}}},
                     {"views", ScanViewsJson(content.views)},
                     {"compared", std::move(compared)}};
  return PageWithData(ReportPage(), data);
}

std::string CompareHtml(const Json& comparison) {
  const Json& rows = comparison["results"];
  Json data = comparison;
  data["results"] =
      ListJson(ShownRows(rows.size(), RowStep(rows.size()), {}), [&](size_t i) { return rows[i]; });
  return PageWithData(ComparePage(), data);
}

std::string FleetHtml(const Json& fleet) { return PageWithData(FleetPage(), fleet); }

absl::StatusOr<Json> ReadRun(const std::string& path) {
  std::error_code problem;
  const uintmax_t bytes = std::filesystem::file_size(path, problem);
  if (problem) return absl::NotFoundError(absl::StrCat(path, ": ", problem.message()));
  if (bytes > kMaxRunBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " must have at most ", kMaxRunBytes, " bytes (got ", bytes, ")"));
  }
  std::ifstream file(path, std::ios::binary);
  Json run = Json::parse(file, nullptr, false);
  if (!run.is_object() || !run.contains("results") || !run["results"].is_array()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " must be the JSON of voxloc replay --json"));
  }
  for (size_t i = 0; i < run["results"].size(); ++i) {
    if (!IsRow(run["results"][i])) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": row ", i, " of results is not one of voxloc replay --json"));
    }
  }
  return run;
}

absl::StatusOr<Json> CompareRuns(const Json& replay, const Json& other, const std::string& name) {
  std::map<int64_t, std::deque<const Json*>> by_stamp;
  for (const Json& row : other["results"]) {
    by_stamp[row["stamp_ns"].get<int64_t>()].push_back(&row);
  }
  Json results = Json::array();
  size_t matched = 0;
  for (const Json& row : replay["results"]) {
    const auto found = by_stamp.find(row["stamp_ns"].get<int64_t>());
    if (found == by_stamp.end() || found->second.empty()) {
      results.push_back(nullptr);
      continue;
    }
    results.push_back(ReportRow(*found->second.front()));
    found->second.pop_front();
    ++matched;
  }
  if (matched == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " must be a run over the same scans (not one of its ",
                     other["results"].size(), " stamps is in this one)"));
  }
  Json compared = {{"name", name},
                   {"unmatched", other["results"].size() - matched},
                   {"results", std::move(results)}};
  for (const char* key : {"map", "profile", "engine", "guess", "server_version"}) {
    const auto found = other.find(key);
    compared[key] = found != other.end() && found->is_string() ? *found : Json("");
  }
  return compared;
}

Json ScanViewsJson(const ScanViews& views) {
  Json scans = Json::array();
  for (const ScanView& view : views.scans) {
    const Eigen::Vector3d origin = view.map_T_base.translation.array().round().matrix();
    scans.push_back({{"index", view.index},
                     {"origin", {origin.x(), origin.y(), origin.z()}},
                     {"points", PointsJson(view)},
                     {"cells", CellsJson(view, origin)}});
  }
  return {{"cell_size_m", views.cell_size_m},
          {"radius_m", views.radius_m},
          {"cells_missing", views.cells_missing},
          {"scores_missing", views.scores_missing},
          {"scans", scans}};
}

ScanChoice::ScanChoice(size_t scans, size_t max_scans)
    : scans_(scans),
      spread_(std::min(scans, (max_scans + 1) / 2)),
      worst_(max_scans - (max_scans + 1) / 2) {}

bool ScanChoice::IsSpread(size_t index) const {
  if (spread_ == 0 || index >= scans_) return false;
  if (spread_ == 1) return index == scans_ / 2;
  // The first and the last, and the others at equal distances, rounded down.
  const size_t near = index * (spread_ - 1) / (scans_ - 1);
  for (size_t k = near; k <= std::min(near + 1, spread_ - 1); ++k) {
    if (k * (scans_ - 1) / (spread_ - 1) == index) return true;
  }
  return false;
}

void ScanChoice::Offer(size_t index, double error_m, const PointCloud& cloud) {
  if (IsSpread(index)) {
    spread_scans_.push_back({index, error_m, cloud});
    return;
  }
  const bool full = worst_scans_.size() >= worst_;
  if (worst_ == 0 || (full && error_m <= worst_scans_.front().error_m)) return;
  if (full) worst_scans_.erase(worst_scans_.begin());
  const auto at =
      std::upper_bound(worst_scans_.begin(), worst_scans_.end(), error_m,
                       [](double error, const ChosenScan& other) { return error < other.error_m; });
  worst_scans_.insert(at, {index, error_m, cloud});
}

std::vector<ChosenScan> ScanChoice::Take() {
  std::vector<ChosenScan> all = std::move(spread_scans_);
  all.insert(all.end(), std::make_move_iterator(worst_scans_.begin()),
             std::make_move_iterator(worst_scans_.end()));
  spread_scans_.clear();
  worst_scans_.clear();
  std::sort(all.begin(), all.end(),
            [](const ChosenScan& a, const ChosenScan& b) { return a.index < b.index; });
  return all;
}

void MapPicture::Merge(const Cell& more, Cell* cell) {
  cell->points += more.points;
  cell->lowest = std::min(cell->lowest, more.lowest);
  cell->highest = std::max(cell->highest, more.highest);
}

MapPicture::Cells MapPicture::Coarsen(const Cells& cells) {
  Cells coarser;
  coarser.reserve(cells.size() / 3);
  for (const auto& [index, cell] : cells) {
    Merge(cell, &coarser[Index{Half(index.first), Half(index.second)}]);
  }
  return coarser;
}

void MapPicture::Add(const Pose& map_T_base, const PointCloud& cloud_base) {
  if (!origin_.has_value()) origin_ = map_T_base.translation.array().round().matrix();
  for (size_t i = 0; i < cloud_base.size(); ++i) {
    const Eigen::Vector3d point = map_T_base * cloud_base.Point(i) - *origin_;
    if (!(point.cwiseAbs().maxCoeff() < kMaxDistanceM)) continue;
    const Index index{static_cast<int32_t>(std::floor(point.y() / cell_m_)),
                      static_cast<int32_t>(std::floor(point.x() / cell_m_))};
    const auto height = static_cast<float>(point.z());
    Merge(Cell{1, height, height}, &cells_[index]);
  }
  while (cells_.size() > kMaxCellsInMemory) {
    cells_ = Coarsen(cells_);
    cell_m_ *= 2.0;
  }
}

MapPicture::Encoded MapPicture::Encode(size_t max_cells) const {
  Encoded encoded;
  encoded.cell_m = cell_m_;
  if (cells_.empty() || max_cells == 0) return encoded;
  Cells cells = cells_;
  while (cells.size() > max_cells) {
    cells = Coarsen(cells);
    encoded.cell_m *= 2.0;
  }
  const std::map<Index, Cell> ordered(cells.begin(), cells.end());
  const int32_t low_y = ordered.begin()->first.first;
  int32_t low_x = std::numeric_limits<int32_t>::max();
  uint32_t fullest = 1;
  for (const auto& [index, cell] : ordered) {
    low_x = std::min(low_x, index.second);
    fullest = std::max(fullest, cell.points);
  }
  std::string bytes;
  for (const auto& [index, cell] : ordered) {
    // 20 km of cells of 0.25 m do not fit 16 bits, but so many coarsen first in practice; what
    // still lies beyond is left out.
    const int64_t x = int64_t{index.second} - low_x;
    const int64_t y = int64_t{index.first} - low_y;
    if (x > 65535 || y > 65535) continue;
    AppendUint16(static_cast<uint32_t>(x), &bytes);
    AppendUint16(static_cast<uint32_t>(y), &bytes);
    const double fullness = std::log2(1.0 + cell.points) / std::log2(1.0 + fullest);
    bytes.push_back(static_cast<char>(ByteOf(255.0 * fullness)));
    const double height = double{cell.highest} - double{cell.lowest};
    bytes.push_back(static_cast<char>(ByteOf(kHeightUnitsPerMetre * height)));
    ++encoded.cells;
  }
  encoded.low = origin_->head<2>() + encoded.cell_m * Eigen::Vector2d(low_x, low_y);
  encoded.base64 = absl::Base64Escape(bytes);
  return encoded;
}

}  // namespace voxloc::cli
