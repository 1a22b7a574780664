// SPDX-License-Identifier: Apache-2.0
//
// Holds the contract to the rules of `buf lint` (STANDARD and COMMENTS) that generated code and
// bytes depend on, without buf, and to our own. What it reads is the descriptor set of the build,
// so it sees what clients are generated from. What exists, compatibility_test.cc records.

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/descriptor_database.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace voxloc {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::DescriptorPoolDatabase;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::FileDescriptorProto;
using google::protobuf::FileDescriptorSet;
using google::protobuf::MergedDescriptorDatabase;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;
using google::protobuf::SimpleDescriptorDatabase;
using google::protobuf::SourceLocation;
using ::testing::ContainsRegex;
using ::testing::MatchesRegex;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAreArray;

constexpr char kLowerSnake[] = "[a-z][a-z0-9]*(_[a-z0-9]+)*";
constexpr char kUpperSnake[] = "[A-Z][A-Z0-9]*(_[A-Z0-9]+)*";
constexpr char kPascal[] = "[A-Z][A-Za-z0-9]*";

bool IsUpper(char c) { return absl::ascii_isupper(static_cast<unsigned char>(c)); }

// "AlignmentStatus" -> "ALIGNMENT_STATUS".
std::string UpperSnake(const std::string& pascal) {
  std::string snake;
  for (size_t i = 0; i < pascal.size(); ++i) {
    const bool next_is_lower =
        i + 1 < pascal.size() && absl::ascii_islower(static_cast<unsigned char>(pascal[i + 1]));
    if (i > 0 && IsUpper(pascal[i]) && (!IsUpper(pascal[i - 1]) || next_is_lower)) snake += '_';
    snake += absl::ascii_toupper(static_cast<unsigned char>(pascal[i]));
  }
  return snake;
}

class ContractTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ifstream in(VOXLOC_DESCRIPTOR_SET, std::ios::binary);
    ASSERT_TRUE(in && set_.ParseFromIstream(&in)) << VOXLOC_DESCRIPTOR_SET;
    ASSERT_GT(set_.file_size(), 0);
    for (const FileDescriptorProto& file : set_.file()) {
      database_.Add(file);
      pool_.AddUnusedImportTrackFile(file.name(), true);
    }
    for (const FileDescriptorProto& proto : set_.file()) {
      const FileDescriptor* file = pool_.FindFileByName(proto.name());
      ASSERT_NE(file, nullptr) << proto.name() << " is wrong, or imports what it does not use";
      for (int i = 0; i < file->message_type_count(); ++i) Collect(*file->message_type(i));
      for (int i = 0; i < file->enum_type_count(); ++i) Collect(*file->enum_type(i));
      for (int i = 0; i < file->service_count(); ++i) Collect(*file->service(i));
    }
  }

  void Collect(const Descriptor& message) {
    messages_.push_back(&message);
    if (!message.options().map_entry()) {
      CollectComment(message);
      for (int i = 0; i < message.real_oneof_decl_count(); ++i) {
        CollectComment(*message.oneof_decl(i));
      }
    }
    for (int i = 0; i < message.field_count(); ++i) {
      fields_.push_back(message.field(i));
      if (!message.options().map_entry()) CollectComment(*message.field(i));
    }
    for (int i = 0; i < message.nested_type_count(); ++i) Collect(*message.nested_type(i));
    for (int i = 0; i < message.enum_type_count(); ++i) Collect(*message.enum_type(i));
  }

  void Collect(const EnumDescriptor& type) {
    enums_.push_back(&type);
    CollectComment(type);
    for (int i = 0; i < type.value_count(); ++i) CollectComment(*type.value(i));
  }

  void Collect(const ServiceDescriptor& service) {
    services_.push_back(&service);
    CollectComment(service);
    for (int i = 0; i < service.method_count(); ++i) {
      methods_.push_back(service.method(i));
      CollectComment(*service.method(i));
    }
  }

  template <typename D>
  void CollectComment(const D& descriptor) {
    SourceLocation location;
    (void)descriptor.GetSourceLocation(&location);
    comments_.emplace_back(descriptor.full_name(), location.leading_comments);
  }

  FileDescriptorSet set_;
  SimpleDescriptorDatabase database_;
  // Imports of the well-known types are resolved against the ones linked in.
  DescriptorPoolDatabase linked_{*DescriptorPool::generated_pool()};
  MergedDescriptorDatabase merged_{&database_, &linked_};
  DescriptorPool pool_{&merged_};
  std::vector<const Descriptor*> messages_;
  std::vector<const FieldDescriptor*> fields_;
  std::vector<const EnumDescriptor*> enums_;
  std::vector<const ServiceDescriptor*> services_;
  std::vector<const MethodDescriptor*> methods_;
  std::vector<std::pair<std::string, std::string>> comments_;  // by full names
};

TEST_F(ContractTest, CoversEveryProtoFileOfTheTreeInItsPackage) {
  std::vector<std::string> on_disk;
  const std::filesystem::path root(VOXLOC_PROTO_DIR);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / "voxloc/v1")) {
    if (entry.path().extension() == ".proto") {
      on_disk.push_back(std::filesystem::relative(entry.path(), root).generic_string());
    }
  }
  std::vector<std::string> described;
  for (const FileDescriptorProto& file : set_.file()) {
    described.push_back(file.name());
    EXPECT_EQ(file.syntax(), "proto3") << file.name();
    EXPECT_EQ(file.package(), "voxloc.v1") << file.name();
    EXPECT_THAT(file.name(), MatchesRegex(absl::StrCat("voxloc/v1/", kLowerSnake, "\\.proto")));
    EXPECT_EQ(file.public_dependency_size(), 0) << file.name();
    EXPECT_EQ(file.weak_dependency_size(), 0) << file.name();
  }
  EXPECT_THAT(described, UnorderedElementsAreArray(on_disk));
}

// Half of a rewrapped paragraph is soon lost: a field's ends with a full stop.
TEST_F(ContractTest, EverythingHasALeadingComment) {
  for (const auto& [name, comment] : comments_) {
    EXPECT_THAT(comment, ContainsRegex("[A-Za-z]")) << name;
  }
  for (const FieldDescriptor* field : fields_) {
    SourceLocation location;
    if (!field->GetSourceLocation(&location)) continue;
    EXPECT_TRUE(absl::EndsWith(absl::StripTrailingAsciiWhitespace(location.leading_comments), "."))
        << field->full_name();
  }
}

TEST_F(ContractTest, MessagesAndFieldsFollowTheNamingRules) {
  for (const Descriptor* message : messages_) {
    EXPECT_THAT(message->name(), MatchesRegex(kPascal)) << message->full_name();
    for (int i = 0; i < message->oneof_decl_count(); ++i) {
      EXPECT_THAT(message->oneof_decl(i)->name(), MatchesRegex(kLowerSnake))
          << message->full_name();
    }
  }
  for (const FieldDescriptor* field : fields_) {
    EXPECT_THAT(field->name(), MatchesRegex(kLowerSnake)) << field->full_name();
  }
}

// Presence by `optional` shows as a oneof that the file does not write.
TEST_F(ContractTest, NoFieldUsesWhatProtobuf312DoesNotCompile) {
  for (const Descriptor* message : messages_) {
    EXPECT_EQ(message->oneof_decl_count(), message->real_oneof_decl_count())
        << message->full_name() << " has a proto3 optional field";
  }
}

TEST_F(ContractTest, EnumsFollowTheNamingRules) {
  for (const EnumDescriptor* type : enums_) {
    EXPECT_THAT(type->name(), MatchesRegex(kPascal)) << type->full_name();
    EXPECT_FALSE(type->options().allow_alias()) << type->full_name();
    const std::string prefix = UpperSnake(type->name()) + "_";
    EXPECT_EQ(type->value(0)->number(), 0) << type->full_name();
    EXPECT_EQ(type->value(0)->name(), prefix + "UNSPECIFIED");
    for (int i = 0; i < type->value_count(); ++i) {
      EXPECT_THAT(type->value(i)->name(), MatchesRegex(kUpperSnake));
      EXPECT_THAT(type->value(i)->name(), StartsWith(prefix));
    }
  }
}

TEST_F(ContractTest, EveryRpcHasItsOwnRequestAndResponse) {
  for (const ServiceDescriptor* service : services_) {
    EXPECT_THAT(service->name(), MatchesRegex(absl::StrCat(kPascal, "Service")));
  }
  std::set<std::string> seen;
  for (const MethodDescriptor* method : methods_) {
    EXPECT_THAT(method->name(), MatchesRegex(kPascal));
    EXPECT_EQ(method->input_type()->name(), method->name() + "Request");
    EXPECT_EQ(method->output_type()->name(), method->name() + "Response");
    for (const Descriptor* type : {method->input_type(), method->output_type()}) {
      EXPECT_TRUE(seen.insert(type->full_name()).second) << type->full_name() << " serves two RPCs";
    }
  }
}

TEST_F(ContractTest, NumericArraysArePacked) {
  for (const FieldDescriptor* field : fields_) {
    EXPECT_EQ(field->is_packed(), field->is_packable()) << field->full_name();
  }
}

}  // namespace
}  // namespace voxloc
