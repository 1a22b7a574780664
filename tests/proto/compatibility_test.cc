// SPDX-License-Identifier: Apache-2.0
//
// Protects the contract: what clients were built from must go on meaning the same. contract.txt
// lists every field, enum value and RPC with its number and type. A line that disappears or changes
// is a breaking change; new lines are added to the file with what they belong to.

#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"

namespace voxloc {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::EnumDescriptorProto;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptorProto;
using google::protobuf::FileDescriptorSet;
using google::protobuf::MethodDescriptorProto;
using google::protobuf::ServiceDescriptorProto;

using Lines = std::set<std::string>;

void ListEnum(const std::string& scope, const EnumDescriptorProto& type, Lines& lines) {
  for (const auto& value : type.value()) {
    lines.insert(
        absl::StrCat("value ", scope, ".", type.name(), ".", value.name(), " = ", value.number()));
  }
}

void ListMessage(const std::string& scope, const DescriptorProto& message, Lines& lines) {
  const std::string name = absl::StrCat(scope, ".", message.name());
  for (const FieldDescriptorProto& field : message.field()) {
    const std::string type = field.type_name().empty()
                                 ? FieldDescriptorProto::Type_Name(field.type()).substr(5)
                                 : field.type_name().substr(1);
    const bool repeated = field.label() == FieldDescriptorProto::LABEL_REPEATED;
    const std::string oneof =
        field.has_oneof_index()
            ? absl::StrCat(" in ", message.oneof_decl(field.oneof_index()).name())
            : std::string();
    lines.insert(absl::StrCat("field ", name, ".", field.name(), " = ", field.number(),
                              repeated ? " repeated " : " ", type, oneof));
  }
  for (const DescriptorProto& nested : message.nested_type()) ListMessage(name, nested, lines);
  for (const EnumDescriptorProto& type : message.enum_type()) ListEnum(name, type, lines);
}

void ListService(const std::string& scope, const ServiceDescriptorProto& service, Lines& lines) {
  for (const MethodDescriptorProto& method : service.method()) {
    lines.insert(absl::StrCat(
        "rpc ", scope, ".", service.name(), ".", method.name(), " (",
        method.client_streaming() ? "stream " : "", method.input_type().substr(1), ") returns (",
        method.server_streaming() ? "stream " : "", method.output_type().substr(1), ")"));
  }
}

Lines ListContract() {
  Lines lines;
  std::ifstream in(VOXLOC_DESCRIPTOR_SET, std::ios::binary);
  FileDescriptorSet set;
  EXPECT_TRUE(in && set.ParseFromIstream(&in)) << VOXLOC_DESCRIPTOR_SET;
  for (const FileDescriptorProto& file : set.file()) {
    for (const DescriptorProto& message : file.message_type()) {
      ListMessage(file.package(), message, lines);
    }
    for (const EnumDescriptorProto& type : file.enum_type()) ListEnum(file.package(), type, lines);
    for (const ServiceDescriptorProto& service : file.service()) {
      ListService(file.package(), service, lines);
    }
  }
  return lines;
}

Lines ReadRecorded() {
  Lines lines;
  std::ifstream in(VOXLOC_CONTRACT);
  EXPECT_TRUE(in) << "cannot open " << VOXLOC_CONTRACT;
  std::string line;
  while (std::getline(in, line)) lines.insert(line);
  return lines;
}

TEST(CompatibilityTest, NothingThatClientsWereBuiltFromHasChanged) {
  const Lines contract = ListContract();
  for (const std::string& line : ReadRecorded()) {
    EXPECT_EQ(contract.count(line), 1U) << "a breaking change: gone or changed is\n  " << line;
  }
}

// With VOXLOC_RECORD_CONTRACT=1 the file is written anew, for a change that adds.
TEST(CompatibilityTest, EverythingNewIsRecorded) {
  const Lines contract = ListContract();
  if (const char* record = std::getenv("VOXLOC_RECORD_CONTRACT"); record != nullptr && *record) {
    std::ofstream out(VOXLOC_CONTRACT);
    for (const std::string& line : contract) out << line << '\n';
    ASSERT_TRUE(out.flush()) << "cannot write " << VOXLOC_CONTRACT;
  }
  const Lines recorded = ReadRecorded();
  for (const std::string& line : contract) {
    EXPECT_EQ(recorded.count(line), 1U)
        << "new, and not in tests/proto/contract.txt (run this test with VOXLOC_RECORD_CONTRACT=1):"
        << "\n  " << line;
  }
}

}  // namespace
}  // namespace voxloc
