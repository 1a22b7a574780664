// SPDX-License-Identifier: Apache-2.0

#include "clients/cli/output/message_json.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "voxloc/v1/geometry.pb.h"

namespace voxloc::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// The element at `index` of a repeated field, or the value of a singular one.
constexpr int kSingular = -1;

Json ValueJson(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& of = *message.GetReflection();
  const bool one = index == kSingular;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return one ? of.GetBool(message, &field) : of.GetRepeatedBool(message, &field, index);
    case FieldDescriptor::CPPTYPE_INT32:
      return one ? of.GetInt32(message, &field) : of.GetRepeatedInt32(message, &field, index);
    case FieldDescriptor::CPPTYPE_INT64:
      return one ? of.GetInt64(message, &field) : of.GetRepeatedInt64(message, &field, index);
    case FieldDescriptor::CPPTYPE_UINT32:
      return one ? of.GetUInt32(message, &field) : of.GetRepeatedUInt32(message, &field, index);
    case FieldDescriptor::CPPTYPE_UINT64:
      return one ? of.GetUInt64(message, &field) : of.GetRepeatedUInt64(message, &field, index);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return one ? of.GetFloat(message, &field) : of.GetRepeatedFloat(message, &field, index);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return one ? of.GetDouble(message, &field) : of.GetRepeatedDouble(message, &field, index);
    case FieldDescriptor::CPPTYPE_ENUM: {
      const int number =
          one ? of.GetEnumValue(message, &field) : of.GetRepeatedEnumValue(message, &field, index);
      const auto* value = field.enum_type()->FindValueByNumber(number);
      // A newer server may know more values.
      return value == nullptr ? Json(number) : Json(EnumName(*value));
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string text =
          one ? of.GetString(message, &field) : of.GetRepeatedString(message, &field, index);
      return field.type() == FieldDescriptor::TYPE_BYTES ? absl::BytesToHexString(text) : text;
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (one && !of.HasField(message, &field)) return nullptr;
      return MessageJson(one ? of.GetMessage(message, &field)
                             : of.GetRepeatedMessage(message, &field, index));
  }
  return nullptr;
}

Json VectorMessageJson(const v1::Vector3& vector) {
  return Json::array({vector.x(), vector.y(), vector.z()});
}

Json PoseMessageJson(const v1::Pose& pose) {
  Json numbers = VectorMessageJson(pose.position());
  const v1::Quaternion& q = pose.orientation();
  for (const double value : {q.x(), q.y(), q.z(), q.w()}) numbers.push_back(value);
  return numbers;
}

}  // namespace

bool IsWrapper(const google::protobuf::Descriptor& message) {
  return message.file()->name() == "google/protobuf/wrappers.proto";
}

std::string EnumName(const google::protobuf::EnumValueDescriptor& value) {
  // The first name of each enum is the prefix with UNSPECIFIED.
  const std::string first(value.type()->value(0)->name());
  const std::string prefix(absl::StripSuffix(first, "UNSPECIFIED"));
  return std::string(absl::StripPrefix(std::string(value.name()), prefix));
}

std::string EnumWord(const google::protobuf::EnumValueDescriptor& value) {
  return absl::StrReplaceAll(absl::AsciiStrToLower(EnumName(value)), {{"_", "-"}});
}

Json MessageJson(const Message& message) {
  const google::protobuf::Descriptor& descriptor = *message.GetDescriptor();
  if (descriptor.full_name() == v1::Vector3::descriptor()->full_name()) {
    return VectorMessageJson(static_cast<const v1::Vector3&>(message));
  }
  if (descriptor.full_name() == v1::Pose::descriptor()->full_name()) {
    return PoseMessageJson(static_cast<const v1::Pose&>(message));
  }
  if (IsWrapper(descriptor)) return ValueJson(message, *descriptor.field(0), kSingular);
  Json json = Json::object();
  for (int f = 0; f < descriptor.field_count(); ++f) {
    const FieldDescriptor& field = *descriptor.field(f);
    const std::string name(field.name());
    if (field.is_repeated()) {
      Json list = Json::array();
      const int size = message.GetReflection()->FieldSize(message, &field);
      for (int i = 0; i < size; ++i) list.push_back(ValueJson(message, field, i));
      json[name] = std::move(list);
    } else if (field.containing_oneof() == nullptr ||
               message.GetReflection()->HasField(message, &field)) {
      json[name] = ValueJson(message, field, kSingular);
    }
  }
  return json;
}

}  // namespace voxloc::cli
