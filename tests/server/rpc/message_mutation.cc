// SPDX-License-Identifier: Apache-2.0

#include "tests/server/rpc/message_mutation.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace voxloc::server {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

// Of repeated parts, so that clouds and poses are not all that is changed.
constexpr int kMostPartsOfAField = 3;
constexpr int kManyValues = 1000;
constexpr int kManyParts = 40;

template <typename Value>
Value OneOf(const std::vector<Value>& values, std::mt19937_64& random) {
  return values[random() % values.size()];
}

int Below(int limit, std::mt19937_64& random) {
  return static_cast<int>(random() % static_cast<uint64_t>(limit));
}

// The message and all parts of it that are set.
void AddParts(Message& message, std::vector<Message*>& parts) {
  parts.push_back(&message);
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      AddParts(*reflection.MutableMessage(&message, field), parts);
      continue;
    }
    const int size = std::min(reflection.FieldSize(message, field), kMostPartsOfAField);
    for (int i = 0; i < size; ++i) {
      AddParts(*reflection.MutableRepeatedMessage(&message, field, i), parts);
    }
  }
}

// How reflection sets a field of a kind.
template <typename Value>
struct Setters {
  void (Reflection::*set)(Message*, const FieldDescriptor*, Value) const;
  void (Reflection::*set_repeated)(Message*, const FieldDescriptor*, int, Value) const;
  void (Reflection::*add)(Message*, const FieldDescriptor*, Value) const;
};

template <typename Value>
void Put(Message& message, const FieldDescriptor& field, const Value& value,
         const Setters<Value>& setters, std::mt19937_64& random) {
  const Reflection& reflection = *message.GetReflection();
  if (!field.is_repeated()) {
    (reflection.*setters.set)(&message, &field, value);
    return;
  }
  const int size = reflection.FieldSize(message, &field);
  const uint64_t how = random() % 4;
  if (how == 0) {
    reflection.ClearField(&message, &field);
  } else if (how == 1 && size > 0) {
    reflection.RemoveLast(&message, &field);
  } else if (how == 2 || size == 0) {
    const int more = random() % 2 == 0 ? 1 : kManyValues;
    for (int i = 0; i < more; ++i) (reflection.*setters.add)(&message, &field, value);
  } else {
    (reflection.*setters.set_repeated)(&message, &field, Below(size, random), value);
  }
}

template <typename Value>
Value WholeNumber(std::mt19937_64& random) {
  using Limit = std::numeric_limits<Value>;
  return OneOf<Value>({Limit::min(), Limit::max(), Value{0}, Value{1}, Value{2},
                       static_cast<Value>(Limit::max() / 2), static_cast<Value>(random())},
                      random);
}

double RealNumber(std::mt19937_64& random) {
  using Limit = std::numeric_limits<double>;
  return OneOf<double>(
      {Limit::max(), -Limit::max(), Limit::min(), Limit::denorm_min(), Limit::quiet_NaN(),
       Limit::infinity(), -Limit::infinity(), 0.0, -0.0, 1.0, -1.0, 1e-9, 1e9, -1e9, 1.1e9, 1e160},
      random);
}

float SmallRealNumber(std::mt19937_64& random) {
  using Limit = std::numeric_limits<float>;
  return OneOf<float>({Limit::max(), -Limit::max(), Limit::denorm_min(), Limit::quiet_NaN(),
                       Limit::infinity(), -Limit::infinity(), 0.0F, 1.0F, -1.0F},
                      random);
}

std::string Text(std::mt19937_64& random) {
  constexpr size_t kLongBytes = 1 << 20;
  return OneOf<std::string>(
      {"", "town", "other", std::string(1, '\0'), "../../etc/passwd", "a\nb\"c", "\xff\xfe",
       std::string(65, 'm'), std::string(300, 'x'), std::string(kLongBytes, 'y')},
      random);
}

void PutPart(Message& message, const FieldDescriptor& field, std::mt19937_64& random) {
  const Reflection& reflection = *message.GetReflection();
  const uint64_t how = random() % 3;
  if (!field.is_repeated()) {
    if (how == 0) {
      reflection.ClearField(&message, &field);
    } else {
      Message& part = *reflection.MutableMessage(&message, &field);
      if (how == 1) part.Clear();
    }
    return;
  }
  const int size = reflection.FieldSize(message, &field);
  if (how == 0) {
    reflection.ClearField(&message, &field);
  } else if (how == 1 || size == 0) {
    reflection.AddMessage(&message, &field);
  } else {
    for (int i = 0; i < kManyParts; ++i) {
      Message& added = *reflection.AddMessage(&message, &field);
      added.CopyFrom(reflection.GetRepeatedMessage(message, &field, 0));
    }
  }
}

}  // namespace

void MutateField(Message& message, std::mt19937_64& random) {
  std::vector<Message*> parts;
  AddParts(message, parts);
  Message& part = *OneOf(parts, random);
  const int fields = part.GetDescriptor()->field_count();
  if (fields == 0) return;
  const FieldDescriptor& field = *part.GetDescriptor()->field(Below(fields, random));
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      Put<int32_t>(part, field, WholeNumber<int32_t>(random),
                   {&Reflection::SetInt32, &Reflection::SetRepeatedInt32, &Reflection::AddInt32},
                   random);
      break;
    case FieldDescriptor::CPPTYPE_UINT32:
      Put<uint32_t>(
          part, field, WholeNumber<uint32_t>(random),
          {&Reflection::SetUInt32, &Reflection::SetRepeatedUInt32, &Reflection::AddUInt32}, random);
      break;
    case FieldDescriptor::CPPTYPE_INT64:
      Put<int64_t>(part, field, WholeNumber<int64_t>(random),
                   {&Reflection::SetInt64, &Reflection::SetRepeatedInt64, &Reflection::AddInt64},
                   random);
      break;
    case FieldDescriptor::CPPTYPE_UINT64:
      Put<uint64_t>(
          part, field, WholeNumber<uint64_t>(random),
          {&Reflection::SetUInt64, &Reflection::SetRepeatedUInt64, &Reflection::AddUInt64}, random);
      break;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      Put<double>(part, field, RealNumber(random),
                  {&Reflection::SetDouble, &Reflection::SetRepeatedDouble, &Reflection::AddDouble},
                  random);
      break;
    case FieldDescriptor::CPPTYPE_FLOAT:
      Put<float>(part, field, SmallRealNumber(random),
                 {&Reflection::SetFloat, &Reflection::SetRepeatedFloat, &Reflection::AddFloat},
                 random);
      break;
    case FieldDescriptor::CPPTYPE_BOOL:
      Put<bool>(part, field, random() % 2 == 0,
                {&Reflection::SetBool, &Reflection::SetRepeatedBool, &Reflection::AddBool}, random);
      break;
    case FieldDescriptor::CPPTYPE_ENUM:
      Put<int>(
          part, field, WholeNumber<int>(random),
          {&Reflection::SetEnumValue, &Reflection::SetRepeatedEnumValue, &Reflection::AddEnumValue},
          random);
      break;
    case FieldDescriptor::CPPTYPE_STRING:
      Put<std::string>(
          part, field, Text(random),
          {&Reflection::SetString, &Reflection::SetRepeatedString, &Reflection::AddString}, random);
      break;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      PutPart(part, field, random);
      break;
  }
}

}  // namespace voxloc::server
