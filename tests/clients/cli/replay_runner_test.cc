// SPDX-License-Identifier: Apache-2.0
//
// What a replay sends, against a server that answers every scan.

#include "clients/cli/replay/replay_runner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "clients/cli/commands/commands.h"
#include "clients/cli/output/output.h"
#include "clients/cpp/messages.h"
#include "core/cloud/io/cloud_file.h"
#include "tests/clients/cpp/fake_server.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::cli {
namespace {

using client::FakeBehaviour;
using client::FakeServer;

constexpr int64_t kPeriod_ns = 100'000'000;

// Three scans at x = 0, 1, 2 with stamps 1.0, 1.1 and 1.2 s.
class ReplayRunnerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    PointCloud cloud;
    cloud.PushBack(1.0f, 2.0f, 3.0f);
    for (int i = 0; i < 3; ++i) {
      input_.scans.push_back(scratch_.Path(std::to_string(i) + ".pcd"));
      ASSERT_TRUE(WritePcd(input_.scans.back(), cloud).ok());
      Pose pose;
      pose.translation.x() = i;
      input_.truth.push_back({10 * kPeriod_ns + i * kPeriod_ns, pose});
    }
  }

  // Runs a replay in closed loop; the messages after `open`, in the order of their arrival. The
  // scans from `first_accepted` on are accepted, with a pose, and those from `first_fused` on have
  // one of the session's filter.
  std::vector<v1::AlignScansRequest> Sent(const ReplayOptions& options,
                                          GuessSource::Kind kind = GuessSource::Kind::kTruth,
                                          uint64_t first_accepted = 1, uint64_t first_fused = 4) {
    std::vector<v1::AlignScansRequest> sent;  // by the server's thread, read once it has ended
    FakeBehaviour behaviour;
    behaviour.align_scans = [&sent, first_accepted, first_fused](
                                grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
      v1::AlignScansRequest request;
      v1::AlignScansResponse response;
      stream->Read(&request);
      response.mutable_opened()->set_max_message_bytes(1 << 20);
      stream->Write(response);
      while (stream->Read(&request)) {
        sent.push_back(request);
        if (!request.has_scan()) continue;
        v1::AlignmentResult& result = *response.mutable_result();
        result.set_sequence(request.scan().sequence());
        result.set_status(v1::ALIGNMENT_STATUS_OK);
        result.set_accepted(request.scan().sequence() >= first_accepted);
        client::EncodePose(Pose(), result.mutable_map_t_base()->mutable_pose());
        if (request.scan().sequence() >= first_fused) {
          *result.mutable_fused()->mutable_map_t_base() = result.map_t_base();
        }
        stream->Write(response);
      }
      return grpc::Status::OK;
    };
    FakeServer server(behaviour);
    client::ChannelOptions channel;
    channel.server = server.address();
    auto session = client::LocalizationSession::Open(*client::Channel::Create(channel), {});
    EXPECT_TRUE(session.ok()) << session.status();
    if (!session.ok()) return {};
    ScanLoader loader(FileScans(input_.scans), input_.scans, FilterOptions(), 0, 0);
    const GuessSource guesses(input_, kind, std::nullopt, 0);
    const ReplayOutcome outcome = RunReplay(input_, guesses, options, &loader, session->get());
    EXPECT_TRUE(outcome.end.ok()) << outcome.end;
    EXPECT_EQ(outcome.rows.size(), input_.scans.size());
    EXPECT_TRUE((*session)->Close(20.0).ok());
    server.Stop();
    return sent;
  }

  // Runs a replay over a server that answers the first `answers` scans and then ends the session.
  ReplayOutcome RunOver(int answers, const ReplayOptions& options) {
    FakeBehaviour behaviour;
    behaviour.align_scans = [answers](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
      v1::AlignScansRequest request;
      v1::AlignScansResponse response;
      stream->Read(&request);
      response.mutable_opened()->set_max_message_bytes(1 << 20);
      stream->Write(response);
      for (int answered = 0; stream->Read(&request);) {
        if (!request.has_scan()) continue;
        if (answered++ == answers) {
          return grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "taken away");
        }
        response.mutable_result()->set_sequence(request.scan().sequence());
        response.mutable_result()->set_status(v1::ALIGNMENT_STATUS_OK);
        stream->Write(response);
      }
      return grpc::Status::OK;
    };
    FakeServer server(behaviour);
    client::ChannelOptions channel;
    channel.server = server.address();
    auto session = client::LocalizationSession::Open(*client::Channel::Create(channel), {});
    EXPECT_TRUE(session.ok()) << session.status();
    if (!session.ok()) return {{}, session.status()};
    ScanLoader loader(FileScans(input_.scans), input_.scans, FilterOptions(), 0,
                      options.rate_hz > 0.0 ? 3 : 0);
    const GuessSource guesses(input_, GuessSource::Kind::kTruth, std::nullopt, 0);
    ReplayOutcome outcome = RunReplay(input_, guesses, options, &loader, session->get());
    session->reset();
    server.Stop();
    return outcome;
  }

  ScratchDir scratch_;
  ReplayInput input_;
};

TEST_F(ReplayRunnerTest, AnEndOfTheSessionKeepsTheAnswers) {
  for (const double rate_hz : {0.0, 1000.0}) {
    ReplayOptions options;
    options.rate_hz = rate_hz;
    const ReplayOutcome outcome = RunOver(2, options);
    EXPECT_EQ(outcome.end.code(), absl::StatusCode::kPermissionDenied) << outcome.end;
    ASSERT_EQ(outcome.rows.size(), 2u);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(outcome.rows[i].index, i);
      EXPECT_EQ(outcome.rows[i].status, "OK");
    }
  }
}

TEST_F(ReplayRunnerTest, AFileThatCannotBeReadKeepsTheAnswers) {
  scratch_.Write("2.pcd", "no cloud");
  const ReplayOutcome outcome = RunOver(3, {});
  EXPECT_NE(outcome.end.message().find("2.pcd"), absl::string_view::npos) << outcome.end;
  EXPECT_EQ(outcome.rows.size(), 2u);
}

TEST_F(ReplayRunnerTest, AStopKeepsTheAnswers) {
  int replies = 0;
  ReplayOptions options;
  options.on_reply = [&replies](const ReplayRow&, const PointCloud&) { ++replies; };
  options.stop = [&replies] { return replies == 2; };
  const ReplayOutcome outcome = RunOver(3, options);
  EXPECT_EQ(outcome.end.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(outcome.rows.size(), 2u);
}

// An answer that never comes does not hold up the one who wants to end.
TEST_F(ReplayRunnerTest, AStopEndsTheWaitForAnAnswer) {
  std::atomic<bool> stop{false};
  FakeBehaviour behaviour;
  behaviour.align_scans = [&stop](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
    v1::AlignScansRequest request;
    v1::AlignScansResponse response;
    stream->Read(&request);
    response.mutable_opened()->set_max_message_bytes(1 << 20);
    stream->Write(response);
    while (stream->Read(&request)) stop = true;
    return grpc::Status::OK;
  };
  FakeServer server(behaviour);
  client::ChannelOptions channel;
  channel.server = server.address();
  auto session = client::LocalizationSession::Open(*client::Channel::Create(channel), {});
  ASSERT_TRUE(session.ok()) << session.status();
  ScanLoader loader(FileScans(input_.scans), input_.scans, FilterOptions(), 0, 0);
  const GuessSource guesses(input_, GuessSource::Kind::kTruth, std::nullopt, 0);
  ReplayOptions options;
  options.timeout_s = 0.0;  // no limit
  options.stop = [&stop] { return stop.load(); };
  const ReplayOutcome outcome = RunReplay(input_, guesses, options, &loader, session->get());
  EXPECT_EQ(outcome.end.code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(outcome.rows.empty());
  session->reset();
  server.Stop();
}

TEST_F(ReplayRunnerTest, ScansBringTheirGuesses) {
  const auto sent = Sent({});
  ASSERT_EQ(sent.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(sent[i].scan().guess_map_t_base().pose().position().x(), static_cast<double>(i));
  }
}

TEST_F(ReplayRunnerTest, ScansBringTheirOdometry) {
  EXPECT_FALSE(Sent({})[0].scan().has_odom_t_base());
  for (int i = 0; i < 3; ++i) {
    input_.odometry.push_back({{0.0, 1.5 * i, 0.0}, Eigen::Quaterniond::Identity()});
  }
  const auto sent = Sent({});
  ASSERT_EQ(sent.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(sent[i].scan().odom_t_base().position().y(), 1.5 * static_cast<double>(i));
    EXPECT_TRUE(sent[i].scan().has_guess_map_t_base());
  }
}

TEST_F(ReplayRunnerTest, ByOdometryScansBringAGuessUntilOneIsAccepted) {
  for (int i = 0; i < 3; ++i) {
    input_.odometry.push_back({{1.5 * i, 0.0, 0.0}, Eigen::Quaterniond::Identity()});
  }
  ReplayOptions options;
  std::vector<double> dead_reckoned_x;
  options.on_reply = [&dead_reckoned_x](const ReplayRow& row, const PointCloud&) {
    dead_reckoned_x.push_back(row.dead_reckoned_map_T_base->translation.x());
  };
  options.guess_covariance = Matrix6::Identity();
  const auto sent = Sent(options, GuessSource::Kind::kOdometry, 2);
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_EQ(sent[0].scan().guess_map_t_base().covariance_size(), 36);
  EXPECT_EQ(sent[0].scan().guess_map_t_base().covariance(0), 1.0);
  // 2 % of 1.5 m, and 1 mrad a metre.
  ASSERT_EQ(sent[1].scan().guess_map_t_base().covariance_size(), 36);
  EXPECT_NEAR(sent[1].scan().guess_map_t_base().covariance(7), 1.0 + 0.03 * 0.03, 1e-12);
  EXPECT_NEAR(sent[1].scan().guess_map_t_base().covariance(28), 1.0 + 0.0015 * 0.0015, 1e-12);
  EXPECT_EQ(sent[1].scan().guess_map_t_base().covariance(1), 0.0);
  EXPECT_EQ(sent[0].scan().guess_map_t_base().pose().position().x(), 0.0);
  EXPECT_EQ(sent[1].scan().guess_map_t_base().pose().position().x(), 1.5);
  EXPECT_FALSE(sent[2].scan().has_guess_map_t_base());
  EXPECT_EQ(sent[2].scan().odom_t_base().position().x(), 3.0);
  EXPECT_EQ(dead_reckoned_x, (std::vector<double>{0.0, 1.5, 3.0}));
}

TEST_F(ReplayRunnerTest, ByOdometryAFilterThatKnowsAPoseGivesTheGuessesBeforeAScanIsAccepted) {
  for (int i = 0; i < 3; ++i) input_.odometry.emplace_back();
  const auto sent = Sent({}, GuessSource::Kind::kOdometry, 4, 1);
  ASSERT_EQ(sent.size(), 3u);
  EXPECT_TRUE(sent[0].scan().has_guess_map_t_base());
  EXPECT_FALSE(sent[1].scan().has_guess_map_t_base());
  EXPECT_FALSE(sent[2].scan().has_guess_map_t_base());
}

TEST_F(ReplayRunnerTest, SessionPosesComeBeforeTheirScansInPlaceOfGuesses) {
  ReplayOptions options;
  options.session_poses = true;
  const auto sent = Sent(options);
  // Pose, pose, scan; then pose, scan.
  ASSERT_EQ(sent.size(), 7u);
  EXPECT_LT(sent[0].pose().stamp_ns(), sent[1].pose().stamp_ns());
  for (size_t i = 0; i < 3; ++i) {
    const v1::AlignScansRequest& pose = sent[1 + 2 * i];
    const v1::AlignScansRequest& scan = sent[2 + 2 * i];
    ASSERT_TRUE(pose.has_pose() && scan.has_scan()) << i;
    EXPECT_EQ(pose.pose().stamp_ns(), scan.scan().stamp_ns());
    EXPECT_EQ(pose.pose().map_t_base().pose().position().x(), static_cast<double>(i));
    EXPECT_FALSE(scan.scan().has_guess_map_t_base());
  }
}

TEST_F(ReplayRunnerTest, ReferencesReachUpToTheFirstThatIsNotBeforeTheScan) {
  ReplayOptions options;
  const int64_t first_ns = input_.truth[0].stamp_ns;
  for (const int64_t stamp_ns : {first_ns - 5, first_ns + kPeriod_ns / 2, first_ns + kPeriod_ns,
                                 first_ns + 10 * kPeriod_ns, first_ns + 11 * kPeriod_ns}) {
    Pose pose;
    pose.translation.y() = static_cast<double>(stamp_ns - first_ns);
    options.references.push_back({stamp_ns, pose});
  }
  std::string order;
  for (const v1::AlignScansRequest& message : Sent(options)) {
    order += message.has_scan() ? 's' : 'r';
    if (!message.has_reference()) continue;
    EXPECT_EQ(message.reference().position().y(),
              static_cast<double>(message.reference().stamp_ns() - first_ns));
  }
  EXPECT_EQ(order, "rrsrsrs") << "the last reference is of no use to a scan";
}

TEST(ViewScans, KeepsThePointsAndSaysWhatTheServerRefuses) {
  int scored = 0;
  FakeBehaviour behaviour;  // without GetCells
  behaviour.score_poses = [&scored](FakeBehaviour::ScoreStream*) {
    ++scored;
    return grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "the caller may not score");
  };
  FakeServer server(behaviour);
  client::ChannelOptions channel;
  channel.server = server.address();
  std::vector<ReplayRow> rows(2);
  std::vector<ChosenScan> chosen(2);
  for (size_t i = 0; i < 2; ++i) {
    rows[i].map_T_base = Pose();
    chosen[i].index = i;
    chosen[i].cloud.PushBack(1.0f, 2.0f, 3.0f);
  }
  Pose base_T_sensor;
  base_T_sensor.translation = {10.0, 0.0, 0.0};
  const ScanViews views =
      ViewScans(*client::Channel::Create(channel), {}, chosen, rows, base_T_sensor);
  server.Stop();
  ASSERT_EQ(views.scans.size(), 2u);
  EXPECT_EQ(views.scans[1].points_base.Point(0), Eigen::Vector3d(11.0, 2.0, 3.0));
  EXPECT_NE(views.cells_missing.find("GetCells"), std::string::npos) << views.cells_missing;
  EXPECT_NE(views.scores_missing.find("may not score"), std::string::npos);
  EXPECT_EQ(scored, 1) << "what was refused once is not asked for again";
}

TEST_F(ReplayRunnerTest, TheCommandSaysWhenAndWithWhatItRan) {
  v1::OpenSession open;
  FakeBehaviour behaviour;
  behaviour.align_scans = [&open](grpc::ServerContext*, FakeBehaviour::AlignStream* stream) {
    v1::AlignScansRequest request;
    v1::AlignScansResponse response;
    stream->Read(&request);
    open = request.open();
    response.mutable_opened()->set_max_message_bytes(1 << 20);
    response.mutable_opened()->set_server_version("1.2.2");
    stream->Write(response);
    for (uint64_t revision = 4; stream->Read(&request);) {
      if (!request.has_scan()) continue;
      v1::AlignmentResult& result = *response.mutable_result();
      result.set_sequence(request.scan().sequence());
      result.set_status(v1::ALIGNMENT_STATUS_OK);
      result.set_map_revision(revision++);
      stream->Write(response);
    }
    return grpc::Status::OK;
  };
  const FakeServer server(behaviour);
  const std::string scans = input_.scans[0].substr(0, input_.scans[0].rfind('/'));
  const std::string poses =
      scratch_.Write("poses/all.txt", "1.0 0 0 0 0 0 0 1\n1.1 1 0 0 0 0 0 1\n1.2 2 0 0 0 0 0 1\n");
  const std::string out = scratch_.Path("out/run.json");
  const std::vector<std::string> arguments = {"replay",
                                              "--map",
                                              "town",
                                              "--scans",
                                              scans,
                                              "--poses",
                                              poses,
                                              "--pose-format",
                                              "tum",
                                              "--leaf",
                                              "0.5",
                                              "--server",
                                              server.address(),
                                              "--json",
                                              out,
                                              "--odometry",
                                              poses,
                                              "--fusion",
                                              "--fusion-option",
                                              "scale_sigma=0.01"};
  const ParsedCommandLine parsed = ParseCommandLine(arguments);
  ASSERT_TRUE(parsed.work) << parsed.error;
  const absl::StatusOr<ExitCode> code = parsed.work();
  ASSERT_TRUE(code.ok()) << code.status();
  std::ifstream file(out);
  const Json run = Json::parse(file, nullptr, false);
  ASSERT_TRUE(run.is_object());
  EXPECT_TRUE(std::regex_match(run.at("started_at").get<std::string>(),
                               std::regex(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)")));
  EXPECT_EQ(run.at("command_line"), CommandLineText(arguments));
  EXPECT_EQ(run.at("server_version"), "1.2.2");
  EXPECT_FALSE(run.at("client_version").get<std::string>().empty());
  EXPECT_EQ(run.at("filter").at("leaf_m"), 0.5);
  EXPECT_EQ(run.at("filter").at("by_server"), false);
  EXPECT_EQ(run.at("map_revisions"), Json::parse(R"({"min": 4, "max": 6})"));
  EXPECT_EQ(run.at("guess"), "odometry");
  EXPECT_EQ(run.at("fusion").at("scale_sigma"), 0.01);
  ASSERT_TRUE(open.has_fusion());
  EXPECT_EQ(open.fusion().scale_sigma().value(), 0.01);
  EXPECT_FALSE(open.fusion().has_position_sigma_per_metre());
}

}  // namespace
}  // namespace voxloc::cli
