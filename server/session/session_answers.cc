// SPDX-License-Identifier: Apache-2.0

#include "server/session/session_answers.h"

#include <algorithm>

namespace voxloc::server {
namespace {

// Of `SessionInfo.by_revision`.
constexpr int kMaxRevisions = 2;

v1::LastAnswer LastAnswerOf(const v1::AlignmentResult& result) {
  v1::LastAnswer answer;
  const v1::PoseWithCovariance& estimate = result.map_t_base();
  if (estimate.has_pose()) *answer.mutable_map_t_base() = estimate.pose();
  if (estimate.covariance_size() == 36) {
    for (const int at : {0, 1, 2, 7, 8, 14}) {  // the upper triangle of the position's block
      answer.add_position_covariance(estimate.covariance(at));
    }
  }
  answer.set_nvtl(result.scores().nvtl());
  if (result.has_confidence()) {
    answer.mutable_confidence()->set_value(result.confidence().value());
  }
  answer.set_server_s(result.timings().server_s());
  return answer;
}

// The entry of the revision, which becomes the last one.
v1::RevisionAnswers& AnswersOf(uint64_t revision, v1::SessionInfo& info) {
  auto& all = *info.mutable_by_revision();
  const auto found = std::find_if(all.begin(), all.end(), [revision](const auto& answers) {
    return answers.revision() == revision;
  });
  if (found != all.end()) {
    std::rotate(found, found + 1, all.end());
  } else {
    if (all.size() == kMaxRevisions) all.erase(all.begin());
    all.Add()->set_revision(revision);
  }
  return all[all.size() - 1];
}

// The mean of `count` values, the last of which is `value`.
double NextMean(double mean, double value, uint64_t count) {
  return mean + (value - mean) / static_cast<double>(count);
}

void Add(const v1::AlignmentResult& result, v1::RevisionAnswers& answers) {
  answers.set_answered(answers.answered() + 1);
  if (result.accepted()) answers.set_accepted(answers.accepted() + 1);
  if (result.has_scores()) {
    answers.set_aligned(answers.aligned() + 1);
    answers.set_mean_nvtl(NextMean(answers.mean_nvtl(), result.scores().nvtl(), answers.aligned()));
  }
  if (!result.has_confidence()) return;
  const v1::Confidence& confidence = result.confidence();
  const uint64_t count = answers.with_confidence() + 1;
  answers.set_with_confidence(count);
  answers.set_mean_confidence(NextMean(answers.mean_confidence(), confidence.value(), count));
  answers.set_mean_innovation(NextMean(answers.mean_innovation(), confidence.innovation(), count));
  answers.set_mean_sharp_ratio(
      NextMean(answers.mean_sharp_ratio(), confidence.sharp_ratio(), count));
  answers.set_mean_seen_through_ratio(
      NextMean(answers.mean_seen_through_ratio(), confidence.seen_through_ratio(), count));
}

}  // namespace

void RecordAnswer(const v1::AlignmentResult& result, int64_t now_ns, v1::SessionInfo& info) {
  info.set_answered(info.answered() + 1);
  if (result.accepted()) info.set_accepted(info.accepted() + 1);
  info.set_status(result.status());
  info.set_map_revision(result.map_revision());
  info.set_answered_at_ns(now_ns);
  *info.mutable_last_answer() = LastAnswerOf(result);
  if (result.map_revision() != 0) Add(result, AnswersOf(result.map_revision(), info));
}

}  // namespace voxloc::server
