// SPDX-License-Identifier: Apache-2.0
//
// Clients that are newer than the server: fields that it does not know change nothing of its
// answer.

#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/server/small_town.h"
#include "tests/server/test_server.h"
#include "tests/support/engine_test.h"

namespace voxloc::server {
namespace {

// Field numbers of proto/voxloc/v1 are far smaller.
constexpr int kUnknownNumber = 9000;

// Of every wire type, to the message and all messages in it that are set; how many messages.
int AddUnknownFields(google::protobuf::Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  google::protobuf::UnknownFieldSet& unknown = *reflection.MutableUnknownFields(&message);
  unknown.AddVarint(kUnknownNumber, 7);
  unknown.AddFixed32(kUnknownNumber + 1, 7);
  unknown.AddFixed64(kUnknownNumber + 2, 7);
  unknown.AddLengthDelimited(kUnknownNumber + 3, "of a version to come");
  int messages = 1;
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const google::protobuf::FieldDescriptor* field : fields) {
    if (field->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      messages += AddUnknownFields(*reflection.MutableMessage(&message, field));
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      messages += AddUnknownFields(*reflection.MutableRepeatedMessage(&message, field, i));
    }
  }
  return messages;
}

class UnknownFieldsTest : public EngineTest {
 protected:
  void SetUp() override { server_.LoadTown(); }
  // What a session with one scan answers, but for its times and the name of the session.
  std::string AnswerTo(bool with_unknown_fields) {
    v1::AlignScansRequest open;
    open.mutable_open()->mutable_setup()->set_map("town");
    open.mutable_open()->mutable_setup()->mutable_options()->set_profile("precise");
    v1::AlignScansRequest scan;
    *scan.mutable_scan() = GoodScan(5);
    if (with_unknown_fields) {
      EXPECT_GE(AddUnknownFields(open), 4);
      EXPECT_GE(AddUnknownFields(scan), 6);
    }
    TestSession session(server_);
    session.Send(open);
    EXPECT_TRUE(session.Read().has_opened());
    session.Send(scan);
    v1::AlignmentResult result = session.ReadResult();
    EXPECT_EQ(result.status(), v1::ALIGNMENT_STATUS_OK) << result.ShortDebugString();
    result.clear_timings();
    return result.SerializeAsString();
  }

  TestServer server_{{}, EngineHandle()};
};
VOXLOC_INSTANTIATE_ON_ENGINES(UnknownFieldsTest);

TEST_P(UnknownFieldsTest, ChangeNothingOfAnAnswer) { EXPECT_EQ(AnswerTo(true), AnswerTo(false)); }

}  // namespace
}  // namespace voxloc::server
