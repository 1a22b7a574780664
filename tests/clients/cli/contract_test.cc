// SPDX-License-Identifier: Apache-2.0
//
// What the contract defines, by its names and as JSON.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "clients/cli/flags/option.h"
#include "clients/cli/output/message_text.h"
#include "voxloc/v1/admin_service.pb.h"
#include "voxloc/v1/alignment.pb.h"
#include "voxloc/v1/map.pb.h"
#include "voxloc/v1/options.pb.h"
#include "voxloc/v1/session.pb.h"

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

TEST(MessageField, EveryKeySetsItsFieldAlone) {
  const v1::AlignmentOverrides overrides;
  const v1::GateOptions gate;
  const v1::RecoveryOptions recovery;
  for (const google::protobuf::Message* prototype :
       std::vector<const google::protobuf::Message*>{&overrides, &gate, &recovery}) {
    const std::vector<std::string> keys = FieldKeys(*prototype->GetDescriptor());
    EXPECT_GE(keys.size(), static_cast<size_t>(prototype->GetDescriptor()->field_count()));
    for (const std::string& key : keys) {
      size_t takers = 0;
      for (const char* value :
           {"true", "1.5", "2", "nvtl", "clamped-step", "direct7", "exact", "strict"}) {
        const std::unique_ptr<google::protobuf::Message> message(prototype->New());
        if (!SetField(key + "=" + value, message.get()).ok()) continue;
        ++takers;
        EXPECT_GT(message->ByteSizeLong(), 0u) << key;
      }
      // 2 is a number too, 1.5 is no whole one.
      EXPECT_GE(takers, 1u) << key;
      EXPECT_LE(takers, 2u) << key;
    }
  }
}

TEST(MessageField, ReachesMessagesWithin) {
  v1::AlignmentOverrides overrides;
  EXPECT_TRUE(SetField("regularization.scale_factor=1e-3", &overrides).ok());
  EXPECT_TRUE(SetField("regularization.enable=false", &overrides).ok());
  EXPECT_TRUE(SetField("line_search=more-thuente", &overrides).ok());
  EXPECT_EQ(overrides.regularization().scale_factor().value(), 1e-3);
  EXPECT_TRUE(overrides.regularization().has_enable());
  EXPECT_FALSE(overrides.regularization().enable().value());
  EXPECT_EQ(overrides.line_search(), v1::LINE_SEARCH_MORE_THUENTE);
}

TEST(MessageField, SaysWhatItMustBe) {
  v1::AlignmentOverrides overrides;
  const auto refusal = [&overrides](const std::string& text) {
    const absl::Status status = SetField(text, &overrides);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    return std::string(status.message());
  };
  using ::testing::HasSubstr;
  EXPECT_THAT(refusal("max_iterations=-1"), HasSubstr("a whole number, at least 0 (got -1)"));
  EXPECT_THAT(refusal("max_iterations="), HasSubstr("(got )"));
  EXPECT_THAT(refusal("step_floor=yes"), HasSubstr("true or false (got yes)"));
  EXPECT_THAT(refusal("search_method=DIRECT7"), HasSubstr("one of radius, direct7, direct1"));
  EXPECT_THAT(refusal("search_method=unspecified"), HasSubstr("one of radius"));
  EXPECT_THAT(refusal("regularization=1"), HasSubstr("did you mean regularization.enable?"));
  EXPECT_THAT(refusal("nothing=1"), HasSubstr("; there are max_iterations, step_size_m"));
  EXPECT_THAT(refusal("=1"), HasSubstr("has no key"));
  EXPECT_EQ(overrides.ByteSizeLong(), 0u) << "nothing was set";
}

}  // namespace
}  // namespace voxloc::cli
