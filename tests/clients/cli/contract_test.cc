// SPDX-License-Identifier: Apache-2.0
//
// What the contract defines, by its names and as JSON.

#include <gtest/gtest.h>

#include <limits>

#include "clients/cli/contract_names.h"
#include "clients/cli/message_json.h"
#include "voxloc/v1/admin_service.pb.h"
#include "voxloc/v1/alignment.pb.h"
#include "voxloc/v1/map.pb.h"
#include "voxloc/v1/options.pb.h"

namespace voxloc::cli {
namespace {

TEST(ContractNames, LeaveThePrefixOfEnumsOut) {
  const auto* method = v1::SearchMethod_descriptor()->FindValueByNumber(v1::SEARCH_METHOD_DIRECT7);
  EXPECT_EQ(EnumName(*method), "DIRECT7");
  const auto* search = v1::LineSearch_descriptor()->FindValueByNumber(v1::LINE_SEARCH_MORE_THUENTE);
  EXPECT_EQ(EnumName(*search), "MORE_THUENTE");
  EXPECT_EQ(EnumWord(*search), "more-thuente");
  EXPECT_EQ(EnumName(*v1::LogLevel_descriptor()->value(0)), "UNSPECIFIED");
}

TEST(MessageJson, HasEveryFieldOfTheLimits) {
  v1::Limits limits;
  limits.set_max_message_bytes(std::numeric_limits<uint64_t>::max());
  limits.set_max_map_extent_m(2.5);
  const Json json = MessageJson(limits);
  EXPECT_EQ(json.size(), static_cast<size_t>(v1::Limits::descriptor()->field_count()));
  EXPECT_EQ(json["max_message_bytes"], std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(json["max_map_extent_m"], 2.5);
  EXPECT_EQ(json["max_sessions"], 0);
}

TEST(MessageJson, WritesGeometryAsTheOtherOutputsDo) {
  v1::TraceIteration step;
  v1::Pose& pose = *step.mutable_map_t_base();
  pose.mutable_position()->set_x(1.0);
  pose.mutable_position()->set_z(-3.0);
  pose.mutable_orientation()->set_w(1.0);
  step.add_gradient(0.5);
  step.add_gradient(-0.5);
  step.set_reversed(true);
  const Json json = MessageJson(step);
  EXPECT_EQ(json["map_t_base"], Json::parse("[1.0, 0.0, -3.0, 0.0, 0.0, 0.0, 1.0]"));
  EXPECT_EQ(json["gradient"], Json::parse("[0.5, -0.5]"));
  EXPECT_EQ(json["hessian"], Json::array());
  EXPECT_EQ(json["reversed"], true);
  EXPECT_TRUE(json["map_t_base_after"].is_null()) << "it is not set";
}

TEST(MessageJson, UnwrapsValuesAndNamesEnums) {
  v1::AlignmentOverrides overrides;
  overrides.mutable_max_iterations()->set_value(7);
  overrides.mutable_degeneracy_aware()->set_value(false);
  overrides.set_search_method(v1::SEARCH_METHOD_DIRECT1);
  const Json json = MessageJson(overrides);
  EXPECT_EQ(json["max_iterations"], 7);
  EXPECT_EQ(json["degeneracy_aware"], false);
  EXPECT_TRUE(json["step_size_m"].is_null());
  EXPECT_EQ(json["search_method"], "DIRECT1");
}

TEST(MessageJson, WritesBytesAsHexadecimalAndOfAOneofWhatIsSet) {
  v1::TileInfo tile;
  tile.set_sha256(std::string("\x01\xab", 2));
  EXPECT_EQ(MessageJson(tile)["sha256"], "01ab");
  v1::DiagnosticEntry entry;
  entry.set_key("iteration_num");
  entry.set_int_value(-4);
  EXPECT_EQ(MessageJson(entry), Json::parse(R"({"key": "iteration_num", "int_value": -4})"));
}

}  // namespace
}  // namespace voxloc::cli
