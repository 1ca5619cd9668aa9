// Written by casid @version@.
#include "@package@/solver.hpp"

#include <pluginlib/class_list_macros.hpp>
#include <stdexcept>
#include <string>

#include "dynamics.hpp"

namespace @package@
{
namespace
{

constexpr Eigen::Index kJoints = @n@;
const char * const kNames[] = {@joint_strings@};

void check(const Eigen::VectorXd & vector, const char * what)
{
  if (vector.size() != kJoints) {
    throw std::invalid_argument(
      std::string(what) + ": expected @n@ values, got " + std::to_string(vector.size()));
  }
}

}  // namespace

void Solver::initialize(
  rclcpp::node_interfaces::NodeParametersInterface::ConstSharedPtr, const std::string &,
  const std::string & robot_description)
{
  if (robot_description.empty()) {
    return;
  }
  for (const char * name : kNames) {
    if (robot_description.find('"' + std::string(name) + '"') == std::string::npos) {
      throw std::invalid_argument("the robot description has no joint '" + std::string(name) + "' of '@robot@'");
    }
  }
}

Eigen::MatrixXd Solver::getInertiaMatrix(const Eigen::VectorXd & joint_positions) const
{
  check(joint_positions, "joint_positions");
  Eigen::MatrixXd inertia(kJoints, kJoints);
  mass_matrix(joint_positions.data(), inertia.data());  // symmetric: rows or columns first is one
  return inertia;
}

Eigen::VectorXd Solver::getCoriolisVector(
  const Eigen::VectorXd & joint_positions, const Eigen::VectorXd & joint_velocities) const
{
  check(joint_positions, "joint_positions");
  check(joint_velocities, "joint_velocities");
  Eigen::VectorXd torques(kJoints);
  coriolis(joint_positions.data(), joint_velocities.data(), torques.data());
  return torques;
}

Eigen::VectorXd Solver::getGravityVector(const Eigen::VectorXd & joint_positions) const
{
  check(joint_positions, "joint_positions");
  Eigen::VectorXd torques(kJoints);
  gravity(joint_positions.data(), torques.data());
  return torques;
}

Eigen::VectorXd Solver::getFrictionVector(const Eigen::VectorXd & joint_velocities) const
{
  check(joint_velocities, "joint_velocities");
  Eigen::VectorXd torques(kJoints);
  @core@_friction(joint_velocities.data(), torques.data());
  return torques;
}

Eigen::VectorXd Solver::getTorques(
  const Eigen::VectorXd & joint_positions, const Eigen::VectorXd & joint_velocities,
  const Eigen::VectorXd & joint_accelerations) const
{
  check(joint_positions, "joint_positions");
  check(joint_velocities, "joint_velocities");
  check(joint_accelerations, "joint_accelerations");
  Eigen::VectorXd torques(kJoints);
  inverse_dynamics(
    joint_positions.data(), joint_velocities.data(), joint_accelerations.data(), torques.data());
  return torques;
}

}  // namespace @package@

PLUGINLIB_EXPORT_CLASS(@package@::Solver, inverse_dynamics_solver::InverseDynamicsSolver)
