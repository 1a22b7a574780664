// SPDX-License-Identifier: Apache-2.0
//
// The Newton step as the kernels solve it, against Eigen and against cuSOLVER.

#include <gtest/gtest.h>

#include <Eigen/QR>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <iostream>
#include <vector>

#include "tests/cuda/linear_algebra/algebra_fixture.h"
#include "tests/cuda/linear_algebra/in_kernel_algebra.h"

namespace voxloc::cuda {
namespace {

struct Systems {
  std::vector<Matrix6> hessians;
  std::vector<Vector6> gradients;
};

void AddSystem(const Matrix6& hessian, RandomNumbers& random, Systems& systems) {
  systems.hessians.push_back(hessian);
  Vector6 gradient;
  for (double& value : gradient) value = random.Normal();
  systems.gradients.push_back(gradient);
}

// Condition numbers up to 1e5; every other one indefinite.
Systems RegularSystems(int count) {
  RandomNumbers random(51);
  Systems systems;
  for (int trial = 0; trial < count; ++trial) {
    Vector6 values;
    for (double& value : values) {
      value = -std::pow(10.0, random.Uniform(-2.0, 3.0));
      if (trial % 2 == 1 && random.Uniform(0.0, 1.0) < 0.4) value = -value;
    }
    AddSystem(WithEigenvalues<6>(values, random), random, systems);
  }
  return systems;
}

// Tiny entries on the diagonal, beside large ones off it.
Systems SmallDiagonalSystems() {
  RandomNumbers random(52);
  Systems systems;
  for (const double tiny : {0.0, 1e-16, 1e-12, 1e-9, 1e-7, 1e-4}) {
    for (int at = 0; at < 6; ++at) {
      Vector6 values;
      for (double& value : values) value = random.Uniform(0.5, 2.0) * (random.Index(2) * 2 - 1);
      Matrix6 hessian = WithEigenvalues<6>(values, random);
      hessian(at, at) = tiny;
      AddSystem(hessian, random, systems);
    }
  }
  return systems;
}

// Of their rank to the last bit: zero rows and columns, or sums of integer outer products.
Systems SingularSystems(int each) {
  RandomNumbers random(53);
  Systems systems;
  for (int rank = 0; rank < 6; ++rank) {
    for (int trial = 0; trial < each; ++trial) {
      Matrix6 hessian = Matrix6::Zero();
      if (trial % 2 == 0) {
        Vector6 values;
        for (double& value : values) value = random.Uniform(0.5, 20.0) * (random.Index(2) * 2 - 1);
        const Matrix6 full = WithEigenvalues<6>(values, random);
        hessian.topLeftCorner(rank, rank) = full.topLeftCorner(rank, rank);
      } else {
        for (int k = 0; k < rank; ++k) {
          Vector6 v;
          for (double& value : v) value = random.Index(9) - 4;
          hessian -= v * v.transpose();
        }
      }
      AddSystem(hessian, random, systems);
    }
  }
  return systems;
}

std::vector<NewtonProblem> Problems(const Systems& systems) {
  std::vector<NewtonProblem> problems(systems.hessians.size());
  for (size_t p = 0; p < problems.size(); ++p) {
    for (int i = 0; i < 6; ++i) {
      problems[p].gradient[i] = systems.gradients[p][i];
      for (int j = 0; j < 6; ++j) problems[p].hessian.m[i][j] = systems.hessians[p](i, j);
    }
  }
  return problems;
}

void ExpectSteps(const absl::StatusOr<std::vector<NewtonStep>>& steps,
                 const std::vector<Vector6>& expected, const char* what) {
  ASSERT_TRUE(steps.ok()) << steps.status();
  ASSERT_EQ(steps->size(), expected.size());
  double largest = 0.0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const Vector6 step = Eigen::Map<const Vector6>((*steps)[i].step);
    const double error = (step - expected[i]).norm() / std::max(1e-6, expected[i].norm());
    ASSERT_LE(error, 1e-8) << "system " << i << ": " << step.transpose() << " instead of "
                           << expected[i].transpose();
    largest = std::max(largest, error);
  }
  std::cout << what << ": " << expected.size() << " systems, largest relative deviation " << largest
            << std::endl;
}

std::vector<Vector6> ByEigen(const Systems& systems, bool singular) {
  std::vector<Vector6> steps;
  for (size_t i = 0; i < systems.hessians.size(); ++i) {
    const Vector6 right = -systems.gradients[i];
    if (singular) {
      steps.emplace_back(systems.hessians[i].completeOrthogonalDecomposition().solve(right));
    } else {
      steps.emplace_back(
          Eigen::JacobiSVD<Matrix6>(systems.hessians[i], Eigen::ComputeFullU | Eigen::ComputeFullV)
              .solve(right));
    }
  }
  return steps;
}

// The pseudo-inverse from cuSOLVER's eigenvalues. The directions left out are those of eigenvalues
// that are rounding, by a wide margin: no system above has an eigenvalue near it.
std::vector<Vector6> ByCusolver(SymmetricEigenSolver6& solver, const Systems& systems) {
  const auto decomposed = solver.Decompose(systems.hessians);
  EXPECT_TRUE(decomposed.ok()) << decomposed.status();
  std::vector<Vector6> steps;
  for (size_t i = 0; decomposed.ok() && i < systems.hessians.size(); ++i) {
    const Eigen6& eigen = (*decomposed)[i];
    const double threshold = 1e-13 * eigen.values.cwiseAbs().maxCoeff();
    Vector6 step = Vector6::Zero();
    for (int k = 0; k < 6; ++k) {
      if (!(std::abs(eigen.values[k]) > threshold)) continue;
      const Vector6 axis = eigen.vectors.col(k);
      step -= axis * (axis.dot(systems.gradients[i]) / eigen.values[k]);
    }
    steps.push_back(step);
  }
  return steps;
}

using InKernelSolve6Test = OnDevice;
using InKernelSolve6CusolverTest = WithCusolver;

TEST_F(InKernelSolve6Test, RegularSystemsAreSolvedAsEigenDoes) {
  const Systems systems = RegularSystems(5000);
  const std::vector<Vector6> expected = ByEigen(systems, false);
  ExpectSteps(SolveNewtonStepsInKernel(device_, Problems(systems)), expected, "as chosen");
  ExpectSteps(SolveByEigenvaluesInKernel(device_, Problems(systems)), expected, "by rotations");
}

TEST_F(InKernelSolve6Test, SmallDiagonalsAreSolvedAsEigenDoes) {
  const Systems systems = SmallDiagonalSystems();
  ExpectSteps(SolveNewtonStepsInKernel(device_, Problems(systems)), ByEigen(systems, false),
              "small diagonals");
}

TEST_F(InKernelSolve6Test, SingularSystemsHaveTheLeastNormSolutionThatEigenFinds) {
  const Systems systems = SingularSystems(300);
  ExpectSteps(SolveNewtonStepsInKernel(device_, Problems(systems)), ByEigen(systems, true),
              "singular");
}

TEST_F(InKernelSolve6Test, TheDeviceSolvesWhatTheHostSolves) {
  const Systems systems = RegularSystems(2000);
  const std::vector<NewtonProblem> problems = Problems(systems);
  std::vector<Vector6> expected;
  for (const NewtonProblem& problem : problems) {
    double entries[6];
    ndt::SolveNewtonStep(problem.hessian, problem.gradient, entries);
    expected.emplace_back(Eigen::Map<const Vector6>(entries));
  }
  ExpectSteps(SolveNewtonStepsInKernel(device_, problems), expected, "host");
}

TEST_F(InKernelSolve6Test, AnInputThatIsNotFiniteEnds) {
  std::vector<NewtonProblem> problems(2);
  problems[0].hessian.m[2][2] = std::nan("");
  problems[1].hessian.m[1][0] = problems[1].hessian.m[0][1] = HUGE_VAL;
  EXPECT_TRUE(SolveNewtonStepsInKernel(device_, problems).ok());
  EXPECT_TRUE(device_->healthy());
}

TEST_F(InKernelSolve6CusolverTest, AllSystemsAreSolvedAsCusolverDoes) {
  for (const Systems& systems :
       {RegularSystems(5000), SmallDiagonalSystems(), SingularSystems(300)}) {
    ExpectSteps(SolveNewtonStepsInKernel(device_, Problems(systems)), ByCusolver(*solver_, systems),
                "cuSOLVER");
  }
}

}  // namespace
}  // namespace voxloc::cuda
