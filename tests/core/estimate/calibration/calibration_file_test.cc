// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <utility>

#include "core/estimate/calibration/sensor_calibration.h"
#include "tests/support/scratch_dir.h"

namespace voxloc {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string OneSensor(const std::string& constants) {
  return R"({"sensors": [{"name": "roof", )" + constants + "}]}";
}

TEST(CalibrationFileTest, WithoutAFileThereIsTheBuiltInSensorWithTheDefaults) {
  const SensorCalibrations calibrations;
  EXPECT_THAT(calibrations.Names(), ElementsAre("default"));
  const auto found = calibrations.Find("");
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(ValidateSensorCalibration(*found).ok()) << ValidateSensorCalibration(*found);
  const SystematicError shipped;
  EXPECT_EQ(found->systematic().position_sigma_m, shipped.position_sigma_m);
  EXPECT_EQ(found->systematic().rotation_sigma_rad, shipped.rotation_sigma_rad);
  EXPECT_EQ(found->systematic().time_sigma_s, shipped.time_sigma_s);
  EXPECT_EQ(found->systematic().skew_sigma_s, shipped.skew_sigma_s);
  EXPECT_EQ(found->scan_scale.value, 1.0);
}

TEST(CalibrationFileTest, TheExampleIsReadAndHasEveryConstant) {
  const std::string path = std::string(VOXLOC_SOURCE_DIR) + "/deploy/sensors.example.json";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no source tree beside the test";
  const auto read = ReadCalibrationFile(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->Names(), ElementsAre("default", "roof"));
  EXPECT_EQ(read->Find("roof")->time_sigma_s.value, 0.004);
  EXPECT_EQ(read->Find("roof")->mount_offset_m.value, Eigen::Vector3d(0.0, 0.0, 0.012));
  // What is written has every constant: the example is complete.
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (const std::string key : {"systematic_position_sigma_m", "systematic_rotation_sigma_rad",
                                "systematic_time_sigma_s", "systematic_skew_sigma_s", "scan_scale",
                                "mount_offset_m", "mount_rotation_rad", "stamp_offset_s"}) {
    EXPECT_THAT(text, HasSubstr('"' + key + '"'));
  }
}

TEST(CalibrationFileTest, WhatIsWrittenReadsBackAsTheSameValues) {
  SensorCalibration sensor;
  sensor.name = "front.left_2";
  sensor.position_sigma_m = {{0.1, 1.0 / 3.0, 0.03}, "a \"quoted\" origin"};
  sensor.rotation_sigma_rad = {{1e-3, 2e-3, 3e-3}, "b"};
  sensor.time_sigma_s = {0.0042, "c"};
  sensor.skew_sigma_s = {0.0017, "h"};
  sensor.scan_scale = {2.25, "d"};
  sensor.mount_offset_m = {{-0.01, 0.02, 0.0}, "e"};
  sensor.mount_rotation_rad = {{0.0, -0.01, 0.005}, "f"};
  sensor.stamp_offset_s = {-0.05, "g"};
  SensorCalibrations calibrations;
  calibrations.Set(sensor);
  const auto read = ParseCalibrations(CalibrationsText(calibrations), "text");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->Names(), ElementsAre("default", "front.left_2"));
  const auto found = read->Find("front.left_2");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->position_sigma_m.value, sensor.position_sigma_m.value);
  EXPECT_EQ(found->position_sigma_m.origin, sensor.position_sigma_m.origin);
  EXPECT_EQ(found->rotation_sigma_rad.value, sensor.rotation_sigma_rad.value);
  EXPECT_EQ(found->time_sigma_s.value, sensor.time_sigma_s.value);
  EXPECT_EQ(found->skew_sigma_s.value, sensor.skew_sigma_s.value);
  EXPECT_EQ(found->scan_scale.value, sensor.scan_scale.value);
  EXPECT_EQ(found->mount_offset_m.value, sensor.mount_offset_m.value);
  EXPECT_EQ(found->mount_rotation_rad.value, sensor.mount_rotation_rad.value);
  EXPECT_EQ(found->stamp_offset_s.value, sensor.stamp_offset_s.value);
}

TEST(CalibrationFileTest, ConstantsThatAreLeftOutAreTheBuiltInOnes) {
  const auto read = ParseCalibrations(
      OneSensor(R"("systematic_time_sigma_s": {"value": 0, "origin": "trigger"})"), "text");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->Find("roof")->time_sigma_s.value, 0.0);
  EXPECT_EQ(read->Find("roof")->position_sigma_m.value, SystematicError().position_sigma_m);
}

TEST(CalibrationFileTest, AnEntryNamedDefaultReplacesTheBuiltInSensor) {
  const auto read = ParseCalibrations(
      R"({"sensors": [{"name": "a"},
                      {"name": "default", "scan_scale": {"value": 2, "origin": "x"}}]})",
      "text");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->Names(), ElementsAre("default", "a"));
  EXPECT_EQ(read->Find("")->scan_scale.value, 2.0);
  EXPECT_EQ(read->Find("a")->scan_scale.value, 1.0);
}

TEST(CalibrationFileTest, UnknownSensorsAreNamedWithTheKnownOnes) {
  const auto read = ParseCalibrations(R"({"sensors": [{"name": "roof"}]})", "text");
  ASSERT_TRUE(read.ok());
  const absl::Status status = read->Find("rof").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("'rof'"), HasSubstr("known: default, roof"),
                    HasSubstr("did you mean roof?")));
}

TEST(CalibrationFileTest, ErrorsNameTheFileTheKeyAndWhatIsWrong) {
  const std::pair<std::string, const char*> rows[] = {
      {"{", "sensors.json: "},
      {"{", "parse error"},
      {"[]", "the file must be an object (got array)"},
      {R"({"sensor": []})", "unknown key 'sensor'; did you mean sensors?"},
      {"{}", "needs the key 'sensors'"},
      {R"({"sensors": [{}]})", "sensors[0] needs the key 'name'"},
      {R"({"sensors": [{"name": "a b"}]})", "sensors[0].name must be"},
      {R"({"sensors": [{"name": "a"}, {"name": "a"}]})", "sensors[1].name 'a' occurs twice"},
      {OneSensor(R"("scan_scal": {"value": 1, "origin": "x"})"),
       "sensors[0] has an unknown key 'scan_scal'; did you mean scan_scale?"},
      {OneSensor(R"("scan_scale": 2)"), "sensors[0].scan_scale must be an object (got number)"},
      {OneSensor(R"("scan_scale": {"value": "2", "origin": "x"})"),
       "sensors[0].scan_scale.value must be a number (got string)"},
      {OneSensor(R"("scan_scale": {"value": 2})"), "sensors[0].scan_scale needs the key 'origin'"},
      {OneSensor(R"("scan_scale": {"value": 2, "origin": ""})"),
       "sensors[0].scan_scale.origin must say where the value comes from"},
      {OneSensor(R"("scan_scale": {"value": 0, "origin": "x"})"),
       "sensors[0].scan_scale.value must be from 0.001 to 1e+06 (got 0)"},
      {OneSensor(R"("mount_offset_m": {"value": [1, 2], "origin": "x"})"),
       "sensors[0].mount_offset_m.value must be a list of three numbers"},
      {OneSensor(R"("mount_offset_m": {"value": [1, 2, true], "origin": "x"})"),
       "sensors[0].mount_offset_m.value[2] must be a number (got boolean)"},
      {OneSensor(R"("systematic_position_sigma_m": {"value": [0, -1, 0], "origin": "x"})"),
       "systematic_position_sigma_m.value must be from 0 to 100 (got -1)"},
  };
  for (const auto& [json, text] : rows) {
    const absl::Status status = ParseCalibrations(json, "sensors.json").status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << json;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }
}

TEST(CalibrationFileTest, AFileThatIsNotThereIsNotFound) {
  const ScratchDir scratch;
  const std::string path = scratch.Path("none.json");
  const absl::Status status = ReadCalibrationFile(path).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr(path));
}

TEST(SensorCalibrationTest, OffsetsMoveTheMountAndTheStamp) {
  SensorCalibration sensor;
  sensor.mount_offset_m.value = {0.0, 0.5, 0.0};
  sensor.mount_rotation_rad.value = {0.0, 0.0, M_PI / 2};
  sensor.stamp_offset_s.value = -0.05;
  Pose base_T_sensor;
  base_T_sensor.translation = {1.0, 0.0, 2.0};
  // A point one metre ahead of the sensor is one metre left of it once it is turned.
  EXPECT_TRUE((sensor.CorrectMount(base_T_sensor) * Eigen::Vector3d(1.0, 0.0, 0.0))
                  .isApprox(Eigen::Vector3d(1.0, 1.5, 2.0), 1e-12));
  EXPECT_EQ(sensor.CorrectStamp(1'000'000'000), 950'000'000);
  constexpr int64_t kFirst = std::numeric_limits<int64_t>::min();
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(sensor.CorrectStamp(kFirst), kFirst);
  EXPECT_EQ(sensor.CorrectStamp(kLast), kLast - 50'000'000);
  sensor.stamp_offset_s.value = 0.05;
  EXPECT_EQ(sensor.CorrectStamp(kFirst), kFirst + 50'000'000);
  EXPECT_EQ(sensor.CorrectStamp(kLast), kLast);
}

}  // namespace
}  // namespace voxloc
