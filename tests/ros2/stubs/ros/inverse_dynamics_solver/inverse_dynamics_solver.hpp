#pragma once
#include <eigen3/Eigen/Core>
#include <rclcpp/node_interfaces/node_parameters_interface.hpp>
#include <string>
#include <tuple>
namespace inverse_dynamics_solver
{
class InverseDynamicsSolver
{
public:
  virtual ~InverseDynamicsSolver() {}
  virtual void initialize(
    rclcpp::node_interfaces::NodeParametersInterface::ConstSharedPtr parameters_interface = nullptr,
    const std::string & param_namespace = "", const std::string & robot_description = "") = 0;
  virtual std::tuple<Eigen::MatrixXd, Eigen::VectorXd, Eigen::VectorXd> getDynamicParameters(
    const Eigen::VectorXd & q, const Eigen::VectorXd & dq) const
  {
    return std::make_tuple(getInertiaMatrix(q), getCoriolisVector(q, dq), getGravityVector(q));
  }
  virtual Eigen::MatrixXd getInertiaMatrix(const Eigen::VectorXd & q) const = 0;
  virtual Eigen::VectorXd getCoriolisVector(const Eigen::VectorXd & q, const Eigen::VectorXd & dq) const = 0;
  virtual Eigen::VectorXd getGravityVector(const Eigen::VectorXd & q) const = 0;
  virtual Eigen::VectorXd getFrictionVector(const Eigen::VectorXd & dq) const = 0;
  virtual Eigen::VectorXd getTorques(
    const Eigen::VectorXd & q, const Eigen::VectorXd & dq, const Eigen::VectorXd & ddq) const
  {
    return getInertiaMatrix(q) * ddq + getCoriolisVector(q, dq) + getGravityVector(q);
  }

protected:
  InverseDynamicsSolver() {}
};
}  // namespace inverse_dynamics_solver
