// SPDX-License-Identifier: Apache-2.0

#include "clients/dataset/crs.h"

#include <dlfcn.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/cloud/io/cloud_builder.h"
#include "core/cloud/io/las_crs.h"
#include "core/cloud/io/text_scan.h"
#include "core/status/try.h"

namespace voxloc {
namespace {

// What is used of PROJ's C interface (proj.h), which is the same from version 8 on, and the values
// of its enumerations.
struct Context;
struct Object;
constexpr int kNoLog = 0;          // PJ_LOG_NONE
constexpr int kForward = 1;        // PJ_FWD
constexpr int kGeographic2d = 12;  // PJ_TYPE_GEOGRAPHIC_2D_CRS
constexpr int kGeographic3d = 13;  // PJ_TYPE_GEOGRAPHIC_3D_CRS
constexpr int kProjectedCrs = 15;  // PJ_TYPE_PROJECTED_CRS
constexpr int kCompoundCrs = 16;   // PJ_TYPE_COMPOUND_CRS
constexpr int kBoundCrs = 19;      // PJ_TYPE_BOUND_CRS

// One step is 1.1 m to the north.
constexpr double kDegreeScale = 1e5;

struct Proj {
  Context* (*context_create)();
  Context* (*context_destroy)(Context*);
  int (*log_level)(Context*, int);
  Object* (*create)(Context*, const char* definition);
  Object* (*destroy)(Object*);
  const char* (*get_name)(const Object*);
  int (*get_type)(const Object*);
  Object* (*get_source_crs)(Context*, const Object*);
  Object* (*crs_get_sub_crs)(Context*, const Object*, int index);
  Object* (*crs_promote_to_3d)(Context*, const char* name, const Object*);
  Object* (*crs_get_coordinate_system)(Context*, const Object*);
  int (*cs_get_axis_count)(Context*, const Object*);
  int (*cs_get_axis_info)(Context*, const Object*, int index, const char** name,
                          const char** abbreviation, const char** direction, double* unit_factor,
                          const char** unit_name, const char** unit_authority,
                          const char** unit_code);
  Object* (*create_crs_to_crs_from_pj)(Context*, const Object* source, const Object* target,
                                       void* area, const char* const* options);
  Object* (*normalize_for_visualization)(Context*, const Object*);
  // x, y, z and t: the first value, the step to the next in bytes, and how many.
  size_t (*trans_generic)(Object*, int direction, double*, size_t, size_t, double*, size_t, size_t,
                          double*, size_t, size_t, double*, size_t, size_t);
};

absl::StatusOr<Proj> LoadProj() {
  void* library = nullptr;
  std::string why;
  // Of PROJ 9, and of 8, as Ubuntu 22.04 has it.
  for (const char* file : {"libproj.so.25", "libproj.so.22"}) {
    if (library != nullptr) break;
    library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (const char* error = library == nullptr ? dlerror() : nullptr; error != nullptr) {
      absl::StrAppend(&why, why.empty() ? "" : "; ", error);
    }
  }
  Proj proj{};
  const auto find = [&](const char* name, auto& function) {
    if (library == nullptr) return;
    function = reinterpret_cast<std::decay_t<decltype(function)>>(
        dlsym(library, absl::StrCat("proj_", name).c_str()));
    if (function == nullptr) absl::StrAppend(&why, "it has no proj_", name, "; ");
  };
  if (library != nullptr) why.clear();
  find("context_create", proj.context_create);
  find("context_destroy", proj.context_destroy);
  find("log_level", proj.log_level);
  find("create", proj.create);
  find("destroy", proj.destroy);
  find("get_name", proj.get_name);
  find("get_type", proj.get_type);
  find("get_source_crs", proj.get_source_crs);
  find("crs_get_sub_crs", proj.crs_get_sub_crs);
  find("crs_promote_to_3D", proj.crs_promote_to_3d);
  find("crs_get_coordinate_system", proj.crs_get_coordinate_system);
  find("cs_get_axis_count", proj.cs_get_axis_count);
  find("cs_get_axis_info", proj.cs_get_axis_info);
  find("create_crs_to_crs_from_pj", proj.create_crs_to_crs_from_pj);
  find("normalize_for_visualization", proj.normalize_for_visualization);
  find("trans_generic", proj.trans_generic);
  if (why.empty()) return proj;
  return absl::FailedPreconditionError(absl::StrCat(
      "PROJ, which transforms coordinates, cannot be used: ", why,
      "; install it (Debian and Ubuntu: apt install proj-bin), or convert the file: pdal translate "
      "in.las out.las reprojection --filters.reprojection.out_srs=EPSG:CODE"));
}

// The frame as the server reads it from the message.
absl::StatusOr<MapFrame> FrameOfMessage(const v1::MapFrame& message) {
  const auto point_of = [](const v1::GeoPoint& point) {
    return GeoPoint{point.latitude_deg(), point.longitude_deg(), point.altitude_m()};
  };
  MapFrame frame;
  if (message.has_projector()) {
    MapProjector& projector = frame.projector.emplace();
    VOXLOC_ASSIGN_OR_RETURN(projector.type,
                            ProjectorTypeFromName(message.projector().projector_type()));
    projector.vertical_datum = message.projector().vertical_datum();
    projector.mgrs_grid = message.projector().mgrs_grid();
    if (message.projector().has_map_origin()) {
      projector.map_origin = point_of(message.projector().map_origin());
    }
    projector.scale_factor = message.projector().scale_factor();
  }
  if (message.has_origin()) {
    frame.origin = {point_of(message.origin().point()), message.origin().x_axis_yaw_rad()};
  }
  return MakeMapFrame(std::move(frame));
}

// What PROJ calls the heights of a map's frame.
struct MapHeights {
  const char* definition;
  const char* name;
};
MapHeights HeightsOf(const MapFrame& frame) {
  const bool geoid = frame.projector.has_value() &&
                     frame.projector->type != ProjectorType::kLocal &&
                     frame.projector->vertical_datum == "EGM2008";
  if (geoid) return {"EPSG:4326+3855", "the geoid EGM2008"};
  return {"EPSG:4979", "the ellipsoid of WGS84"};
}

// Transforms through one context of PROJ, with the objects that it needs until the end.
class ProjCrsToMap : public CrsToMap {
 public:
  ProjCrsToMap(const Proj& proj, std::string definition,
               std::unique_ptr<const MapProjection> projection, MapHeights map_heights)
      : proj_(proj),
        definition_(std::move(definition)),
        projection_(std::move(projection)),
        map_heights_(map_heights),
        context_(proj.context_create()) {
    proj_.log_level(context_, kNoLog);
  }
  ProjCrsToMap(const ProjCrsToMap&) = delete;
  ProjCrsToMap& operator=(const ProjCrsToMap&) = delete;
  ~ProjCrsToMap() override {
    for (Object* object : objects_) proj_.destroy(object);
    proj_.context_destroy(context_);
  }

  // Once, before all else.
  absl::Status Init(CrsHeights wanted) {
    std::string known(definition_);
    const bool ellipsoidal = absl::EndsWith(known, kEllipsoidalHeights);
    if (ellipsoidal) known.resize(known.size() - kEllipsoidalHeights.size());
    Object* crs = Own(proj_.create(context_, known.c_str()));
    if (crs == nullptr) return Unusable("");
    name_ = proj_.get_name(crs);
    if (ellipsoidal) {
      if (proj_.get_type(crs) == kCompoundCrs) {
        return Unusable(absl::StrCat(", ", name_, ", which has other heights"));
      }
      crs = Own(proj_.crs_promote_to_3d(context_, nullptr, crs));
      if (crs == nullptr) return Unusable(absl::StrCat(", ", name_, ", which has no ellipsoid"));
    }
    // A compound system has one of the ground, and one of heights.
    Object* const of_ground = Own(proj_.crs_get_sub_crs(context_, crs, 0));
    Object* const ground = of_ground != nullptr ? of_ground : crs;
    Object* const heights =
        of_ground != nullptr ? Own(proj_.crs_get_sub_crs(context_, crs, 1)) : nullptr;
    Object* const plane =
        proj_.get_type(ground) == kBoundCrs ? Own(proj_.get_source_crs(context_, ground)) : ground;
    const int type = plane == nullptr ? 0 : proj_.get_type(plane);
    const bool degrees = type == kGeographic2d || type == kGeographic3d;
    if (!degrees && type != kProjectedCrs) {
      return Unusable(absl::StrCat(", ", name_, ", which is neither"));
    }
    if (degrees) xy_scale_ = kDegreeScale;
    const double third = heights != nullptr ? MetresOf(heights, 0) : MetresOf(plane, 2);
    if (third != 0.0) {
      metres_per_height_ = third;
    } else if (!degrees && MetresOf(plane, 0) != 1.0) {
      return Unusable(absl::StrCat(", ", name_,
                                   ", which is not in metres and does not say the unit of heights: "
                                   "add a system of heights, as in EPSG:2263+6360"));
    }
    const std::string of = third == 0.0         ? ""
                           : heights == nullptr ? "above the ellipsoid"
                                                : absl::StrCat("of ", proj_.get_name(heights));
    keeps_stated_heights_ = third != 0.0 && wanted == CrsHeights::kKeep;
    transforms_heights_ = third != 0.0 && wanted == CrsHeights::kTransform;
    if (transforms_heights_) {
      // Else PROJ would take heights as they are where it has no grid.
      const char* const no_guess[] = {"ALLOW_BALLPARK=NO", nullptr};
      to_earth_ = FindWay(crs, map_heights_.definition, no_guess);
      heights_ = absl::StrCat("heights ", of, " become heights above ", map_heights_.name);
      if (to_earth_ == nullptr) return NoGrid(of);
      return absl::OkStatus();
    }
    heights_ = absl::StrCat("heights ", of, of.empty() ? "" : " ", "are taken as they are");
    // PROJ takes the horizontal part alone, so that heights are left as they are whatever grids are
    // installed.
    to_earth_ = FindWay(ground, "EPSG:4326", nullptr);
    if (to_earth_ == nullptr) return Unusable(absl::StrCat(", ", name_, ", no way to WGS84"));
    return absl::OkStatus();
  }

  std::string name() const override { return name_; }
  std::string heights() const override { return heights_; }
  bool keeps_stated_heights() const override { return keeps_stated_heights_; }
  double xy_scale() const override { return xy_scale_; }

  absl::StatusOr<PointCloud> Convert(const PointCloud& cloud) const override {
    std::vector<double> east(cloud.size());
    std::vector<double> north(cloud.size());
    std::vector<double> up(transforms_heights_ ? cloud.size() : 0);
    for (size_t i = 0; i < cloud.size(); ++i) {
      const Eigen::Vector3d point = cloud.Point(i);
      east[i] = point.x() / xy_scale_;
      north[i] = point.y() / xy_scale_;
      if (transforms_heights_) up[i] = point.z();
    }
    double no_time = HUGE_VAL;
    proj_.trans_generic(to_earth_, kForward, east.data(), sizeof(double), east.size(), north.data(),
                        sizeof(double), north.size(), up.data(), sizeof(double), up.size(),
                        &no_time, 0, 1);
    CloudBuilder builder(cloud.size(), cloud.has_intensity());
    for (size_t i = 0; i < cloud.size(); ++i) {
      Eigen::Vector3d point_map;
      point_map.setConstant(std::numeric_limits<double>::quiet_NaN());
      if (cloud.IsFinite(i)) {
        const double height_m =
            transforms_heights_ ? up[i] : cloud.Point(i).z() * metres_per_height_;
        if (!std::isfinite(east[i]) || !std::isfinite(north[i]) || !std::isfinite(height_m)) {
          return OutOfArea(cloud.Point(i));
        }
        VOXLOC_ASSIGN_OR_RETURN(point_map, projection_->PointToMap({north[i], east[i], height_m}));
      }
      builder.Add(point_map);
      if (cloud.has_intensity()) builder.AddIntensity(static_cast<double>(cloud.intensity[i]));
    }
    return std::move(builder).Take();
  }

 private:
  Object* Own(Object* object) {
    if (object != nullptr) objects_.push_back(object);
    return object;
  }

  // From `source` to the target, easting before northing, and longitude before latitude; null:
  // there is no way.
  Object* FindWay(const Object* source, const char* target, const char* const* options) {
    Object* const earth = Own(proj_.create(context_, target));
    if (earth == nullptr) return nullptr;
    Object* const raw =
        Own(proj_.create_crs_to_crs_from_pj(context_, source, earth, nullptr, options));
    return raw == nullptr ? nullptr : Own(proj_.normalize_for_visualization(context_, raw));
  }

  absl::Status Unusable(const std::string& what) const {
    return absl::InvalidArgumentError(absl::StrCat(
        "the coordinate reference system must be a projected one that PROJ knows, such "
        "as EPSG:25832, or one of latitude and longitude (got ",
        Quoted(definition_), what, ")"));
  }

  absl::Status NoGrid(const std::string& heights) const {
    return absl::FailedPreconditionError(absl::StrCat(
        "heights ", heights, " of ", name_, " must be transformed to those of the map, above ",
        map_heights_.name, ", for which PROJ has no grid here; install the one that `projinfo -s ",
        absl::StartsWith(definition_, "EPSG:") ? definition_ : "CRS", " -t ",
        map_heights_.definition,
        " --spatial-test intersects` names, or take the heights as they are: --keep-heights"));
  }

  absl::Status OutOfArea(const Eigen::Vector3d& point) const {
    return absl::InvalidArgumentError(
        absl::StrCat("points must be in the area of ", name_,
                     transforms_heights_ ? " and of the grid for its heights" : "", " (got x ",
                     point.x() / xy_scale_, ", y ", point.y() / xy_scale_, ")"));
  }

  // Metres in the unit of an axis, negative where it points down; 0: there is no such axis.
  double MetresOf(const Object* crs, int axis) {
    Object* const system = Own(proj_.crs_get_coordinate_system(context_, crs));
    const char* direction = "";
    double factor = 0.0;
    if (system == nullptr || axis >= proj_.cs_get_axis_count(context_, system) ||
        proj_.cs_get_axis_info(context_, system, axis, nullptr, nullptr, &direction, &factor,
                               nullptr, nullptr, nullptr) == 0) {
      return 0.0;
    }
    return absl::string_view(direction) == "down" ? -factor : factor;
  }

  const Proj proj_;
  const std::string definition_;
  const std::unique_ptr<const MapProjection> projection_;
  const MapHeights map_heights_;
  Context* const context_;
  std::vector<Object*> objects_;
  std::string name_;
  std::string heights_;
  Object* to_earth_ = nullptr;
  bool transforms_heights_ = false;
  bool keeps_stated_heights_ = false;
  double xy_scale_ = 1.0;
  double metres_per_height_ = 1.0;  // of heights that are not transformed
};

}  // namespace

absl::StatusOr<std::unique_ptr<const CrsToMap>> CrsToMap::Create(const std::string& definition,
                                                                 const v1::MapFrame& frame,
                                                                 CrsHeights heights) {
  VOXLOC_ASSIGN_OR_RETURN(const MapFrame map_frame, FrameOfMessage(frame));
  VOXLOC_ASSIGN_OR_RETURN(auto projection, MakeMapProjection(map_frame));
  static const auto& proj = *new absl::StatusOr<Proj>(LoadProj());
  VOXLOC_TRY(proj.status());
  auto crs = std::make_unique<ProjCrsToMap>(*proj, definition, std::move(projection),
                                            HeightsOf(map_frame));
  VOXLOC_TRY(crs->Init(heights));
  return crs;
}

}  // namespace voxloc
