// SPDX-License-Identifier: Apache-2.0
//
// Eigen decompositions of the 6x6 information matrices of a batch: cuSOLVER on the GPU, Eigen on
// the threads of a CPU engine.

#include <Eigen/Eigenvalues>
#include <memory>

#include "absl/strings/str_cat.h"
#include "core/parallel/thread_pool.h"
#include "tests/bench/gpu_row.h"
#include "tests/support/random_numbers.h"

#ifdef VOXLOC_HAVE_CUDA
#include "cuda/linear_algebra/symmetric_eigen6.h"
#include "cuda/runtime/device.h"
#endif

namespace voxloc::bench {
namespace {

std::shared_ptr<const std::vector<Matrix6>> SomeInformation(size_t count) {
  RandomNumbers random(7);
  auto matrices = std::make_shared<std::vector<Matrix6>>(count);
  for (Matrix6& matrix : *matrices) {
    Matrix6 root;
    for (double& value : root.reshaped()) value = random.Normal();
    matrix = root * root.transpose();
  }
  return matrices;
}

absl::StatusOr<Call> OnCpu(Engine& engine, std::shared_ptr<const std::vector<Matrix6>> matrices) {
  auto pool = std::make_shared<ThreadPool>(engine.Info().threads);
  auto values = std::make_shared<std::vector<Eigen::Matrix<double, 6, 1>>>(matrices->size());
  return Call([=](size_t) -> absl::StatusOr<CallResult> {
    CallResult call;
    call.items = static_cast<double>(matrices->size());
    call.ms = TimeMs([&] {
      pool->ParallelFor(matrices->size(), [&](size_t i) {
        const Eigen::SelfAdjointEigenSolver<Matrix6> eigen((*matrices)[i]);
        (*values)[i] = eigen.eigenvalues() + eigen.eigenvectors().col(0);
      });
    });
    return call;
  });
}

absl::StatusOr<Call> OnGpu(std::shared_ptr<const std::vector<Matrix6>> matrices) {
#ifdef VOXLOC_HAVE_CUDA
  auto device = cuda::Device::Open({});
  if (!device.ok()) return device.status();
  auto created = cuda::SymmetricEigenSolver6::Create(*std::move(device));
  if (!created.ok()) return created.status();
  const std::shared_ptr<cuda::SymmetricEigenSolver6> solver = *std::move(created);
  return Call([=](size_t) -> absl::StatusOr<CallResult> {
    CallResult call;
    call.items = static_cast<double>(matrices->size());
    absl::Status status;
    call.ms = TimeMs([&] { status = solver->Decompose(*matrices).status(); });
    if (!status.ok()) return status;
    return call;
  });
#else
  return absl::FailedPreconditionError(
      absl::StrCat("this build has no CUDA to decompose ", matrices->size(), " matrices with"));
#endif
}

}  // namespace

std::vector<Row> EigenRows() {
  std::vector<Row> rows;
  for (const size_t count : {64, 1024, 4096}) {
    Row row;
    row.name = absl::StrCat("decompose ", count, " information matrices");
    row.item = "matrices";
    row.prepare = [count](Engine& engine) -> absl::StatusOr<Call> {
      auto matrices = SomeInformation(count);
      return engine.Info().name == "cuda" ? OnGpu(matrices) : OnCpu(engine, matrices);
    };
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace voxloc::bench
