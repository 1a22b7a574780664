// SPDX-License-Identifier: Apache-2.0

#include "core/ndt/line_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace voxloc::ndt {
namespace {

struct Function {
  std::string name;
  std::function<double(double)> value;
  std::function<double(double)> slope;
};

// All fall at zero. The first four are of More and Thuente's own kind: shallow, kinked or flat
// around the minimiser.
std::vector<Function> Functions() {
  return {
      {"rational", [](double a) { return -a / (a * a + 2.0); },
       [](double a) { return (a * a - 2.0) / std::pow(a * a + 2.0, 2); }},
      {"steep polynomial",
       [](double a) { return std::pow(a + 0.004, 5) - 2.0 * std::pow(a + 0.004, 4); },
       [](double a) { return 5.0 * std::pow(a + 0.004, 4) - 8.0 * std::pow(a + 0.004, 3); }},
      {"near kink", [](double a) { return std::sqrt(1e-4 + (a - 0.6) * (a - 0.6)); },
       [](double a) { return (a - 0.6) / std::sqrt(1e-4 + (a - 0.6) * (a - 0.6)); }},
      {"rippled", [](double a) { return (a - 1.0) * (a - 1.0) + 0.02 * std::sin(20.0 * a); },
       [](double a) { return 2.0 * (a - 1.0) + 0.4 * std::cos(20.0 * a); }},
      {"parabola", [](double a) { return 3.0 * (a - 0.4) * (a - 0.4); },
       [](double a) { return 6.0 * (a - 0.4); }},
      {"gaussian", [](double a) { return -std::exp(-2.0 * (a - 0.8) * (a - 0.8)); },
       [](double a) { return 4.0 * (a - 0.8) * std::exp(-2.0 * (a - 0.8) * (a - 0.8)); }},
  };
}

struct Outcome {
  double step = 0.0;
  int evaluations = 0;
};

Outcome SearchAlong(const Function& f, double first, double min_step, double max_step) {
  LineSearch search(f.value(0.0), f.slope(0.0), first, min_step, max_step);
  Outcome outcome;
  for (;;) {
    outcome.step = search.Trial();
    EXPECT_GE(outcome.step, min_step) << f.name;
    EXPECT_LE(outcome.step, max_step) << f.name;
    ++outcome.evaluations;
    if (search.Update(f.value(outcome.step), f.slope(outcome.step))) return outcome;
    if (outcome.evaluations > 20) {
      ADD_FAILURE() << f.name << " does not end";
      return outcome;
    }
  }
}

bool Decreases(const Function& f, double a) {
  return f.value(a) <= f.value(0.0) + 1e-4 * a * f.slope(0.0);
}
bool Flattens(const Function& f, double a) {
  return std::abs(f.slope(a)) <= 0.9 * std::abs(f.slope(0.0));
}

TEST(LineSearchTest, EndsWithSufficientDecreaseAndCurvature) {
  int given_up = 0;
  for (const Function& f : Functions()) {
    for (const double first : {1e-3, 0.1, 0.5, 1.0, 3.0, 10.0}) {
      SCOPED_TRACE(f.name + " from " + std::to_string(first));
      const Outcome outcome = SearchAlong(f, first, 1e-10, 10.0);
      EXPECT_TRUE(Decreases(f, outcome.step)) << outcome.step;
      EXPECT_LE(outcome.evaluations, 11);
      if (outcome.evaluations == 11 && !Flattens(f, outcome.step)) {
        ++given_up;
      } else {
        EXPECT_TRUE(Flattens(f, outcome.step)) << outcome.step;
      }
    }
  }
  // The steep polynomial from far below its minimiser takes twelve.
  EXPECT_LE(given_up, 1);
}

TEST(LineSearchTest, AGoodFirstTrialIsTaken) {
  const Function f = Functions()[4];
  const Outcome outcome = SearchAlong(f, 0.4, 1e-6, 10.0);
  EXPECT_EQ(outcome.step, 0.4);
  EXPECT_EQ(outcome.evaluations, 1);
}

TEST(LineSearchTest, AFunctionThatKeepsFallingEndsAtTheLongestStep) {
  const Function f = {"line", [](double a) { return -a; }, [](double) { return -1.0; }};
  const Outcome outcome = SearchAlong(f, 0.1, 1e-4, 2.0);
  EXPECT_EQ(outcome.step, 2.0);
  EXPECT_TRUE(Decreases(f, outcome.step));
}

TEST(LineSearchTest, AMinimiserBelowTheShortestStepEndsThere) {
  const Function f = {"parabola", [](double a) { return (a - 1e-6) * (a - 1e-6); },
                      [](double a) { return 2.0 * (a - 1e-6); }};
  EXPECT_DOUBLE_EQ(SearchAlong(f, 1.0, 0.01, 2.0).step, 0.01);
}

TEST(LineSearchTest, AnEmptyRangeIsOneTrial) {
  const Function f = Functions()[4];
  const Outcome outcome = SearchAlong(f, 5.0, 0.1, 0.1);
  EXPECT_EQ(outcome.step, 0.1);
  EXPECT_EQ(outcome.evaluations, 1);
}

TEST(LineSearchTest, ValuesThatAreNotFiniteEndIt) {
  const Function f = {"broken", [](double a) { return a > 0.0 ? std::nan("") : 0.0; },
                      [](double a) { return a > 0.0 ? std::nan("") : -1.0; }};
  EXPECT_LE(SearchAlong(f, 0.5, 1e-4, 2.0).evaluations, 11);
}

}  // namespace
}  // namespace voxloc::ndt
