// SPDX-License-Identifier: Apache-2.0
//
// Holds the contract to the rules of `buf lint` (STANDARD and COMMENTS), without buf, and to our
// own. What it reads is the descriptor set of the build, so it sees what clients are generated
// from.

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace voxloc {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::FileDescriptorProto;
using google::protobuf::FileDescriptorSet;
using google::protobuf::MethodDescriptor;
using google::protobuf::OneofDescriptor;
using google::protobuf::ServiceDescriptor;
using google::protobuf::SourceLocation;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

constexpr char kPackage[] = "voxloc.v1";
constexpr char kDirectory[] = "voxloc/v1/";

bool IsLower(char c) { return std::islower(static_cast<unsigned char>(c)) != 0; }
bool IsUpper(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }
bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

bool IsSnake(const std::string& name, bool (*is_letter)(char)) {
  if (name.empty() || !is_letter(name.front()) || name.back() == '_') return false;
  if (name.find("__") != std::string::npos) return false;
  return std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_letter(c) || IsDigit(c) || c == '_'; });
}
bool IsLowerSnake(const std::string& name) { return IsSnake(name, IsLower); }
bool IsUpperSnake(const std::string& name) { return IsSnake(name, IsUpper); }

bool IsPascal(const std::string& name) {
  return !name.empty() && IsUpper(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return IsLower(c) || IsUpper(c) || IsDigit(c); });
}

// "AlignmentStatus" -> "ALIGNMENT_STATUS".
std::string UpperSnake(const std::string& pascal) {
  std::string snake;
  for (size_t i = 0; i < pascal.size(); ++i) {
    const bool word_begins =
        i > 0 && IsUpper(pascal[i]) &&
        (!IsUpper(pascal[i - 1]) || (i + 1 < pascal.size() && IsLower(pascal[i + 1])));
    if (word_begins) snake += '_';
    snake += static_cast<char>(std::toupper(static_cast<unsigned char>(pascal[i])));
  }
  return snake;
}

bool StartsWith(const std::string& text, const std::string& prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}
bool EndsWith(const std::string& text, const std::string& suffix) {
  return text.size() >= suffix.size() &&
         text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

// A comment that says something: a leading one, with a letter in it.
template <typename D>
bool HasLeadingComment(const D& descriptor) {
  SourceLocation location;
  return descriptor.GetSourceLocation(&location) &&
         std::any_of(location.leading_comments.begin(), location.leading_comments.end(),
                     [](char c) { return IsLower(c) || IsUpper(c); });
}

class ContractTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ifstream in(VOXLOC_DESCRIPTOR_SET, std::ios::binary);
    ASSERT_TRUE(in) << "cannot open " << VOXLOC_DESCRIPTOR_SET;
    ASSERT_TRUE(set_.ParseFromIstream(&in)) << VOXLOC_DESCRIPTOR_SET;
    ASSERT_GT(set_.file_size(), 0);
    // Imports of the well-known types are resolved against the ones linked in.
    pool_ = std::make_unique<DescriptorPool>(DescriptorPool::generated_pool());
    for (const FileDescriptorProto& file : set_.file()) pending_[file.name()] = &file;
    for (const FileDescriptorProto& file : set_.file()) ASSERT_NE(Build(file.name()), nullptr);
    for (const FileDescriptor* file : files_) Collect(*file);
  }

  const FileDescriptor* Build(const std::string& name) {
    const auto found = pending_.find(name);
    if (found == pending_.end()) return pool_->FindFileByName(name);
    const FileDescriptorProto& proto = *found->second;
    pending_.erase(found);
    for (const std::string& import : proto.dependency()) {
      if (Build(import) == nullptr) return nullptr;
    }
    const FileDescriptor* file = pool_->BuildFile(proto);
    if (file != nullptr) files_.push_back(file);
    return file;
  }

  void Collect(const FileDescriptor& file) {
    for (int i = 0; i < file.message_type_count(); ++i) Collect(*file.message_type(i));
    for (int i = 0; i < file.enum_type_count(); ++i) enums_.push_back(file.enum_type(i));
    for (int i = 0; i < file.service_count(); ++i) services_.push_back(file.service(i));
  }

  void Collect(const Descriptor& message) {
    messages_.push_back(&message);
    for (int i = 0; i < message.nested_type_count(); ++i) Collect(*message.nested_type(i));
    for (int i = 0; i < message.enum_type_count(); ++i) enums_.push_back(message.enum_type(i));
  }

  void ForEachField(const std::function<void(const FieldDescriptor&)>& check) const {
    for (const Descriptor* message : messages_) {
      for (int i = 0; i < message->field_count(); ++i) check(*message->field(i));
    }
  }
  void ForEachEnumValue(const std::function<void(const EnumValueDescriptor&)>& check) const {
    for (const EnumDescriptor* type : enums_) {
      for (int i = 0; i < type->value_count(); ++i) check(*type->value(i));
    }
  }
  void ForEachMethod(const std::function<void(const MethodDescriptor&)>& check) const {
    for (const ServiceDescriptor* service : services_) {
      for (int i = 0; i < service->method_count(); ++i) check(*service->method(i));
    }
  }

  // What an RPC looks like, as in "AlignScans(stream) -> stream".
  std::vector<std::string> Shapes(const std::string& service_name) const {
    std::vector<std::string> shapes;
    ForEachMethod([&](const MethodDescriptor& method) {
      if (method.service()->name() != service_name) return;
      shapes.push_back(method.name() + (method.client_streaming() ? "(stream)" : "()") +
                       (method.server_streaming() ? " -> stream" : ""));
    });
    return shapes;
  }

  FileDescriptorSet set_;
  std::map<std::string, const FileDescriptorProto*> pending_;
  std::unique_ptr<DescriptorPool> pool_;
  std::vector<const FileDescriptor*> files_;
  std::vector<const Descriptor*> messages_;
  std::vector<const EnumDescriptor*> enums_;
  std::vector<const ServiceDescriptor*> services_;
};

TEST_F(ContractTest, CoversEveryProtoFileOfTheTree) {
  std::vector<std::string> on_disk;
  const std::filesystem::path root(VOXLOC_PROTO_DIR);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / kDirectory)) {
    if (entry.path().extension() == ".proto") {
      on_disk.push_back(std::filesystem::relative(entry.path(), root).generic_string());
    }
  }
  std::vector<std::string> described;
  for (const FileDescriptorProto& file : set_.file()) described.push_back(file.name());
  EXPECT_THAT(described, UnorderedElementsAreArray(on_disk));
}

TEST_F(ContractTest, FilesAreNamedAndPlacedByTheirPackage) {
  for (const FileDescriptorProto& file : set_.file()) {
    EXPECT_EQ(file.syntax(), "proto3") << file.name();
    EXPECT_EQ(file.package(), kPackage) << file.name();
    ASSERT_TRUE(StartsWith(file.name(), kDirectory)) << file.name();
    const std::string base = file.name().substr(std::string(kDirectory).size());
    ASSERT_TRUE(EndsWith(base, ".proto")) << file.name();
    EXPECT_TRUE(IsLowerSnake(base.substr(0, base.size() - std::string(".proto").size())))
        << file.name();
  }
}

TEST_F(ContractTest, ImportsArePlainAndUsed) {
  for (const FileDescriptor* file : files_) {
    FileDescriptorProto proto;
    file->CopyTo(&proto);
    EXPECT_EQ(proto.public_dependency_size(), 0) << file->name();
    EXPECT_EQ(proto.weak_dependency_size(), 0) << file->name();

    std::set<std::string> used;
    const std::function<void(const Descriptor&)> visit = [&](const Descriptor& message) {
      for (int i = 0; i < message.field_count(); ++i) {
        const FieldDescriptor& field = *message.field(i);
        if (field.message_type() != nullptr) used.insert(field.message_type()->file()->name());
        if (field.enum_type() != nullptr) used.insert(field.enum_type()->file()->name());
      }
      for (int i = 0; i < message.nested_type_count(); ++i) visit(*message.nested_type(i));
    };
    for (int i = 0; i < file->message_type_count(); ++i) visit(*file->message_type(i));
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        used.insert(file->service(s)->method(m)->input_type()->file()->name());
        used.insert(file->service(s)->method(m)->output_type()->file()->name());
      }
    }
    for (const std::string& import : proto.dependency()) {
      EXPECT_EQ(used.count(import), 1U) << file->name() << " does not use " << import;
    }
  }
}

TEST_F(ContractTest, EverythingHasALeadingComment) {
  for (const Descriptor* message : messages_) {
    if (message->options().map_entry()) continue;
    EXPECT_TRUE(HasLeadingComment(*message)) << message->full_name();
    for (int i = 0; i < message->real_oneof_decl_count(); ++i) {
      EXPECT_TRUE(HasLeadingComment(*message->oneof_decl(i)))
          << message->oneof_decl(i)->full_name();
    }
  }
  ForEachField([](const FieldDescriptor& field) {
    if (field.containing_type()->options().map_entry()) return;
    EXPECT_TRUE(HasLeadingComment(field)) << field.full_name();
  });
  for (const EnumDescriptor* type : enums_) {
    EXPECT_TRUE(HasLeadingComment(*type)) << type->full_name();
  }
  ForEachEnumValue([](const EnumValueDescriptor& value) {
    EXPECT_TRUE(HasLeadingComment(value)) << value.full_name();
  });
  for (const ServiceDescriptor* service : services_) {
    EXPECT_TRUE(HasLeadingComment(*service)) << service->full_name();
  }
  ForEachMethod([](const MethodDescriptor& method) {
    EXPECT_TRUE(HasLeadingComment(method)) << method.full_name();
  });
}

TEST_F(ContractTest, MessagesAndFieldsFollowTheNamingRules) {
  for (const Descriptor* message : messages_) {
    EXPECT_TRUE(IsPascal(message->name())) << message->full_name();
    for (int i = 0; i < message->oneof_decl_count(); ++i) {
      EXPECT_TRUE(IsLowerSnake(message->oneof_decl(i)->name()))
          << message->oneof_decl(i)->full_name();
    }
  }
  ForEachField([](const FieldDescriptor& field) {
    EXPECT_TRUE(IsLowerSnake(field.name())) << field.full_name();
  });
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
    EXPECT_TRUE(IsPascal(type->name())) << type->full_name();
    EXPECT_FALSE(type->options().allow_alias()) << type->full_name();
    const std::string prefix = UpperSnake(type->name()) + "_";
    EXPECT_EQ(type->value(0)->number(), 0) << type->full_name();
    EXPECT_EQ(type->value(0)->name(), prefix + "UNSPECIFIED");
  }
  ForEachEnumValue([](const EnumValueDescriptor& value) {
    EXPECT_TRUE(IsUpperSnake(value.name())) << value.full_name();
    EXPECT_TRUE(StartsWith(value.name(), UpperSnake(value.type()->name()) + "_"))
        << value.full_name();
  });
}

TEST_F(ContractTest, EveryRpcHasItsOwnRequestAndResponse) {
  for (const ServiceDescriptor* service : services_) {
    EXPECT_TRUE(IsPascal(service->name())) << service->full_name();
    EXPECT_TRUE(EndsWith(service->name(), "Service")) << service->full_name();
  }
  std::set<std::string> seen;
  ForEachMethod([&](const MethodDescriptor& method) {
    EXPECT_TRUE(IsPascal(method.name())) << method.full_name();
    EXPECT_EQ(method.input_type()->name(), method.name() + "Request");
    EXPECT_EQ(method.output_type()->name(), method.name() + "Response");
    EXPECT_TRUE(seen.insert(method.input_type()->full_name()).second)
        << method.input_type()->full_name() << " serves two RPCs";
    EXPECT_TRUE(seen.insert(method.output_type()->full_name()).second)
        << method.output_type()->full_name() << " serves two RPCs";
  });
}

TEST_F(ContractTest, NumericArraysArePacked) {
  ForEachField([](const FieldDescriptor& field) {
    if (field.is_packable()) {
      EXPECT_TRUE(field.is_packed()) << field.full_name();
    }
  });
}

TEST_F(ContractTest, HasExactlyTheServicesItPromises) {
  EXPECT_EQ(services_.size(), 3U);
  EXPECT_THAT(Shapes("LocalizationService"),
              ElementsAre("AlignScans(stream) -> stream", "AlignScan()",
                          "EstimateInitialPose() -> stream", "ScorePoses(stream) -> stream"));
  EXPECT_THAT(Shapes("MapService"),
              ElementsAre("UpdateMapTiles(stream) -> stream", "GetMap()", "ListMaps()",
                          "DeleteMap()", "ListTiles()", "GetTiles() -> stream",
                          "GetCells() -> stream", "WatchMap() -> stream", "ListRevisions()",
                          "ActivateRevision()", "WithdrawRevision()", "SetCanary()"));
  EXPECT_THAT(Shapes("AdminService"),
              ElementsAre("GetServerInfo()", "ListSessions()", "GetConfig()", "SetLogLevel()",
                          "Drain()", "ListCaptures()", "GetCapture()"));
}

TEST_F(ContractTest, AlignmentStatusIsComplete) {
  const EnumDescriptor* status = pool_->FindEnumTypeByName("voxloc.v1.AlignmentStatus");
  ASSERT_NE(status, nullptr);
  std::vector<std::string> names;
  const std::string prefix = "ALIGNMENT_STATUS_";
  for (int i = 0; i < status->value_count(); ++i) {
    EXPECT_EQ(status->value(i)->number(), i) << "numbers are for ever";
    names.push_back(status->value(i)->name().substr(prefix.size()));
  }
  EXPECT_THAT(names, ElementsAre("UNSPECIFIED", "OK", "LOW_SCORE", "NOT_CONVERGED", "DEGENERATE",
                                 "AMBIGUOUS", "LOW_OVERLAP", "OUT_OF_MAP", "NO_MAP", "NO_PRIOR",
                                 "NOT_ACTIVE", "STALE", "DEADLINE", "SUPERSEDED", "OVERLOADED",
                                 "INVALID_INPUT", "LOW_CONFIDENCE", "ENGINE_FAULT"));
}

// Half of a rewrapped paragraph is soon lost.
TEST_F(ContractTest, CommentsEndWithAFullStop) {
  std::vector<std::string> open_ended;
  ForEachField([&](const FieldDescriptor& field) {
    SourceLocation location;
    if (!field.GetSourceLocation(&location)) return;
    std::string text = location.leading_comments;
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    if (text.empty() || text.back() != '.') open_ended.push_back(field.full_name());
  });
  EXPECT_THAT(open_ended, IsEmpty());
}

}  // namespace
}  // namespace voxloc
