// SPDX-License-Identifier: Apache-2.0
//
// The node's parameters: Autoware's file loads unchanged, each value goes where docs/ros.md says,
// and that page lists exactly what there is.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/ros/core/parameter_table.h"
#include "clients/ros/core/session_request.h"
#include "tests/clients/ros/fake_ports.h"

namespace voxloc::ros {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// autoware_ndt_scan_matcher's ndt_scan_matcher.param.yaml of August 2026, as rclcpp hands it over.
std::map<std::string, ParameterValue> AutowareFile() {
  std::vector<double> covariance(36, 0.0);
  for (size_t i = 0; i < 6; ++i) covariance[7 * i] = i < 3 ? 0.0225 : 0.000625;
  return {
      {"frame.base_frame", std::string("base_link")},
      {"frame.ndt_base_frame", std::string("ndt_base_link")},
      {"frame.map_frame", std::string("map")},
      {"sensor_points.timeout_sec", 1.0},
      {"sensor_points.required_distance", 10.0},
      {"ndt.trans_epsilon", 0.01},
      {"ndt.step_size", 0.1},
      {"ndt.resolution", 2.0},
      {"ndt.max_iterations", int64_t{30}},
      {"ndt.num_threads", int64_t{4}},
      {"ndt.regularization.enable", false},
      {"ndt.regularization.scale_factor", 0.01},
      {"initial_pose_estimation.particles_num", int64_t{200}},
      {"initial_pose_estimation.n_startup_trials", int64_t{100}},
      {"validation.initial_pose_timeout_sec", 1.0},
      {"validation.initial_pose_distance_tolerance_m", 10.0},
      {"validation.initial_to_result_distance_tolerance_m", 3.0},
      {"validation.critical_upper_bound_exe_time_ms", 100.0},
      {"validation.skipping_publish_num", int64_t{5}},
      {"score_estimation.converged_param_type", int64_t{1}},
      {"score_estimation.converged_param_transform_probability", 3.0},
      {"score_estimation.converged_param_nearest_voxel_transformation_likelihood", 2.3},
      {"score_estimation.no_ground_points.enable", false},
      {"score_estimation.no_ground_points.z_margin_for_ground_removal", 0.8},
      {"covariance.output_pose_covariance", covariance},
      {"covariance.covariance_estimation.covariance_estimation_type", int64_t{0}},
      {"covariance.covariance_estimation.initial_pose_offset_model_x",
       std::vector<double>{0.0, 0.0, 0.5, -0.5, 1.0, -1.0}},
      {"covariance.covariance_estimation.initial_pose_offset_model_y",
       std::vector<double>{0.5, -0.5, 0.0, 0.0, 0.0, 0.0}},
      {"covariance.covariance_estimation.temperature", 0.05},
      {"covariance.covariance_estimation.scale_factor", 1.0},
      {"dynamic_map_loading.update_distance", 20.0},
      {"dynamic_map_loading.map_radius", 150.0},
      {"dynamic_map_loading.lidar_radius", 100.0},
      {"dynamic_map_loading.publish_loaded_map", false},
  };
}

TEST(RosParameters, AutowaresFileLoadsUnchangedAndHoldsTheDefaults) {
  const auto file = AutowareFile();
  const auto loaded = LoadParameters(file);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_THAT(loaded->warnings, IsEmpty());
  std::set<std::string> autowares;
  for (const ParameterInfo& info : ParameterTable()) {
    const auto found = file.find(info.name);
    if (found == file.end()) {
      EXPECT_EQ(info.name.rfind("voxloc.", 0), 0u) << info.name;
      continue;
    }
    EXPECT_EQ(info.default_value, found->second) << info.name;
    autowares.insert(info.name);
  }
  EXPECT_EQ(autowares.size(), file.size()) << "each of Autoware's parameters is in the table";
}

TEST(RosParameters, UnknownNamesAreWarningsWithTheNearest) {
  const auto loaded = LoadParameters(
      {{"wheel_radius", 0.38}, {"ndt.max_iteration", int64_t{20}}, {"use_sim_time", true}});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->parameters.ndt.max_iterations, 30);
  EXPECT_THAT(loaded->warnings,
              ElementsAre("the node has no parameter 'ndt.max_iteration'; did you mean "
                          "'ndt.max_iterations'?",
                          "the node has no parameter 'use_sim_time'",
                          "the node has no parameter 'wheel_radius'"));
}

TEST(RosParameters, TypesThatYamlMixesUpAreAccepted) {
  const auto loaded = LoadParameters({{"ndt.resolution", int64_t{1}},
                                      {"voxloc.points.extra_topics", std::vector<double>()},
                                      {"voxloc.points.crop_min", std::vector<std::string>()}});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->parameters.ndt.resolution, 1.0);
  EXPECT_EQ(LoadParameters({{"ndt.max_iterations", 30.0}}).status().message(),
            "parameter ndt.max_iterations must be a whole number (got 30.0)");
}

TEST(RosParameters, ValuesOutOfRangeNameTheParameterAndTheRange) {
  const auto error = [](const std::string& name, const ParameterValue& value) {
    return std::string(LoadParameters({{name, value}}).status().message());
  };
  EXPECT_EQ(error("ndt.step_size", 0.0),
            "parameter ndt.step_size must be over 0 and at most 100 (got 0)");
  EXPECT_EQ(error("ndt.max_iterations", int64_t{1001}),
            "parameter ndt.max_iterations must be at least 1 and at most 1000 (got 1001)");
  EXPECT_THAT(error("voxloc.tf_output", std::string("map")), HasSubstr("base, odom, none"));
  EXPECT_THAT(error("voxloc.tf_output", std::string("odom")), HasSubstr("voxloc.odom_frame"));
  EXPECT_THAT(error("voxloc.fusion", true), HasSubstr("voxloc.odom_frame must be set for"));
  EXPECT_THAT(error("covariance.output_pose_covariance", std::vector<double>{1.0}),
              HasSubstr("36 values (got 1)"));
  EXPECT_THAT(error("voxloc.points.crop_min", std::vector<double>{0, 0, 0}),
              HasSubstr("3 values or none"));
  EXPECT_THAT(error("voxloc.map", std::string()), HasSubstr("voxloc.map must not be empty"));
  // 50051 modulo 65536.
  EXPECT_EQ(error("voxloc.server", std::string("a:1,truck:115587")),
            "parameter voxloc.server: the server address must be HOST:PORT with a port from 1 to "
            "65535 (got 'truck:115587') in 'a:1,truck:115587'");
}

TEST(SessionRequest, DefaultsAskForTheProfileAsItIs) {
  const v1::ScanSetup setup = SetupFrom(Parameters(), "ndt_scan_matcher");
  EXPECT_EQ(setup.options().profile(), "autoware");
  EXPECT_EQ(setup.vehicle(), "ndt_scan_matcher");
  EXPECT_FALSE(setup.options().has_overrides());
  EXPECT_FALSE(setup.options().has_covariance());
  EXPECT_EQ(setup.options().gate().score_type(), v1::SCORE_TYPE_UNSPECIFIED);
  // What the vehicle checks itself never warns at the server.
  const v1::ValidationOptions& validation = setup.options().gate().validation();
  EXPECT_EQ(validation.required_distance_m().value(), 0.0);
  EXPECT_GT(validation.max_execution_time_s().value(), 1e5);
  EXPECT_GT(validation.max_delay_s().value(), 1e5);
  EXPECT_GT(validation.max_skipped_scans().value(), 1'000'000u);
}

TEST(SessionRequest, ChangedValuesReachTheServer) {
  Parameters parameters;
  parameters.ndt.trans_epsilon = 0.02;
  parameters.ndt.step_size = 0.2;
  parameters.ndt.max_iterations = 20;
  parameters.voxloc.use_line_search = true;
  parameters.ndt.regularization_enable = true;
  parameters.ndt.regularization_scale_factor = 0.03;
  parameters.validation.initial_pose_timeout_sec = 0.5;
  parameters.validation.initial_pose_distance_tolerance_m = 5.0;
  parameters.validation.initial_to_result_distance_tolerance_m = 1.5;
  parameters.score_estimation.converged_param_type = 0;
  parameters.covariance.output_pose_covariance[0] = 0.5;
  parameters.covariance.covariance_estimation_type = 2;
  parameters.covariance.initial_pose_offset_model_x = {1.0};
  parameters.covariance.initial_pose_offset_model_y = {2.0};
  parameters.covariance.temperature = 0.1;
  parameters.covariance.scale_factor = 3.0;
  const v1::AlignmentOptions options = SetupFrom(parameters, "node").options();
  EXPECT_EQ(options.overrides().transformation_epsilon().value(), 0.02);
  EXPECT_EQ(options.overrides().step_size_m().value(), 0.2);
  EXPECT_EQ(options.overrides().max_iterations().value(), 20u);
  EXPECT_EQ(options.overrides().line_search(), v1::LINE_SEARCH_MORE_THUENTE);
  EXPECT_TRUE(options.overrides().regularization().enable().value());
  EXPECT_EQ(options.overrides().regularization().scale_factor().value(), 0.03);
  EXPECT_EQ(options.gate().score_type(), v1::SCORE_TYPE_TRANSFORM_PROBABILITY);
  EXPECT_EQ(options.gate().score_threshold().value(), 3.0);
  EXPECT_EQ(options.gate().validation().guess_timeout_s().value(), 0.5);
  EXPECT_EQ(options.gate().validation().guess_distance_tolerance_m().value(), 5.0);
  EXPECT_EQ(options.gate().validation().initial_to_result_distance_tolerance_m().value(), 1.5);
  EXPECT_EQ(options.covariance().method(), v1::COVARIANCE_METHOD_MULTI_NDT);
  EXPECT_EQ(options.covariance().fixed_covariance_size(), 36);
  EXPECT_EQ(options.covariance().fixed_covariance(0), 0.5);
  EXPECT_EQ(options.covariance().offset_y_m(0), 2.0);
  EXPECT_EQ(options.covariance().temperature().value(), 0.1);
  EXPECT_EQ(options.covariance().scale_factor().value(), 3.0);
}

TEST(SessionRequest, ScoresOfEitherTypeHaveTheirThreshold) {
  Parameters parameters;
  parameters.score_estimation.converged_param_nearest_voxel_transformation_likelihood = 1.9;
  const v1::GateOptions gate = SetupFrom(parameters, "node").options().gate();
  EXPECT_EQ(gate.score_type(), v1::SCORE_TYPE_NVTL);
  EXPECT_EQ(gate.score_threshold().value(), 1.9);
}

TEST(SessionRequest, AsksForAnOutputOnlyWhileSomebodyListens) {
  Parameters parameters;
  RecordingOutput output;
  v1::OutputOptions options = OutputsFor(parameters, output);
  EXPECT_TRUE(options.diagnostics());
  EXPECT_FALSE(options.trace() || options.point_scores() || options.point_colors() ||
               options.aligned_cloud() || options.has_no_ground() || options.no_confidence());
  output.Subscribe(Topic::kNdtMarker);
  EXPECT_TRUE(OutputsFor(parameters, output).trace());
  output.Subscribe(Topic::kPointsAligned);
  EXPECT_TRUE(OutputsFor(parameters, output).aligned_cloud());
  EXPECT_FALSE(OutputsFor(parameters, output).point_scores());
  output.Subscribe(Topic::kVoxelScorePoints);
  EXPECT_TRUE(OutputsFor(parameters, output).point_colors());
  parameters.score_estimation.no_ground_points_enable = true;
  options = OutputsFor(parameters, output);
  EXPECT_EQ(options.no_ground().z_margin_m(), 0.8);
  EXPECT_FALSE(options.no_ground().cloud());
  output.Subscribe(Topic::kPointsAlignedNoGround);
  EXPECT_TRUE(OutputsFor(parameters, output).no_ground().cloud());
}

TEST(SessionRequest, NamesTheClockAndLetsTheNewestScanWin) {
  Parameters parameters;
  parameters.voxloc.deadline_sec = 0.7;
  parameters.voxloc.from_last_pose = true;
  parameters.voxloc.recovery_enable = true;
  const v1::OpenSession open = OpenSessionFrom(parameters, "node", true);
  EXPECT_EQ(open.clock(), v1::STAMP_CLOCK_OWN);
  EXPECT_EQ(OpenSessionFrom(parameters, "node", false).clock(), v1::STAMP_CLOCK_UNIX);
  EXPECT_EQ(open.limits().max_waiting_scans(), 1u);
  EXPECT_EQ(open.limits().timeout_s(), 0.7);
  EXPECT_TRUE(open.from_last_pose());
  EXPECT_EQ(open.recovery().lost_after_scans(), 10u);
  EXPECT_FALSE(OpenSessionFrom(Parameters(), "node", true).has_recovery());
  EXPECT_FALSE(open.has_fusion());
  parameters.voxloc.fusion = true;
  EXPECT_TRUE(OpenSessionFrom(parameters, "node", true).has_fusion());
}

TEST(SessionRequest, NamesTheAcceptanceRuleThatIsAskedFor) {
  const auto rule_of = [](const char* name) {
    Parameters parameters;
    parameters.voxloc.acceptance_rule = name;
    return SetupFrom(parameters, "node").options().gate().rule();
  };
  EXPECT_EQ(rule_of("profile"), v1::ACCEPTANCE_RULE_UNSPECIFIED);
  EXPECT_EQ(rule_of("reference"), v1::ACCEPTANCE_RULE_REFERENCE);
  EXPECT_EQ(rule_of("strict"), v1::ACCEPTANCE_RULE_STRICT);
}

TEST(SessionRequest, AsksForNoMoreStartupTrialsThanParticles) {
  Parameters parameters;
  parameters.initial_pose_estimation.particles_num = 10;
  const auto request = SearchFrom(parameters, "node", v1::Scan(), nullptr, true);
  EXPECT_EQ(request.search().particles(), 10u);
  EXPECT_EQ(request.search().startup_trials(), 10u);
  EXPECT_EQ(request.search().guided_batch(), 20u);
  parameters.voxloc.search_guided_batch = 1;
  EXPECT_EQ(SearchFrom(parameters, "node", v1::Scan(), nullptr, true).search().guided_batch(), 1u);
  EXPECT_TRUE(request.has_whole_map());
  EXPECT_TRUE(request.report_particles());
}

TEST(SessionRequest, ConnectionParametersReachTheChannel) {
  BridgeParameters parameters;
  parameters.server = "a:1,b:2";
  parameters.tls_enable = true;
  parameters.tls_ca_file = "ca";
  parameters.tls_certificate_file = "cert";
  parameters.tls_key_file = "key";
  parameters.tls_server_name = "name";
  parameters.token_file = "token";
  parameters.allow_insecure_token = true;
  const client::ChannelOptions options = ChannelOptionsFrom(parameters);
  EXPECT_EQ(options.server, "a:1,b:2");
  EXPECT_TRUE(options.tls);
  EXPECT_EQ(options.tls_ca_file, "ca");
  EXPECT_EQ(options.tls_certificate_file, "cert");
  EXPECT_EQ(options.tls_key_file, "key");
  EXPECT_EQ(options.tls_server_name, "name");
  EXPECT_EQ(options.token_file, "token");
  EXPECT_TRUE(options.allow_insecure_token);
}

TEST(SessionRequest, PointParametersReachTheEncoding) {
  BridgeParameters parameters;
  parameters.points_encoding = "int16";
  parameters.points_int16_scale_m = 0.01;
  parameters.points_time_field = "t";
  parameters.points_crop_min = {-1, -2, -3};
  parameters.points_crop_max = {1, 2, 3};
  parameters.points_min_range_m = 0.5;
  const CloudEncodingOptions options = EncodingFrom(parameters);
  EXPECT_EQ(options.encoding, CloudEncoding::kInt16);
  EXPECT_EQ(options.int16_scale_m, 0.01);
  EXPECT_EQ(options.time.name, "t");
  EXPECT_FALSE(options.time.any);
  ASSERT_TRUE(options.preparation.crop_base.has_value());
  EXPECT_EQ(options.preparation.crop_base->min.y(), -2.0);
  EXPECT_EQ(options.preparation.min_range_m, 0.5);
  EXPECT_FALSE(EncodingFrom(BridgeParameters()).preparation.drops_points());
  EXPECT_FALSE(EncodingFrom(BridgeParameters()).time.any);
}

// ---- docs/ros.md

constexpr char kBegin[] =
    "<!-- parameters: tests/clients/ros/parameters_test.cc writes this table -->\n";
constexpr char kEnd[] = "<!-- end of parameters -->\n";

std::string Table() {
  std::string table = "| Parameter | Default | Acts on | What it does |\n|---|---|---|---|\n";
  for (const ParameterInfo& info : ParameterTable()) {
    absl::StrAppend(&table, "| `", info.name, "` | `", ToYaml(info.default_value), "` | ",
                    ToString(info.acts_on), " | ", info.meaning, " |\n");
  }
  return table;
}

TEST(RosDocument, ListsEveryParameterWithItsDefaultAndWhereItActs) {
  const std::string path = VOXLOC_SOURCE_DIR "/docs/ros.md";
  std::ifstream in(path);
  ASSERT_TRUE(in) << path;
  std::stringstream buffer;
  buffer << in.rdbuf();
  std::string text = buffer.str();
  const size_t begin = text.find(kBegin);
  const size_t end = text.find(kEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const size_t from = begin + sizeof(kBegin) - 1;
  if (std::getenv("VOXLOC_RECORD_ROS_PARAMETERS") != nullptr) {
    text.replace(from, end - from, Table());
    std::ofstream(path) << text;
    return;
  }
  EXPECT_EQ(text.substr(from, end - from), Table())
      << "record it with VOXLOC_RECORD_ROS_PARAMETERS=1";
}

// The rows of the tables of interfaces, as far as the section goes.
std::vector<std::string> InterfaceRows() {
  std::ifstream in(VOXLOC_SOURCE_DIR "/docs/ros.md");
  std::vector<std::string> rows;
  bool in_section = false;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("## ", 0) == 0) in_section = absl::StrContains(line, "with the test of each");
    if (in_section && line.rfind("| ", 0) == 0) rows.push_back(line);
  }
  return rows;
}

// All tests of the bridge, as "Suite.Name".
std::vector<std::string> BridgeTestNames() {
  std::vector<std::string> names;
  const std::regex declaration(R"(\bTEST(?:_F|_P)?\((\w+),\s*(\w+)\))");
  for (const char* folder : {"/tests/clients/ros", "/tests/ros_wire"}) {
    for (const auto& entry :
         std::filesystem::directory_iterator(std::string(VOXLOC_SOURCE_DIR) + folder)) {
      if (entry.path().extension() != ".cc") continue;
      std::ifstream in(entry.path());
      std::stringstream buffer;
      buffer << in.rdbuf();
      const std::string text = buffer.str();
      for (std::sregex_iterator it(text.begin(), text.end(), declaration), end; it != end; ++it) {
        names.push_back(absl::StrCat((*it)[1].str(), ".", (*it)[2].str()));
      }
    }
  }
  return names;
}

TEST(RosDocument, HasATestThatExistsForEveryInterface) {
  const std::vector<std::string> rows = InterfaceRows();
  const std::vector<std::string> tests = BridgeTestNames();
  std::vector<std::string> interfaces = {kPointsTopic,
                                         kInitialPoseTopic,
                                         kRegularizationPoseTopic,
                                         kTwistTopic,
                                         kUserPoseTopic,
                                         kMapTopic,
                                         kTwistWithCovarianceTopic,
                                         kAlignService,
                                         kTriggerService,
                                         kReinitializeService,
                                         kMapLoaderClient,
                                         "/tf",
                                         "/diagnostics"};
  for (const TopicInfo& info : PublishedTopics()) interfaces.emplace_back(info.name);
  for (const std::string& name : interfaces) {
    EXPECT_THAT(rows, testing::Contains(HasSubstr(absl::StrCat("`", name, "`")))) << name;
  }
  const std::regex named(R"(`(\w+\.\w*)(\*?)`)");
  size_t found = 0;
  for (const std::string& row : rows) {
    for (std::sregex_iterator it(row.begin(), row.end(), named), end; it != end; ++it, ++found) {
      const std::string name = (*it)[1].str();
      const bool is_prefix = (*it)[2].length() > 0;
      EXPECT_TRUE(std::any_of(tests.begin(), tests.end(), [&](const std::string& test) {
        return is_prefix ? test.rfind(name, 0) == 0 : test == name;
      })) << name;
    }
  }
  EXPECT_GT(found, 30U);
}

TEST(RosDocument, ListsEveryTopicAndService) {
  std::ifstream in(VOXLOC_SOURCE_DIR "/docs/ros.md");
  std::stringstream buffer;
  buffer << in.rdbuf();
  const std::string text = buffer.str();
  for (const TopicInfo& info : PublishedTopics()) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat("`", info.name, "`")));
    EXPECT_EQ(&InfoOf(info.topic), &info) << info.name;
  }
  for (const char* name : {kPointsTopic, kInitialPoseTopic, kRegularizationPoseTopic, kTwistTopic,
                           kTwistWithCovarianceTopic, kUserPoseTopic, kMapTopic, kAlignService,
                           kTriggerService, kReinitializeService, kMapLoaderClient}) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat("`", name, "`")));
  }
}

}  // namespace
}  // namespace voxloc::ros
