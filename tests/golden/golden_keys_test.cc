// SPDX-License-Identifier: Apache-2.0
//
// What golden sets hold: every number is either compared by a test or listed here with the reason
// why it is not. A set with a key that is not known fails, so that no new number passes unseen.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "tests/support/golden_set.h"
#include "tests/support/real_data.h"

namespace voxloc::golden {
namespace {

const std::map<std::string, std::set<std::string>>& ComparedKeys() {
  static const auto& keys = *new std::map<std::string, std::set<std::string>>{
      {"",
       {"name", "params", "target_points", "source_points", "truth", "tiles", "voxel_count",
        "regularization_pose", "voxels", "gauss_d1", "gauss_d2", "derivatives", "alignments",
        "tolerances", "alignments_only_finite"}},
      {"params",
       {"resolution", "step_size", "trans_epsilon", "max_iterations", "outlier_ratio",
        "min_points_per_voxel", "eigenvalue_ratio", "regularization_scale_factor"}},
      {"tiles", {"id", "begin", "end"}},
      {"voxels", {"n", "mean", "cov", "icov"}},
      {"derivatives",
       {"label", "pose", "p", "score", "gradient", "hessian", "neighbor_total",
        "points_with_neighbor", "transform_probability", "nvtl"}},
      {"alignments",
       {"label", "guess", "final_pose", "iterations", "transform_probability", "nvtl", "hessian",
        "err_t_m", "err_r_deg", "laplace_cov_xy", "pose_array", "tp_array", "nvtl_array",
        "multi_ndt_mean", "multi_ndt_cov_xy", "multi_ndt_poses", "multi_ndt_final",
        "multi_ndt_score_mean_t0.05", "multi_ndt_score_cov_xy_t0.05"}},
      {"tolerances",
       {"cell_mean_m", "cell_covariance_rel", "cell_inverse_rel", "score_rel", "nvtl_rel",
        "neighbor_count_rel", "gradient_of_set_max", "hessian_of_set_max", "pose_m", "pose_deg",
        "iterations"}},
  };
  return keys;
}

const std::map<std::string, std::string>& KeysNotCompared() {
  static const auto& keys = *new std::map<std::string, std::string>{
      {"reference", "names the program that computed the set"},
      {"gauss_d3", "enters d1 and d2, which are compared, and nothing else"},
  };
  return keys;
}

// Text is for readers; everything else must be known.
void ExpectKnownKeys(const std::string& section, const nlohmann::json& object) {
  const std::set<std::string>& compared = ComparedKeys().at(section);
  for (const auto& [key, value] : object.items()) {
    const bool known = compared.count(key) > 0 || KeysNotCompared().count(key) > 0;
    EXPECT_TRUE(known || value.is_string())
        << "\"" << key << "\" in \"" << section << "\" is compared by no test";
  }
}

class GoldenKeysTest : public ::testing::Test {
 protected:
  template <typename Check>
  void ForEachSet(const Check& check) {
    const auto directory = GoldenDir();
    if (!directory) GTEST_SKIP() << "no golden sets: set VOXLOC_GOLDEN_DIR";
    for (const std::string& name : ListGoldenSets(*directory)) {
      SCOPED_TRACE(name);
      check(LoadGoldenSet(*directory, name));
    }
  }
};

TEST_F(GoldenKeysTest, EveryNumberOfASetIsComparedOrListed) {
  ForEachSet([](const GoldenSet& set) {
    ExpectKnownKeys("", set.json);
    ExpectKnownKeys("params", set.json.at("params"));
    ExpectKnownKeys("tolerances", set.json.at("tolerances"));
    for (const char* section : {"tiles", "voxels", "derivatives", "alignments"}) {
      for (const auto& entry : set.json.at(section)) ExpectKnownKeys(section, entry);
    }
  });
}

TEST_F(GoldenKeysTest, EverySetHasSomethingToCompareInEachSection) {
  ForEachSet([](const GoldenSet& set) {
    EXPECT_EQ(set.json.at("name"), set.name);
    EXPECT_EQ(set.json.at("target_points"), set.target.size());
    EXPECT_EQ(set.json.at("source_points"), set.source->size());
    for (const char* section : {"tiles", "voxels", "derivatives", "alignments"}) {
      EXPECT_FALSE(set.json.at(section).empty()) << section;
    }
    for (const auto& entry : set.json.at("alignments")) {
      if (entry.at("label") != "offset_small") continue;
      EXPECT_TRUE(entry.contains("multi_ndt_final"));
    }
  });
}

}  // namespace
}  // namespace voxloc::golden
