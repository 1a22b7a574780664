// SPDX-License-Identifier: Apache-2.0
//
// .bin files without a header: nothing but records of float32, of which the first are x y z and, in
// KITTI's and most others', intensity.

#ifndef VOXLOC_CORE_CLOUD_IO_KITTI_READER_H_
#define VOXLOC_CORE_CLOUD_IO_KITTI_READER_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/cloud/io/cloud_file.h"
#include "core/cloud/io/file_bytes.h"
#include "core/cloud/io/point_data.h"
#include "core/cloud/point_cloud.h"

namespace voxloc {

// `name` stands for the file in messages. `record_floats`: as CloudReadOptions has it.
[[nodiscard]] absl::StatusOr<PointCloud> ParseKittiBin(absl::string_view bytes,
                                                       absl::string_view name, size_t max_points,
                                                       size_t record_floats);

[[nodiscard]] RecordLayout BinRecords(size_t floats);

// How many float32 a point has in a .bin file, which has no header: KITTI writes 4 (x y z
// intensity), nuScenes 5, others 6. `told`: the answer, where it is known; 0: it is not. `name`: of
// the file, of which .pcd.bin (as nuScenes writes) means 5, and .bin 4 where the values do not
// speak against it. InvalidArgument: the size fits no record, or what fits is not certain; the
// message names the flag --record-floats. Or Read's error.
[[nodiscard]] absl::StatusOr<RecordFloats> RecordFloatsOfFile(const FileParts& file,
                                                              absl::string_view name, size_t told);

}  // namespace voxloc

#endif  // VOXLOC_CORE_CLOUD_IO_KITTI_READER_H_
