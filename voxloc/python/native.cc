// SPDX-License-Identifier: Apache-2.0
//
// voxloc._native: the library for Python. The package voxloc (clients/python) wraps it and has its
// documentation; here are conversions and checks. Poses are arrays of seven: x y z qx qy qz qw.
// Work is done without the GIL.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/cloud/filters.h"
#include "core/cloud/io/cloud_file.h"
#include "voxloc/localizer.h"

namespace py = pybind11;

namespace voxloc {
namespace {

using Numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;

[[noreturn]] void Raise(const absl::Status& status) {
  const std::string message(status.message());
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      throw py::value_error(message);
    case absl::StatusCode::kNotFound:
      PyErr_SetString(PyExc_FileNotFoundError, message.c_str());
      throw py::error_already_set();
    case absl::StatusCode::kResourceExhausted:
      PyErr_SetString(PyExc_MemoryError, message.c_str());
      throw py::error_already_set();
    default:
      throw std::runtime_error(message);
  }
}

template <typename T>
T ValueOf(absl::StatusOr<T> value) {
  if (!value.ok()) Raise(value.status());
  return *std::move(value);
}

// What `work` returns, computed without the GIL.
template <typename Work>
auto WithoutGil(const Work& work) {
  const py::gil_scoped_release released;
  return work();
}

std::string ShapeOf(const py::array& array) {
  return py::cast<std::string>(py::str(py::tuple(array.attr("shape"))));
}

template <typename Coordinate>
Coordinate At(const py::array& points, py::ssize_t i, py::ssize_t axis) {
  Coordinate value;
  std::memcpy(
      &value,
      static_cast<const char*>(points.data()) + i * points.strides(0) + axis * points.strides(1),
      sizeof(value));
  return value;
}

template <typename Coordinate>
void ReadPoints(const py::array& points, const Eigen::Vector3d& origin, PointCloud& cloud) {
  const auto at = [&](py::ssize_t i, py::ssize_t axis) {
    return static_cast<float>(static_cast<double>(At<Coordinate>(points, i, axis)) - origin[axis]);
  };
  for (py::ssize_t i = 0; i < points.shape(0); ++i) cloud.PushBack(at(i, 0), at(i, 1), at(i, 2));
}

// As ReadCloud chooses it.
Eigen::Vector3d OriginOf(const py::array& points) {
  for (py::ssize_t i = 0; i < points.shape(0); ++i) {
    const std::optional<Eigen::Vector3d> origin =
        OriginFor({At<double>(points, i, 0), At<double>(points, i, 1), At<double>(points, i, 2)});
    if (origin.has_value()) return *origin;
  }
  return Eigen::Vector3d::Zero();
}

// Of an array (N, 3) of float32 or float64, with any strides.
PointCloud CloudOf(const py::array& points) {
  const bool is_float = py::isinstance<py::array_t<float>>(points);
  if (points.ndim() != 2 || points.shape(1) != 3 ||
      !(is_float || py::isinstance<py::array_t<double>>(points))) {
    throw py::value_error(absl::StrCat("points must be an array (N, 3) of float32 or float64 (got ",
                                       ShapeOf(points), " of ",
                                       py::cast<std::string>(py::str(points.dtype())), ")"));
  }
  PointCloud cloud;
  cloud.Reserve(static_cast<size_t>(points.shape(0)));
  if (is_float) {
    ReadPoints<float>(points, cloud.origin, cloud);
  } else {
    cloud.origin = OriginOf(points);
    ReadPoints<double>(points, cloud.origin, cloud);
  }
  return cloud;
}

// (N, 3): float32 where the origin is zero, else float64.
py::array PointsOf(const PointCloud& cloud) {
  const auto fill = [&cloud](auto array) -> py::array {
    auto* next = array.mutable_data();
    using Coordinate = std::remove_pointer_t<decltype(next)>;
    for (size_t i = 0; i < cloud.size(); ++i) {
      const Eigen::Vector3d point = cloud.Point(i);
      for (int axis = 0; axis < 3; ++axis) *next++ = static_cast<Coordinate>(point[axis]);
    }
    return array;
  };
  const std::vector<py::ssize_t> shape = {static_cast<py::ssize_t>(cloud.size()), 3};
  if (cloud.origin.isZero(0.0)) return fill(py::array_t<float>(shape));
  return fill(py::array_t<double>(shape));
}

const double* NumbersOf(const Numbers& array, py::ssize_t count, const char* name) {
  if (array.size() != count) {
    throw py::value_error(
        absl::StrCat(name, " must have ", count, " numbers (got ", ShapeOf(array), ")"));
  }
  return array.data();
}

Pose PoseOf(const double* seven) {
  return {{seven[0], seven[1], seven[2]},
          Eigen::Quaterniond(seven[6], seven[3], seven[4], seven[5])};
}

std::array<double, 7> SevenOf(const Pose& pose) {
  const Eigen::Vector3d& t = pose.translation;
  const Eigen::Quaterniond& q = pose.rotation;
  const double sign = q.w() < 0.0 ? -1.0 : 1.0;
  return {t.x(), t.y(), t.z(), sign * q.x(), sign * q.y(), sign * q.z(), sign * q.w()};
}

template <typename Values>
py::array_t<double> ArrayOf(const Values& values, std::vector<py::ssize_t> shape) {
  py::array_t<double> array(std::move(shape));
  std::copy_n(values.data(), values.size(), array.mutable_data());
  return array;
}

Matrix6 MatrixOf(const Numbers& array, const char* name) {
  return Eigen::Map<const Eigen::Matrix<double, 6, 6, Eigen::RowMajor>>(NumbersOf(array, 36, name));
}

AlignRequest RequestOf(const py::array& points, const Numbers& guess,
                       const std::optional<Numbers>& covariance,
                       const std::optional<Numbers>& twist, double timeout_s, bool trace,
                       bool point_scores) {
  AlignRequest request;
  request.points_base = CloudOf(points);
  request.map_T_base_guess = PoseOf(NumbersOf(guess, 7, "guess"));
  if (covariance.has_value()) request.guess_covariance = MatrixOf(*covariance, "covariance");
  if (twist.has_value()) {
    const double* const six = NumbersOf(*twist, 6, "twist");
    request.base_twist = Twist{{six[0], six[1], six[2]}, {six[3], six[4], six[5]}};
  }
  request.timeout_s = timeout_s;
  request.with_trace = trace;
  request.with_point_scores = point_scores;
  return request;
}

// One array a quantity, with a row for each iteration.
py::dict TraceOf(const std::vector<IterationTrace>& trace) {
  const auto rows = [&trace](std::vector<py::ssize_t> shape, const auto& values_of) {
    std::vector<double> values;
    for (const IterationTrace& step : trace) {
      const auto row = values_of(step);
      values.insert(values.end(), row.data(), row.data() + row.size());
    }
    shape.insert(shape.begin(), static_cast<py::ssize_t>(trace.size()));
    return ArrayOf(values, std::move(shape));
  };
  const auto column = [&](const auto& value_of) {
    return rows({}, [&](const IterationTrace& step) {
      return std::array<double, 1>{static_cast<double>(value_of(step))};
    });
  };
  py::dict result;
  result["stage"] = column([](const IterationTrace& step) { return step.stage; });
  result["map_T_base"] =
      rows({7}, [](const IterationTrace& step) { return SevenOf(step.map_T_base); });
  result["score"] = column([](const IterationTrace& step) { return step.score.score; });
  result["transform_probability"] =
      column([](const IterationTrace& step) { return step.score.transform_probability; });
  result["nvtl"] =
      column([](const IterationTrace& step) { return step.score.nearest_voxel_likelihood; });
  result["gradient"] = rows({6}, [](const IterationTrace& step) { return step.gradient; });
  result["hessian"] = rows({6, 6}, [](const IterationTrace& step) { return step.hessian; });
  result["newton_step"] = rows({6}, [](const IterationTrace& step) { return step.newton_step; });
  result["step_length"] = column([](const IterationTrace& step) { return step.step_length; });
  return result;
}

void DefineAlignment(py::module& module) {
  py::class_<Alignment>(module, "Alignment")
      .def_property_readonly("map_T_base",
                             [](const Alignment& a) { return ArrayOf(SevenOf(a.map_T_base), {7}); })
      .def_property_readonly("covariance",
                             [](const Alignment& a) {
                               return ArrayOf(a.covariance, {6, 6});
                             })
      .def_property_readonly("status",
                             [](const Alignment& a) { return std::string(ToString(a.status)); })
      .def_property_readonly("nvtl",
                             [](const Alignment& a) { return a.score.nearest_voxel_likelihood; })
      .def_property_readonly("transform_probability",
                             [](const Alignment& a) { return a.score.transform_probability; })
      .def_property_readonly("matched_ratio",
                             [](const Alignment& a) { return a.score.matched_ratio(); })
      .def_property_readonly("trace", [](const Alignment& a) { return TraceOf(a.trace); })
      .def_property_readonly("point_scores",
                             [](const Alignment& a) {
                               return py::array_t<float>(
                                   static_cast<py::ssize_t>(a.point_scores.size()),
                                   a.point_scores.data());
                             })
      .def_readonly("accepted", &Alignment::accepted)
      .def_readonly("detail", &Alignment::detail)
      .def_readonly("confidence", &Alignment::confidence)
      .def_readonly("iterations", &Alignment::iterations);
}

void DefineMap(py::module& module) {
  py::class_<Map>(module, "Map")
      .def(py::init<>())
      .def_static("from_file",
                  [](const std::string& path) {
                    return ValueOf(WithoutGil([&] { return Map::FromFile(path); }));
                  })
      .def("add_tile",
           [](Map& map, const std::string& id, const py::array& points) {
             if (absl::Status status = map.AddTile(id, CloudOf(points)); !status.ok())
               Raise(status);
           })
      .def("remove_tile", &Map::RemoveTile)
      .def("tile_sizes",
           [](const Map& map) {
             std::map<std::string, size_t> sizes;
             for (const auto& [id, points] : map.tiles()) sizes[id] = points->size();
             return sizes;
           })
      .def("points", [](const Map& map, const std::string& id) {
        const auto found = map.tiles().find(id);
        if (found == map.tiles().end()) throw py::key_error(id);
        return PointsOf(*found->second);
      });
}

void DefineLocalizer(py::module& module) {
  py::class_<Localizer>(module, "Localizer")
      .def(py::init([](const Map& map, const std::string& profile, const std::string& device,
                       size_t threads) {
        LocalizerOptions options;
        options.profile = profile;
        options.device = device;
        options.threads = threads;
        const Map copy = map;  // another thread may change the other one
        return ValueOf(WithoutGil([&] { return Localizer::Create(copy, options); }));
      }))
      .def("set_map",
           [](Localizer& localizer, const Map& map) {
             const Map copy = map;
             const absl::Status status = WithoutGil([&] { return localizer.SetMap(copy); });
             if (!status.ok()) Raise(status);
           })
      .def("align",
           [](const Localizer& localizer, const py::array& points, const Numbers& guess,
              const std::optional<Numbers>& covariance, const std::optional<Numbers>& twist,
              double timeout_s, bool trace, bool point_scores) {
             AlignRequest request =
                 RequestOf(points, guess, covariance, twist, timeout_s, trace, point_scores);
             return ValueOf(WithoutGil([&] { return localizer.Align(std::move(request)); }));
           })
      .def("align_batch",
           [](const Localizer& localizer, const std::vector<py::array>& scans,
              const Numbers& guesses) {
             NumbersOf(guesses, 7 * static_cast<py::ssize_t>(scans.size()), "guesses");
             std::vector<AlignRequest> requests(scans.size());
             for (size_t i = 0; i < scans.size(); ++i) {
               requests[i].points_base = CloudOf(scans[i]);
               requests[i].map_T_base_guess = PoseOf(guesses.data() + 7 * i);
             }
             auto found = WithoutGil([&] { return localizer.AlignBatch(std::move(requests)); });
             std::vector<Alignment> alignments;
             for (size_t i = 0; i < found.size(); ++i) {
               if (!found[i].ok()) {
                 Raise(absl::Status(found[i].status().code(),
                                    absl::StrCat("scan ", i, ": ", found[i].status().message())));
               }
               alignments.push_back(*std::move(found[i]));
             }
             return alignments;
           })
      .def("locate",
           [](const Localizer& localizer, const py::array& points,
              const std::optional<Numbers>& within, double timeout_s, size_t max_hypotheses,
              uint64_t seed) {
             LocateRequest request;
             request.points_base = CloudOf(points);
             if (within.has_value()) {
               const double* const box = NumbersOf(*within, 6, "within");
               request.within_map = {{box[0], box[1], box[2]}, {box[3], box[4], box[5]}, 1};
             }
             request.timeout_s = timeout_s;
             request.max_hypotheses = max_hypotheses;
             request.seed = seed;
             Location found =
                 ValueOf(WithoutGil([&] { return localizer.Locate(std::move(request)); }));
             return py::make_tuple(std::move(found.hypotheses), found.reliable, found.ambiguous,
                                   found.timed_out);
           })
      .def("score",
           [](const Localizer& localizer, const py::array& points, const Numbers& poses) {
             if (poses.ndim() != 2 || poses.shape(1) != 7) {
               throw py::value_error(
                   absl::StrCat("poses must be (M, 7) (got ", ShapeOf(poses), ")"));
             }
             std::vector<Pose> map_T_base;
             for (py::ssize_t i = 0; i < poses.shape(0); ++i) {
               map_T_base.push_back(PoseOf(poses.data() + 7 * i));
             }
             PointCloud cloud = CloudOf(points);
             const std::vector<PoseScore> scores =
                 ValueOf(WithoutGil([&] { return localizer.Score(std::move(cloud), map_T_base); }));
             std::vector<double> rows;
             for (const PoseScore& score : scores) {
               rows.insert(rows.end(), {score.nearest_voxel_likelihood, score.transform_probability,
                                        score.matched_ratio()});
             }
             return ArrayOf(rows, {static_cast<py::ssize_t>(scores.size()), 3});
           })
      .def_property_readonly("device", &Localizer::device)
      .def_property_readonly("memory_bytes", &Localizer::MemoryBytes);
}

}  // namespace
}  // namespace voxloc

PYBIND11_MODULE(_native, module) {
  using namespace voxloc;  // NOLINT(google-build-using-namespace): a macro's function
  DefineAlignment(module);
  DefineMap(module);
  DefineLocalizer(module);
  module.def("read_cloud", [](const std::string& path) {
    return PointsOf(ValueOf(WithoutGil([&] { return ReadCloud(path); })));
  });
  module.def("write_pcd", [](const std::string& path, const py::array& points) {
    const PointCloud cloud = CloudOf(points);
    const absl::Status status = WithoutGil([&] { return WritePcd(path, cloud); });
    if (!status.ok()) Raise(status);
  });
  module.def("voxel_downsample", [](const py::array& points, double leaf_m) {
    const PointCloud cloud = CloudOf(points);
    return PointsOf(ValueOf(WithoutGil([&] { return VoxelDownsample(cloud, leaf_m); })));
  });
}
