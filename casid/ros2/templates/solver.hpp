// Written by casid @version@: the dynamics of '@robot@' as a plugin of the inverse_dynamics_solver interface.
#pragma once

#include <eigen3/Eigen/Core>
#include <inverse_dynamics_solver/inverse_dynamics_solver.hpp>
#include <string>

namespace @package@
{

/// Dynamics of '@robot@' with its parameters folded into the code; joints in this order: @joint_list@.
///
/// Every method checks the length of its vectors and throws std::invalid_argument where it is not @n@.
/// Joint terms in the friction: @terms@.
class Solver : public inverse_dynamics_solver::InverseDynamicsSolver
{
public:
  /// Nothing to read: the parameters are numbers in the code. A robot description that lacks one of the joints is
  /// refused with std::invalid_argument; an empty one is accepted.
  void initialize(
    rclcpp::node_interfaces::NodeParametersInterface::ConstSharedPtr parameters_interface = nullptr,
    const std::string & param_namespace = "", const std::string & robot_description = "") override;

  /// Joint-space mass matrix M(q), @n@ x @n@.
  Eigen::MatrixXd getInertiaMatrix(const Eigen::VectorXd & joint_positions) const override;

  /// Coriolis and centrifugal torques C(q, dq) dq.
  Eigen::VectorXd getCoriolisVector(
    const Eigen::VectorXd & joint_positions, const Eigen::VectorXd & joint_velocities) const override;

  /// Gravity torques g(q).
  Eigen::VectorXd getGravityVector(const Eigen::VectorXd & joint_positions) const override;

  /// Torques of the joint terms that depend on velocity alone.
  Eigen::VectorXd getFrictionVector(const Eigen::VectorXd & joint_velocities) const override;

  /// M(q) ddq + C(q, dq) dq + g(q) + friction, in one pass of Newton-Euler.
  Eigen::VectorXd getTorques(
    const Eigen::VectorXd & joint_positions, const Eigen::VectorXd & joint_velocities,
    const Eigen::VectorXd & joint_accelerations) const override;
};

}  // namespace @package@
