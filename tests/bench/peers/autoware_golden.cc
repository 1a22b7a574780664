// SPDX-License-Identifier: Apache-2.0

#include "tests/bench/peers/autoware_golden.h"

#include <algorithm>
#include <autoware/ndt_scan_matcher/ndt_omp/estimate_covariance.hpp>
#include <string>
#include <vector>

#include "tests/bench/peers/autoware_ndt.h"

namespace voxloc::bench {
namespace {

using Json = nlohmann::json;

// Of covariance.covariance_estimation in ndt_scan_matcher.param.yaml.
const std::vector<double>& OffsetsX() {
  static const auto& offsets = *new std::vector<double>{0.0, 0.0, 0.5, -0.5, 1.0, -1.0};
  return offsets;
}
const std::vector<double>& OffsetsY() {
  static const auto& offsets = *new std::vector<double>{0.5, -0.5, 0.0, 0.0, 0.0, 0.0};
  return offsets;
}
constexpr double kTemperature = 0.05;
// The label of the alignment whose covariances are computed.
constexpr char kWithCovariances[] = "offset_small";
constexpr size_t kStatedCells = 200;

template <typename Matrix>
Json RowMajor(const Matrix& matrix) {
  Json values = Json::array();
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    for (Eigen::Index k = 0; k < matrix.cols(); ++k) {
      values.push_back(static_cast<double>(matrix(i, k)));
    }
  }
  return values;
}

template <typename Values, typename Of>
Json List(const Values& values, const Of& of) {
  Json list = Json::array();
  for (const auto& value : values) list.push_back(of(value));
  return list;
}

Eigen::Matrix4d MatrixOf(const Json& row_major) {
  Eigen::Matrix4d matrix;
  for (int i = 0; i < 16; ++i) matrix(i / 4, i % 4) = row_major.at(static_cast<size_t>(i));
  return matrix;
}

// Opens what Autoware's class computes but does not return.
class GoldenNdt : public AutowareNdt {
 public:
  GoldenNdt(const Json& set, const PointCloud& target) {
    const Json& given = set.at("params");
    pclomp::NdtParams params = AutowareParams(/*threads=*/1);
    params.resolution = given.at("resolution");
    params.step_size = given.at("step_size");
    params.trans_epsilon = given.at("trans_epsilon");
    params.max_iterations = given.at("max_iterations");
    params.regularization_scale_factor = given.at("regularization_scale_factor");
    setParams(params);
    const AutowareCloud::Ptr points = ToAutoware(target);
    for (const Json& tile : set.at("tiles")) {
      const AutowareCloud::Ptr cloud(new AutowareCloud);
      for (size_t i = tile.at("begin"); i < tile.at("end"); ++i) cloud->push_back(points->at(i));
      addTarget(cloud, tile.at("id").get<std::string>());
    }
    createVoxelKdtree();
    if (set.contains("regularization_pose")) {
      setRegularizationPose(MatrixOf(set.at("regularization_pose")).cast<float>());
    }
  }

  // After an alignment, which computes the constants of the score.
  void AddConstants(Json* set) const {
    (*set)["gauss_d1"] = gauss_d1_;
    (*set)["gauss_d2"] = gauss_d2_;
    (*set)["gauss_d3"] = gauss_d3_;
  }

  void AddCells(Json* set) const {
    const AutowareCloud centroids = getVoxelPCD();
    const size_t step = std::max<size_t>(1, centroids.size() / kStatedCells);
    (*set)["voxel_count"] = centroids.size();
    (*set)["voxels"] = Json::array();
    for (size_t i = 0; i < centroids.size(); i += step) {
      std::vector<TargetGrid::LeafConstPtr> cells;  // the nearest first
      target_cells_.radiusSearch(centroids[i], params_.resolution, cells);
      (*set)["voxels"].push_back({{"n", cells[0]->nr_points_},
                                  {"mean", RowMajor(cells[0]->mean_)},
                                  {"cov", RowMajor(cells[0]->cov_)},
                                  {"icov", RowMajor(cells[0]->icov_)}});
    }
  }

  // After an alignment, as AddConstants.
  void AddDerivatives(const AutowareCloud::Ptr& source, Json* entry) {
    Eigen::Affine3f pose;
    pose.matrix() = MatrixOf(entry->at("pose")).cast<float>();
    const Eigen::Vector3f angles = pose.rotation().eulerAngles(0, 1, 2);
    Eigen::Matrix<double, 6, 1> p;
    p << pose.translation().cast<double>(), angles.cast<double>();
    AutowareCloud moved;
    pcl::transformPointCloud(*source, moved, Eigen::Matrix4f(pose.matrix()));
    Eigen::Matrix<double, 6, 1> gradient;
    Eigen::Matrix<double, 6, 6> hessian;
    (*entry)["p"] = RowMajor(p);
    (*entry)["score"] = computeDerivatives(gradient, hessian, moved, p, source);
    (*entry)["gradient"] = RowMajor(gradient);
    (*entry)["hessian"] = RowMajor(hessian);
    (*entry)["transform_probability"] = calculateTransformationProbability(moved);
    (*entry)["nvtl"] = getNearestVoxelTransformationLikelihood();
    size_t pairs = 0;
    size_t matched = 0;
    for (const pcl::PointXYZ& point : moved) {
      std::vector<TargetGrid::LeafConstPtr> cells;
      target_cells_.radiusSearch(point, params_.resolution, cells);
      pairs += cells.size();
      if (!cells.empty()) ++matched;
    }
    (*entry)["neighbor_total"] = pairs;
    (*entry)["points_with_neighbor"] = matched;
  }
};

void AddErrors(const Eigen::Matrix4d& truth, const Eigen::Matrix4f& found, Json* entry) {
  const Eigen::Matrix4d pose = found.cast<double>();
  const Eigen::Matrix3d difference =
      truth.topLeftCorner<3, 3>().transpose() * pose.topLeftCorner<3, 3>();
  (*entry)["err_t_m"] = (pose - truth).topRightCorner<3, 1>().norm();
  (*entry)["err_r_deg"] = Eigen::AngleAxisd(difference).angle() * 180.0 / EIGEN_PI;
}

void AddCovariances(const pclomp::NdtResult& result, const AutowareCloud::Ptr& source,
                    AutowareNdt* ndt, Json* entry) {
  const std::vector<Eigen::Matrix4f> poses =
      pclomp::propose_poses_to_search(result, OffsetsX(), OffsetsY());
  const auto aligned = pclomp::estimate_xy_covariance_by_multi_ndt(result, *ndt, poses, source);
  (*entry)["multi_ndt_poses"] = List(poses, &RowMajor<Eigen::Matrix4f>);
  (*entry)["multi_ndt_final"] =
      List(aligned.ndt_results, [](const pclomp::NdtResult& each) { return RowMajor(each.pose); });
  (*entry)["multi_ndt_mean"] = RowMajor(aligned.mean);
  (*entry)["multi_ndt_cov_xy"] = RowMajor(aligned.covariance);
  const auto scored =
      pclomp::estimate_xy_covariance_by_multi_ndt_score(result, *ndt, poses, source, kTemperature);
  (*entry)["multi_ndt_score_mean_t0.05"] = RowMajor(scored.mean);
  (*entry)["multi_ndt_score_cov_xy_t0.05"] = RowMajor(scored.covariance);
}

void AddAlignment(const Eigen::Matrix4d& truth, const AutowareCloud::Ptr& source, AutowareNdt* ndt,
                  Json* entry) {
  AutowareCloud moved;
  ndt->align(moved, MatrixOf(entry->at("guess")).cast<float>(), source);
  const pclomp::NdtResult result = ndt->getResult();
  const auto as_is = [](float score) { return score; };
  (*entry)["final_pose"] = RowMajor(result.pose);
  (*entry)["iterations"] = result.iteration_num;
  (*entry)["transform_probability"] = result.transform_probability;
  (*entry)["nvtl"] = result.nearest_voxel_transformation_likelihood;
  (*entry)["hessian"] = RowMajor(result.hessian);
  (*entry)["pose_array"] = List(result.transformation_array, &RowMajor<Eigen::Matrix4f>);
  (*entry)["tp_array"] = List(result.transform_probability_array, as_is);
  (*entry)["nvtl_array"] = List(result.nearest_voxel_transformation_likelihood_array, as_is);
  (*entry)["laplace_cov_xy"] =
      RowMajor(pclomp::estimate_xy_covariance_by_laplace_approximation(result.hessian));
  AddErrors(truth, result.pose, entry);
  if (entry->at("label") == kWithCovariances) AddCovariances(result, source, ndt, entry);
}

}  // namespace

Json ComputeGoldenSet(Json set, const PointCloud& target, const PointCloud& source) {
  GoldenNdt ndt(set, target);
  const AutowareCloud::Ptr points = ToAutoware(source);
  const Eigen::Matrix4d truth = MatrixOf(set.at("truth"));
  set["target_points"] = target.size();
  set["source_points"] = source.size();
  ndt.AddCells(&set);
  for (Json& entry : set.at("alignments")) AddAlignment(truth, points, &ndt, &entry);
  for (Json& entry : set.at("derivatives")) ndt.AddDerivatives(points, &entry);
  ndt.AddConstants(&set);
  return set;
}

}  // namespace voxloc::bench
