// Written by casid @version@: the plugin's values beside numbers evaluated in Python, and what it refuses.
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "@package@/solver.hpp"

namespace
{

constexpr int kJoints = @n@;
constexpr int kCases = @cases@;
const double kPositions[kCases][kJoints] = {
@positions@};
const double kVelocities[kCases][kJoints] = {
@velocities@};
const double kAccelerations[kCases][kJoints] = {
@accelerations@};
const double kInertia[kCases][kJoints * kJoints] = {
@inertia@};
const double kCoriolis[kCases][kJoints] = {
@coriolis@};
const double kGravity[kCases][kJoints] = {
@gravity@};
const double kFriction[kCases][kJoints] = {
@friction@};
const double kTorques[kCases][kJoints] = {
@torques@};

Eigen::VectorXd vector(const double * values)
{
  Eigen::VectorXd result(kJoints);
  for (int k = 0; k < kJoints; ++k) {
    result(k) = values[k];
  }
  return result;
}

double deviation(const double * value, const double * expected, int size)
{
  double largest = 1e-9, worst = 0.0;
  for (int k = 0; k < size; ++k) {
    largest = std::fmax(largest, std::fabs(expected[k]));
    const double error = std::fabs(value[k] - expected[k]);
    worst = error <= worst ? worst : error;  // an error that is no number stays
  }
  return worst / largest;
}

int report(const char * name, double worst)
{
  std::printf("%-20s largest relative deviation %.1e  %s\n", name, worst, worst <= 1e-12 ? "ok" : "FAILED");
  return worst <= 1e-12 ? 0 : 1;
}

int refuses(const @package@::Solver & solver)
{
  try {
    (void)solver.getGravityVector(Eigen::VectorXd(kJoints + 1));
  } catch (const std::invalid_argument & error) {
    std::printf("refused: %s\n", error.what());
    return 0;
  }
  return 1;
}

}  // namespace

int main()
{
  @package@::Solver solver;
  solver.initialize();
  double inertia = 0, coriolis = 0, gravity = 0, friction = 0, torques = 0, whole = 0;
  for (int i = 0; i < kCases; ++i) {
    const Eigen::VectorXd q = vector(kPositions[i]), dq = vector(kVelocities[i]), ddq = vector(kAccelerations[i]);
    inertia = std::fmax(inertia, deviation(solver.getInertiaMatrix(q).data(), kInertia[i], kJoints * kJoints));
    coriolis = std::fmax(coriolis, deviation(solver.getCoriolisVector(q, dq).data(), kCoriolis[i], kJoints));
    gravity = std::fmax(gravity, deviation(solver.getGravityVector(q).data(), kGravity[i], kJoints));
    friction = std::fmax(friction, deviation(solver.getFrictionVector(dq).data(), kFriction[i], kJoints));
    torques = std::fmax(torques, deviation(solver.getTorques(q, dq, ddq).data(), kTorques[i], kJoints));
    const auto parts = solver.getDynamicParameters(q, dq);
    whole = std::fmax(whole, deviation(std::get<2>(parts).data(), kGravity[i], kJoints));
  }
  return report("getInertiaMatrix", inertia) | report("getCoriolisVector", coriolis) |
         report("getGravityVector", gravity) | report("getFrictionVector", friction) |
         report("getTorques", torques) | report("getDynamicParameters", whole) | refuses(solver);
}
