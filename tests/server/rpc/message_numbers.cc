// SPDX-License-Identifier: Apache-2.0

#include "tests/server/rpc/message_numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"

namespace voxloc::server {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;

bool IsNumber(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
    case FieldDescriptor::CPPTYPE_BOOL:
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return false;
    default:
      return true;
  }
}

void AddNumbers(Message& message, const std::string& path, std::vector<Number>& numbers) {
  const Reflection& reflection = *message.GetReflection();
  for (int f = 0; f < message.GetDescriptor()->field_count(); ++f) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(f);
    const std::string name = absl::StrCat(path, path.empty() ? "" : ".", field.name());
    if (field.is_repeated()) {
      const int size = reflection.FieldSize(message, &field);
      for (int i = 0; i < size; ++i) {
        if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
          AddNumbers(*reflection.MutableRepeatedMessage(&message, &field, i), name, numbers);
        } else if (IsNumber(field) && (i < 2 || i + 1 == size)) {
          numbers.push_back({&message, &field, i, name});
        }
      }
    } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (!reflection.HasField(message, &field)) continue;
      AddNumbers(*reflection.MutableMessage(&message, &field), name, numbers);
    } else if (IsNumber(field)) {
      numbers.push_back({&message, &field, -1, name});
    }
  }
}

void AddPaths(const Descriptor& descriptor, const std::string& path, std::set<std::string>& paths) {
  for (int f = 0; f < descriptor.field_count(); ++f) {
    const FieldDescriptor& field = *descriptor.field(f);
    const std::string name = absl::StrCat(path, path.empty() ? "" : ".", field.name());
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      AddPaths(*field.message_type(), name, paths);
    } else if (IsNumber(field)) {
      paths.insert(name);
    }
  }
}

// By the contract, where there is no bound.
bool MayBeInfinite(const FieldDescriptor& field) {
  return field.full_name() == "voxloc.v1.Degeneracy.condition" ||
         field.full_name() == "voxloc.v1.ProtectionLevels.horizontal_m" ||
         field.full_name() == "voxloc.v1.ProtectionLevels.vertical_m";
}

template <typename Value, typename Set, typename SetOfMany>
Extreme MakeExtreme(Value value, Set set, SetOfMany set_of_many) {
  return {absl::StrCat(value), [=](const Number& number) {
            const Reflection& reflection = *number.parent->GetReflection();
            if (number.index < 0) {
              (reflection.*set)(number.parent, number.field, value);
            } else {
              (reflection.*set_of_many)(number.parent, number.field, number.index, value);
            }
          }};
}

template <typename Value>
std::vector<Value> EndsOf() {
  return {std::numeric_limits<Value>::min(), std::numeric_limits<Value>::max()};
}

}  // namespace

bool IsReal(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE ||
         field.cpp_type() == FieldDescriptor::CPPTYPE_FLOAT;
}

std::vector<Number> NumbersOf(Message& message) {
  std::vector<Number> numbers;
  AddNumbers(message, "", numbers);
  return numbers;
}

std::set<std::string> NumberPathsOf(const Descriptor& descriptor) {
  std::set<std::string> paths;
  AddPaths(descriptor, "", paths);
  return paths;
}

std::vector<Extreme> ExtremesOf(const FieldDescriptor& field) {
  std::vector<Extreme> extremes;
  const auto add = [&extremes](const auto& values, const auto set, const auto set_of_many) {
    for (const auto value : values) extremes.push_back(MakeExtreme(value, set, set_of_many));
  };
  using Limit = std::numeric_limits<double>;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      add(std::vector<double>{Limit::max(), -Limit::max(), Limit::denorm_min(), 1e160,
                              Limit::quiet_NaN(), Limit::infinity(), -Limit::infinity()},
          &Reflection::SetDouble, &Reflection::SetRepeatedDouble);
      break;
    case FieldDescriptor::CPPTYPE_INT32:
      add(EndsOf<int32_t>(), &Reflection::SetInt32, &Reflection::SetRepeatedInt32);
      break;
    case FieldDescriptor::CPPTYPE_UINT32:
      add(EndsOf<uint32_t>(), &Reflection::SetUInt32, &Reflection::SetRepeatedUInt32);
      break;
    case FieldDescriptor::CPPTYPE_INT64:
      add(EndsOf<int64_t>(), &Reflection::SetInt64, &Reflection::SetRepeatedInt64);
      break;
    case FieldDescriptor::CPPTYPE_UINT64:
      add(EndsOf<uint64_t>(), &Reflection::SetUInt64, &Reflection::SetRepeatedUInt64);
      break;
    case FieldDescriptor::CPPTYPE_ENUM:
      add(EndsOf<int>(), &Reflection::SetEnumValue, &Reflection::SetRepeatedEnumValue);
      break;
    default:
      ADD_FAILURE() << field.full_name() << " is of a kind that this test does not know";
  }
  return extremes;
}

std::string NotFiniteIn(const Message& message) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int size = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < size; ++i) {
      double value = 0.0;
      switch (field->cpp_type()) {
        case FieldDescriptor::CPPTYPE_MESSAGE: {
          const Message& part = field->is_repeated()
                                    ? reflection.GetRepeatedMessage(message, field, i)
                                    : reflection.GetMessage(message, field);
          if (std::string found = NotFiniteIn(part); !found.empty()) {
            return absl::StrCat(field->name(), ".", found);
          }
          continue;
        }
        case FieldDescriptor::CPPTYPE_DOUBLE:
          value = field->is_repeated() ? reflection.GetRepeatedDouble(message, field, i)
                                       : reflection.GetDouble(message, field);
          break;
        case FieldDescriptor::CPPTYPE_FLOAT:
          value = field->is_repeated() ? reflection.GetRepeatedFloat(message, field, i)
                                       : reflection.GetFloat(message, field);
          break;
        default:
          continue;
      }
      if (std::isnan(value) || (std::isinf(value) && !MayBeInfinite(*field))) {
        return absl::StrCat(field->name(), " is ", value);
      }
    }
  }
  return "";
}

}  // namespace voxloc::server
