// SPDX-License-Identifier: Apache-2.0
//
// What a drive says about the score threshold of a profile: for people, as JSON, and as a profile.
// Pure functions.

#ifndef VOXLOC_CLIENTS_CLI_CALIBRATE_THRESHOLD_REPORT_H_
#define VOXLOC_CLIENTS_CLI_CALIBRATE_THRESHOLD_REPORT_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "clients/cli/calibrate/score_threshold.h"
#include "clients/cli/output/output.h"
#include "voxloc/v1/options.pb.h"

namespace voxloc::cli {

struct ThresholdCriteria {
  double keep_percent = 99.0;      // of the right answers, over 0 to 100
  double max_wrong_percent = 5.0;  // of the wrong answers that may be accepted, 0 to 100
  // An answer farther than this from the known pose is wrong, one within half of both is right.
  double wrong_distance_m = 0.5;
  double wrong_angle_deg = 2.0;
  double farthest_m = 10.0;  // start; see DisplacedStarts
};

// The answers of a drive that converged in the map.
struct DriveScores {
  std::string drive;  // for people
  std::string map;
  v1::Profile profile;
  size_t scans = 0;
  // From known poses, at most one a scan; and of both kinds of score the same answers.
  std::map<v1::ScoreType, std::vector<ScoredAnswer>> right;
  std::map<v1::ScoreType, std::vector<ScoredAnswer>> wrong;
  size_t wrong_from_pose = 0;  // of the wrong ones, those that started at the known pose
  size_t not_used = 0;         // back from elsewhere, or neither right nor wrong
  std::map<std::string, size_t> left_out;  // by status: refused whatever the score, or not aligned
};

struct ThresholdRow {
  ThresholdRates rates;
  std::string meaning;
};

// For one of the scores that a profile can judge by.
struct ThresholdFinding {
  v1::ScoreType type = v1::SCORE_TYPE_NVTL;
  std::vector<double> right;  // scores in ascending order
  std::vector<double> wrong;
  ThresholdRates keeping;  // the largest threshold that keeps enough right answers
  // The smallest with which few enough wrong answers are accepted; nullopt: any.
  std::optional<ThresholdRates> refusing;
  // The midpoint between `keeping` and the highest score of a wrong answer that is not over it, or
  // `keeping` if there is none: as many wrong answers are over both, and the midpoint leaves room
  // for drives on which right answers score lower. nullopt: too many are accepted with `keeping`.
  std::optional<ThresholdRates> recommended;
  std::vector<ThresholdRow> rows;  // thresholds to compare with, in ascending order
};

// First the score that the profile judges by, then the other. There must be right answers.
[[nodiscard]] std::vector<ThresholdFinding> FindThresholds(const DriveScores& scores,
                                                           const ThresholdCriteria& criteria);

[[nodiscard]] std::string ThresholdText(const DriveScores& scores,
                                        const ThresholdCriteria& criteria,
                                        const std::vector<ThresholdFinding>& findings);
[[nodiscard]] Json ThresholdJson(const DriveScores& scores, const ThresholdCriteria& criteria,
                                 const std::vector<ThresholdFinding>& findings);

// The profile under another name, with the threshold that `finding` recommends, for which there
// must be one, and its origin as a comment.
[[nodiscard]] std::string ProfileWithThreshold(const DriveScores& scores,
                                               const ThresholdFinding& finding,
                                               const std::string& name, const std::string& date);

}  // namespace voxloc::cli

#endif  // VOXLOC_CLIENTS_CLI_CALIBRATE_THRESHOLD_REPORT_H_
