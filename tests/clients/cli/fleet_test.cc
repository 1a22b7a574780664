// SPDX-License-Identifier: Apache-2.0
//
// `voxloc fleet` against servers in the test's process, one of which may be down.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/fleet/fleet_state.h"
#include "clients/cli/output/output.h"
#include "clients/cli/output/terminal.h"
#include "tests/clients/cpp/fake_server.h"
#include "tests/support/scratch_dir.h"

namespace voxloc::cli {
namespace {

using ::nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kSecond_ns = 1'000'000'000;
constexpr int64_t kStart_ns = 1'700'000'000 * kSecond_ns;

v1::MapRevision RevisionOf(uint64_t number, v1::RevisionState state) {
  v1::MapRevision revision;
  revision.set_revision(number);
  revision.set_state(state);
  revision.set_committed_at_ns(kStart_ns);
  return revision;
}

v1::SessionInfo SessionOf(const std::string& vehicle, uint64_t revision, uint64_t answered,
                          uint64_t accepted) {
  v1::SessionInfo session;
  session.set_session("session of " + vehicle);
  session.set_vehicle(vehicle);
  session.set_map("town");
  session.set_map_revision(revision);
  session.set_opened_at_ns(kStart_ns);
  session.set_answered_at_ns(kStart_ns);
  session.set_answered(answered);
  session.set_accepted(accepted);
  session.set_status(v1::ALIGNMENT_STATUS_OK);
  return session;
}

// A server with a map, town, and what is said of it. Its clock moves by one second with each look.
class TownServer {
 public:
  TownServer() : server_(Behaviour()) {}

  [[nodiscard]] std::string address() const { return server_.address(); }
  void Stop() { server_.Stop(); }

  void AddVehicle(const v1::SessionInfo& session) {
    const std::lock_guard<std::mutex> lock(mutex_);
    sessions_.push_back(session);
  }
  void SetRevision(const v1::MapRevision& revision) {
    const std::lock_guard<std::mutex> lock(mutex_);
    revisions_[revision.revision()] = revision;
  }
  void AddTile(const std::string& id, double change) {
    const std::lock_guard<std::mutex> lock(mutex_);
    v1::TileInfo tile;
    tile.set_tile_id(id);
    tile.mutable_fit()->set_change(change);
    tiles_.push_back(tile);
  }
  v1::RevisionState StateOf(uint64_t revision) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return revisions_.at(revision).state();
  }

  std::atomic<bool> refuses_sessions{false};
  std::atomic<bool> refuses_changes{false};
  // Answers by which each session's counts rise from one look to the next; accepted ones.
  std::atomic<uint64_t> answered_each_look{0};
  std::atomic<uint64_t> accepted_each_look{0};

 private:
  client::FakeBehaviour Behaviour() {
    client::FakeBehaviour behaviour;
    behaviour.get_server_info = [this](grpc::ServerContext*, v1::GetServerInfoResponse* info) {
      info->set_version("1.2.3");
      info->set_engine("cpu");
      info->set_state(v1::SERVER_STATE_SERVING);
      info->set_started_at_ns(kStart_ns);
      info->set_now_ns(kStart_ns + ++looks_ * kSecond_ns);
      return grpc::Status::OK;
    };
    behaviour.list_sessions = [this](const v1::ListSessionsRequest& request,
                                     v1::ListSessionsResponse* response) {
      if (refuses_sessions) return grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "no admin");
      const std::lock_guard<std::mutex> lock(mutex_);
      for (v1::SessionInfo& session : sessions_) {
        if (request.map().empty() || request.map() == session.map()) {
          *response->add_sessions() = session;
        }
        session.set_answered(session.answered() + answered_each_look);
        session.set_accepted(session.accepted() + accepted_each_look);
      }
      return grpc::Status::OK;
    };
    behaviour.list_maps = [](const v1::ListMapsRequest&, v1::ListMapsResponse* response) {
      response->add_maps()->set_name("town");
      return grpc::Status::OK;
    };
    behaviour.list_revisions = [this](const v1::ListRevisionsRequest&,
                                      v1::ListRevisionsResponse* response) {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (const auto& entry : revisions_) *response->add_revisions() = entry.second;
      return grpc::Status::OK;
    };
    behaviour.list_tiles = [this](const v1::ListTilesRequest&, v1::ListTilesResponse* response) {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (const v1::TileInfo& tile : tiles_) *response->add_tiles() = tile;
      return grpc::Status::OK;
    };
    behaviour.activate_revision = [this](const v1::ActivateRevisionRequest& request,
                                         v1::ActivateRevisionResponse*) {
      return Change(request.revision(), v1::REVISION_STATE_ACTIVE);
    };
    behaviour.withdraw_revision = [this](const v1::WithdrawRevisionRequest& request,
                                         v1::WithdrawRevisionResponse*) {
      return Change(request.revision(), v1::REVISION_STATE_WITHDRAWN);
    };
    return behaviour;
  }

  grpc::Status Change(uint64_t revision, v1::RevisionState state) {
    if (refuses_changes) return {grpc::StatusCode::ABORTED, "another revision was activated"};
    const std::lock_guard<std::mutex> lock(mutex_);
    revisions_[revision].set_state(state);
    return grpc::Status::OK;
  }

  std::mutex mutex_;
  std::vector<v1::SessionInfo> sessions_;
  std::map<uint64_t, v1::MapRevision> revisions_ = {{3, RevisionOf(3, v1::REVISION_STATE_ACTIVE)}};
  std::vector<v1::TileInfo> tiles_;
  std::atomic<int> looks_{0};
  client::FakeServer server_;
};

class Fleet : public ::testing::Test {
 protected:
  // Runs `fleet ARGUMENTS...` with --server for each address; what it prints is `printed_`.
  absl::StatusOr<ExitCode> Run(std::vector<std::string> arguments,
                               const std::vector<std::string>& servers) {
    arguments.insert(arguments.begin(), "fleet");
    for (const std::string& server : servers) {
      arguments.emplace_back("--server");
      arguments.push_back(server);
    }
    const ParsedCommandLine parsed = ParseCommandLine(arguments);
    if (!parsed.work) return absl::InvalidArgumentError(parsed.error);
    ::testing::internal::CaptureStdout();
    absl::StatusOr<ExitCode> code = parsed.work();
    printed_ = ::testing::internal::GetCapturedStdout();
    return code;
  }

  // One look as JSON.
  json Poll(const std::vector<std::string>& servers, ExitCode expected = ExitCode::kOk) {
    const auto code = Run({"--once", "--interval", "0.1", "--json", "-"}, servers);
    EXPECT_TRUE(code.ok()) << code.status();
    if (code.ok()) {
      EXPECT_EQ(*code, expected);
    }
    json look = json::parse(printed_, nullptr, false);
    EXPECT_FALSE(look.is_discarded()) << printed_;
    return look;
  }

  const ScratchDir scratch_;
  TownServer a_;
  TownServer b_;
  std::string printed_;
};

TEST_F(Fleet, ShowsAllServersAndWhoRunsWhichRevision) {
  a_.AddVehicle(SessionOf("bus-1", 3, 10, 10));
  a_.AddVehicle(SessionOf("bus-2", 3, 10, 10));
  a_.AddVehicle(SessionOf("bus-7", 4, 10, 10));
  v1::MapRevision staged = RevisionOf(4, v1::REVISION_STATE_STAGED);
  staged.add_canary_vehicles("bus-7");
  a_.SetRevision(staged);
  b_.AddVehicle(SessionOf("tram-1", 3, 10, 10));
  const json look = Poll({a_.address() + "," + b_.address()});
  ASSERT_EQ(look["servers"].size(), 2u);
  EXPECT_EQ(look["vehicles"], 4);
  EXPECT_EQ(look["answering_servers"], 2);
  const json& map = look["servers"][0]["maps"][0];
  EXPECT_EQ(map["name"], "town");
  ASSERT_EQ(map["in_use"].size(), 2u);
  EXPECT_EQ(map["in_use"][0]["revision"], 3);
  EXPECT_EQ(map["in_use"][0]["vehicles"], 2);
  EXPECT_EQ(map["in_use"][1]["revision"], 4);
  EXPECT_EQ(map["in_use"][1]["vehicles"], 1);
  EXPECT_EQ(map["revisions"][1]["state"], "STAGED");
  EXPECT_EQ(look["servers"][1]["vehicles"][0]["vehicle"], "tram-1");
}

TEST_F(Fleet, RatesAreThoseSinceTheLookBefore) {
  a_.AddVehicle(SessionOf("bus-1", 3, 1000, 0));
  a_.answered_each_look = 20;
  a_.accepted_each_look = 15;
  const json look = Poll({a_.address()});
  const json& vehicle = look["servers"][0]["vehicles"][0];
  EXPECT_DOUBLE_EQ(vehicle["rate_per_s"], 20.0) << "one second passed by the server's clock";
  EXPECT_DOUBLE_EQ(vehicle["accepted_ratio"], 0.75) << "not the 15 of 1020 since it was opened";
  EXPECT_DOUBLE_EQ(vehicle["silent_s"], 2.0);
  EXPECT_EQ(vehicle["needs_attention"], true);
}

TEST_F(Fleet, AServerThatIsDownLeavesTheOthers) {
  a_.AddVehicle(SessionOf("bus-1", 3, 10, 10));
  b_.Stop();
  const json look = Poll({b_.address(), a_.address()}, ExitCode::kUnreachable);
  EXPECT_EQ(look["answering_servers"], 1);
  EXPECT_EQ(look["errors"].size(), 1u);
  EXPECT_THAT(look["servers"][0]["error"].get<std::string>(), HasSubstr(b_.address()));
  EXPECT_EQ(look["servers"][1]["vehicles"][0]["vehicle"], "bus-1");
  EXPECT_EQ(look["servers"][1]["maps"][0]["name"], "town");
}

TEST_F(Fleet, ACallThatIsRefusedLeavesTheOtherCalls) {
  a_.refuses_sessions = true;
  const json look = Poll({a_.address()}, ExitCode::kFailed);
  EXPECT_THAT(look["servers"][0]["sessions_error"].get<std::string>(), HasSubstr("no admin"));
  EXPECT_EQ(look["servers"][0]["maps"][0]["revisions"].size(), 1u);
}

TEST_F(Fleet, TextIsPlainWithoutATerminalAndFits80Columns) {
  const std::string hostile = "\x1b[2J\x07" + std::string(200, 'x') + "\xe2\x80\xae";
  a_.AddVehicle(SessionOf(hostile, 3, 10, 10));
  a_.AddTile(hostile, 0.5);
  b_.Stop();
  const auto code =
      Run({"--once", "--interval", "0.1", "--width", "80"}, {a_.address(), b_.address()});
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_THAT(printed_, HasSubstr("\\x1b["));
  EXPECT_THAT(printed_, HasSubstr("no answer"));
  EXPECT_THAT(printed_, HasSubstr("0.50"));
  for (const absl::string_view line : absl::StrSplit(printed_, '\n')) {
    EXPECT_LE(line.size(), 80u) << line;
    for (const char c : line) EXPECT_TRUE(c >= ' ' && c <= '~') << static_cast<int>(c);
  }
}

TEST_F(Fleet, TextHasALineForEachRevisionThatMatters) {
  a_.AddVehicle(SessionOf("bus-1", 2, 10, 10));
  a_.AddVehicle(SessionOf("bus-7", 4, 10, 10));
  a_.SetRevision(RevisionOf(1, v1::REVISION_STATE_SUPERSEDED));
  v1::MapRevision staged = RevisionOf(4, v1::REVISION_STATE_STAGED);
  staged.add_canary_vehicles("bus-7");
  staged.add_canary_vehicles("bus-8");
  a_.SetRevision(staged);
  const std::string server = a_.address();
  ASSERT_TRUE(Run({"--once", "--interval", "0.1"}, {server}).ok());
  const auto has_line = [&](const std::string& pattern) {
    return std::regex_search(printed_, std::regex("\\ntown +" + server + " +" + pattern));
  };
  EXPECT_TRUE(has_line("3  active +0 ")) << printed_;
  EXPECT_TRUE(has_line("4  staged +1 of 2 ")) << printed_;
  EXPECT_TRUE(has_line("2  not kept +1 ")) << printed_;
  EXPECT_FALSE(has_line("1 ")) << "revision 1 is superseded and not in use\n" << printed_;
}

// Of one revision, the means of all answers alike.
v1::RevisionAnswers AnswersOn(uint64_t revision, uint64_t answered, uint64_t accepted, double nvtl,
                              double innovation) {
  v1::RevisionAnswers answers;
  answers.set_revision(revision);
  answers.set_answered(answered);
  answers.set_accepted(accepted);
  answers.set_aligned(answered);
  answers.set_mean_nvtl(nvtl);
  answers.set_with_confidence(answered);
  answers.set_mean_confidence(0.5);
  answers.set_mean_innovation(innovation);
  answers.set_mean_sharp_ratio(0.75);
  answers.set_mean_seen_through_ratio(0.25);
  return answers;
}

TEST_F(Fleet, ComparesAStagedRevisionWithWhatTheSameVehiclesUsedBefore) {
  v1::MapRevision staged = RevisionOf(4, v1::REVISION_STATE_STAGED);
  staged.add_canary_vehicles("bus-7");
  a_.SetRevision(staged);
  v1::SessionInfo both = SessionOf("bus-7", 4, 40, 40);
  *both.add_by_revision() = AnswersOn(3, 30, 27, 2.0, 1.5);
  *both.add_by_revision() = AnswersOn(4, 10, 10, 3.0, 0.5);
  a_.AddVehicle(both);
  v1::SessionInfo other = SessionOf("bus-8", 4, 40, 40);
  *other.add_by_revision() = AnswersOn(3, 10, 9, 4.0, 3.5);
  *other.add_by_revision() = AnswersOn(4, 30, 30, 5.0, 0.5);
  a_.AddVehicle(other);
  v1::SessionInfo only = SessionOf("bus-9", 4, 10, 0);
  *only.add_by_revision() = AnswersOn(4, 10, 0, 0.0, 9.0);
  a_.AddVehicle(only);
  v1::SessionInfo back = SessionOf("bus-1", 3, 10, 0);
  *back.add_by_revision() = AnswersOn(4, 10, 0, 0.0, 9.0);
  *back.add_by_revision() = AnswersOn(3, 10, 0, 0.0, 9.0);
  a_.AddVehicle(back);

  ASSERT_TRUE(Run({"--once", "--interval", "0.1"}, {a_.address()}).ok());
  const std::string start = "\ntown +" + a_.address() + " +4  ";
  const std::string before = "before +2 +40 +90\\.0 % +2\\.50 +2\\.00 +75\\.0 % +25\\.0 %\n";
  const std::string after = "on it +2 +40 +100\\.0 % +4\\.50 +0\\.50 +75\\.0 % +25\\.0 %\n";
  EXPECT_TRUE(std::regex_search(printed_, std::regex(start + before))) << printed_;
  EXPECT_TRUE(std::regex_search(printed_, std::regex(start + after))) << printed_;

  const json trials = Poll({a_.address()})["servers"][0]["maps"][0]["trials"];
  ASSERT_EQ(trials.size(), 1u);
  EXPECT_EQ(trials[0]["revision"], 4);
  EXPECT_EQ(trials[0]["vehicles"], 2);
  EXPECT_EQ(trials[0]["before"]["accepted_ratio"], 0.9);
  EXPECT_EQ(trials[0]["before"]["nvtl"], 2.5);
  EXPECT_EQ(trials[0]["after"]["innovation"], 0.5);
}

TEST_F(Fleet, TheViewEndsAfterItsRefreshesAndIsPlainInAPipe) {
  const auto code = Run({"--refreshes", "3", "--interval", "0.1"}, {a_.address()});
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_THAT(printed_, Not(HasSubstr("\x1b")));
  size_t looks = 0;
  for (size_t at = 0; (at = printed_.find("1 of 1 servers", at)) != std::string::npos; ++at)
    ++looks;
  EXPECT_EQ(looks, 3u);
}

TEST_F(Fleet, ThePageHoldsHostileNamesAsDataOnly) {
  const std::string hostile = "</script><script>alert(1)</script>";
  a_.AddVehicle(SessionOf(hostile, 3, 10, 10));
  const std::string path = scratch_.Path("fleet.html");
  const auto code = Run({"--html", path, "--interval", "0.1"}, {a_.address()});
  ASSERT_TRUE(code.ok()) << code.status();
  std::ifstream file(path);
  std::stringstream html;
  html << file.rdbuf();
  EXPECT_THAT(html.str(), Not(HasSubstr("alert(1)</script>")));
  EXPECT_THAT(html.str(), Not(HasSubstr("http://")));
  EXPECT_THAT(html.str(), Not(HasSubstr("https://")));
  EXPECT_THAT(html.str(), Not(HasSubstr("{{")));
  EXPECT_THAT(html.str(), HasSubstr("voxloc-data"));
}

TEST_F(Fleet, ServesAPageUntilItsRefreshesAreOver) {
  a_.AddVehicle(SessionOf("bus-1", 3, 10, 10));
  const auto code =
      Run({"--serve", "127.0.0.1:0", "--refreshes", "2", "--interval", "0.1"}, {a_.address()});
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_TRUE(std::regex_match(printed_, std::regex("page: http://127\\.0\\.0\\.1:[0-9]+/\n")))
      << printed_;
}

TEST_F(Fleet, VehiclesThatNeedAttentionComeFirstAndTheRestIsCounted) {
  for (int i = 0; i < 5; ++i) a_.AddVehicle(SessionOf(absl::StrCat("bus-", i), 3, 10, 10));
  v1::SessionInfo lost = SessionOf("zz-lost", 3, 10, 10);
  lost.set_status(v1::ALIGNMENT_STATUS_OUT_OF_MAP);
  a_.AddVehicle(lost);
  ASSERT_TRUE(Run({"--once", "--interval", "0.1", "--most", "2"}, {a_.address()}).ok());
  EXPECT_LT(printed_.find("zz-lost"), printed_.find("bus-0"));
  EXPECT_NE(printed_.find("bus-0"), std::string::npos);
  EXPECT_THAT(printed_, HasSubstr("and 4 more vehicles"));
}

TEST_F(Fleet, ActivatesOnAllServers) {
  a_.SetRevision(RevisionOf(4, v1::REVISION_STATE_STAGED));
  b_.SetRevision(RevisionOf(4, v1::REVISION_STATE_STAGED));
  const auto code = Run({"activate", "--map", "town", "--revision", "4", "--json", "-"},
                        {a_.address(), b_.address()});
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(*code, ExitCode::kOk);
  EXPECT_EQ(a_.StateOf(4), v1::REVISION_STATE_ACTIVE);
  EXPECT_EQ(b_.StateOf(4), v1::REVISION_STATE_ACTIVE);
  const json result = json::parse(printed_);
  EXPECT_EQ(result["servers"][1]["changed"], true);
  // Again: they have it already.
  const auto again = Run({"activate", "--map", "town", "--revision", "4"}, {a_.address()});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, ExitCode::kOk);
}

TEST_F(Fleet, ActivatesAfterATrialThatHolds) {
  const std::vector<std::string> activate = {
      "activate", "--map", "town", "--revision", "4", "--after-trial", "--min-scans", "50"};
  for (TownServer* server : {&a_, &b_}) {
    server->SetRevision(RevisionOf(4, v1::REVISION_STATE_STAGED));
  }
  const auto run = [&] { return Run(activate, {a_.address(), b_.address()}); };
  const auto none = run();
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(*none, ExitCode::kNotAccepted);
  EXPECT_EQ(printed_,
            "the trial of revision 4 of map town does not hold:\n"
            "  no vehicle has used it and another revision before\n");

  v1::SessionInfo bus = SessionOf("bus-7", 4, 70, 70);
  *bus.add_by_revision() = AnswersOn(3, 30, 28, 2.5, 1.5);
  *bus.add_by_revision() = AnswersOn(4, 40, 37, 2.4, 1.57);
  a_.AddVehicle(bus);
  const auto few = run();
  ASSERT_TRUE(few.ok()) << few.status();
  EXPECT_EQ(*few, ExitCode::kNotAccepted);
  EXPECT_THAT(printed_, HasSubstr("its vehicles have 30 answers before it, and 50 are asked for"));
  EXPECT_THAT(printed_, HasSubstr("its vehicles have 40 answers on it, and 50 are asked for"));
  EXPECT_EQ(a_.StateOf(4), v1::REVISION_STATE_STAGED);

  bus.set_vehicle("bus-8");
  b_.AddVehicle(bus);
  b_.refuses_sessions = true;
  EXPECT_EQ(run().status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(a_.StateOf(4), v1::REVISION_STATE_STAGED);
  b_.refuses_sessions = false;
  const auto held = run();
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_EQ(*held, ExitCode::kOk) << printed_;
  EXPECT_EQ(a_.StateOf(4), v1::REVISION_STATE_ACTIVE);
  EXPECT_EQ(b_.StateOf(4), v1::REVISION_STATE_ACTIVE);
}

TEST_F(Fleet, SaysWhatIsWorseInATrial) {
  a_.SetRevision(RevisionOf(4, v1::REVISION_STATE_STAGED));
  v1::SessionInfo bus = SessionOf("bus-7", 4, 70, 70);
  *bus.add_by_revision() = AnswersOn(3, 100, 100, 2.5, 1.5);
  v1::RevisionAnswers after = AnswersOn(4, 100, 94, 2.3, 1.6);
  after.set_mean_sharp_ratio(0.69);
  after.set_mean_seen_through_ratio(0.31);
  *bus.add_by_revision() = after;
  a_.AddVehicle(bus);
  std::vector<std::string> activate = {"activate",      "--map",       "town", "--revision", "4",
                                       "--after-trial", "--min-scans", "100",  "--json",     "-"};
  const auto worse = Run(activate, {a_.address()});
  ASSERT_TRUE(worse.ok()) << worse.status();
  EXPECT_EQ(*worse, ExitCode::kNotAccepted);
  const json result = json::parse(printed_);
  EXPECT_THAT(
      result["faults"].get<std::vector<std::string>>(),
      ElementsAre("accepted share: 0.940 on it, 1.000 before it",
                  "score: 2.300 on it, 2.500 before it", "innovation: 1.600 on it, 1.500 before it",
                  "explained share: 0.690 on it, 0.750 before it",
                  "share seen through: 0.310 on it, 0.250 before it"));
  EXPECT_EQ(result["trial"]["after"]["nvtl"], 2.3);
  EXPECT_EQ(a_.StateOf(4), v1::REVISION_STATE_STAGED);

  activate.insert(activate.end(), {"--tolerance", "9"});
  const auto held = Run(activate, {a_.address()});
  ASSERT_TRUE(held.ok()) << held.status();
  EXPECT_EQ(*held, ExitCode::kOk) << printed_;
  EXPECT_EQ(a_.StateOf(4), v1::REVISION_STATE_ACTIVE);
  EXPECT_FALSE(
      Run({"activate", "--map", "town", "--revision", "4", "--tolerance", "9"}, {a_.address()})
          .ok());
}

TEST_F(Fleet, ChangesNothingWhereOneServerCannotChange) {
  a_.SetRevision(RevisionOf(4, v1::REVISION_STATE_STAGED));
  const auto missing =
      Run({"activate", "--map", "town", "--revision", "4"}, {a_.address(), b_.address()});
  ASSERT_TRUE(missing.ok()) << missing.status();
  EXPECT_EQ(*missing, ExitCode::kFailed);
  EXPECT_THAT(printed_, HasSubstr("has no revision 4 of map town"));
  EXPECT_THAT(printed_, HasSubstr(a_.address() + ": nothing was changed"));
  EXPECT_EQ(a_.StateOf(4), v1::REVISION_STATE_STAGED);

  b_.SetRevision(RevisionOf(4, v1::REVISION_STATE_SUPERSEDED));
  const auto superseded =
      Run({"withdraw", "--map", "town", "--revision", "4"}, {a_.address(), b_.address()});
  ASSERT_TRUE(superseded.ok()) << superseded.status();
  EXPECT_THAT(printed_, HasSubstr("must be staged (it is superseded)"));
  EXPECT_EQ(a_.StateOf(4), v1::REVISION_STATE_STAGED);

  b_.Stop();
  const auto down =
      Run({"activate", "--map", "town", "--revision", "4"}, {a_.address(), b_.address()});
  ASSERT_TRUE(down.ok()) << down.status();
  EXPECT_EQ(*down, ExitCode::kUnreachable);
  EXPECT_EQ(a_.StateOf(4), v1::REVISION_STATE_STAGED);
}

TEST_F(Fleet, StopsAtTheFirstServerThatRefuses) {
  TownServer c;
  for (TownServer* server : {&a_, &b_, &c}) {
    server->SetRevision(RevisionOf(4, v1::REVISION_STATE_STAGED));
  }
  b_.refuses_changes = true;
  const auto code = Run({"withdraw", "--map", "town", "--revision", "4"},
                        {a_.address(), b_.address(), c.address()});
  ASSERT_TRUE(code.ok()) << code.status();
  EXPECT_EQ(*code, ExitCode::kFailed);
  EXPECT_EQ(a_.StateOf(4), v1::REVISION_STATE_WITHDRAWN);
  EXPECT_EQ(c.StateOf(4), v1::REVISION_STATE_STAGED);
  EXPECT_THAT(printed_, HasSubstr(a_.address() + ": revision 4 is withdrawn"));
  EXPECT_THAT(printed_, HasSubstr("another revision was activated"));
  EXPECT_THAT(printed_, HasSubstr(c.address() + ": nothing was changed"));
}

TEST_F(Fleet, SaysWhatOfTheCommandLineIsWrong) {
  EXPECT_EQ(Run({"--once"}, {" , "}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Run({"--json", "-"}, {a_.address()}).status().message()),
              HasSubstr("--once or --html"));
  EXPECT_THAT(
      std::string(
          Run({"--json", "-", "--serve", "127.0.0.1:0"}, {a_.address()}).status().message()),
      HasSubstr("--once or --html"));
  EXPECT_FALSE(Run({"--once", "--serve", "127.0.0.1:0"}, {a_.address()}).ok());
  EXPECT_FALSE(Run({"--serve", "nonsense"}, {a_.address()}).ok());
  EXPECT_FALSE(Run({"--once", "--refreshes", "2"}, {a_.address()}).ok());
  EXPECT_FALSE(Run({"activate", "--map", "town"}, {a_.address()}).ok());
}

TEST(FirstLines, CountsWhatIsLeftOut) {
  EXPECT_EQ(FirstLines("a\nb\nc\n", 3), "a\nb\nc\n");
  EXPECT_EQ(FirstLines("a\nb\nc\nd\n", 3), "a\nb\nand 2 more lines\n");
}

TEST(EscapeForTerminal, KeepsPlainTextAndEscapesWhatSteersTheTerminal) {
  EXPECT_EQ(EscapeForTerminal("Bus Z\xc3\xbcrich \xe6\x9d\xb1"), "Bus Z\xc3\xbcrich \xe6\x9d\xb1");
  EXPECT_EQ(EscapeForTerminal("a\x1b[31mb\nc\x7f"), "a\\x1b[31mb\\x0ac\\x7f");
  EXPECT_EQ(EscapeForTerminal("\xc2\x9b"), "\\xc2\\x9b") << "CSI as one character";
  EXPECT_EQ(EscapeForTerminal("\xe2\x80\xae"), "\\xe2\\x80\\xae") << "right-to-left override";
  EXPECT_EQ(EscapeForTerminal(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(EscapeForTerminal("\xff\xc0\xaf\xed\xa0\x80"), "\\xff\\xc0\\xaf\\xed\\xa0\\x80");
  EXPECT_EQ(EscapeForTerminal("cut \xe2\x82"), "cut \\xe2\\x82");
}

TEST(EscapeForTerminal, CountsColumnsAndCuts) {
  EXPECT_EQ(ColumnsOf("Z\xc3\xbcrich"), 6u);
  EXPECT_EQ(ColumnsOf("\xe6\x9d\xb1\xe4\xba\xac"), 4u);
  EXPECT_EQ(TruncateToColumns("abcdefgh", 8), "abcdefgh");
  EXPECT_EQ(TruncateToColumns("abcdefghi", 8), "abcde...");
  EXPECT_EQ(TruncateToColumns("\xe6\x9d\xb1\xe4\xba\xac\xe9\x83\xbd", 5), "\xe6\x9d\xb1...");
  EXPECT_EQ(TruncateToColumns("abcdef", 2), "ab");
  EXPECT_EQ(TruncateMiddleToColumns("127.0.0.1:50051", 15), "127.0.0.1:50051");
  EXPECT_EQ(TruncateMiddleToColumns("127.0.0.1:50051", 12), "127.0...0051");
  EXPECT_EQ(TruncateMiddleToColumns("\xe6\x9d\xb1\xe4\xba\xac\xe9\x83\xbd\xe5\xba\x9c", 7),
            "\xe6\x9d\xb1...\xe5\xba\x9c");
  EXPECT_EQ(TruncateMiddleToColumns("abcdef", 2), "ab");
}

TEST(TextTable, CutsWordsBeforeNumbersToFit) {
  TextTable table("name|>points|comment");
  table.AddRow({std::string(40, 'n'), "1,234,567", std::string(30, 'c')});
  for (const absl::string_view line : absl::StrSplit(table.Text(30), '\n')) {
    EXPECT_LE(line.size(), 30u) << line;
  }
  EXPECT_THAT(table.Text(30), HasSubstr("1,234,567"));
  EXPECT_THAT(table.Text(), HasSubstr(std::string(40, 'n')));
  EXPECT_LE(std::vector<std::string>(absl::StrSplit(table.Text(10), '\n'))[1].size(), 10u);
}

}  // namespace
}  // namespace voxloc::cli
