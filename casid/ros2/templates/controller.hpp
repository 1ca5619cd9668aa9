// Written by casid @version@: an example of a ros2_control controller on the exported dynamics.
#pragma once

#include <array>
#include <controller_interface/controller_interface.hpp>
#include <memory>
#include <realtime_tools/realtime_buffer.h>
#include <string>
#include <trajectory_msgs/msg/joint_trajectory_point.hpp>
#include <vector>

namespace @package@
{

/// Computed torque: tau = ID(q, dq, ddq_r + kd (dq_r - dq) + kp (q_r - q)), limited to the joints' efforts.
///
/// Reads position and velocity, commands effort. References come as trajectory_msgs/JointTrajectoryPoint on the
/// topic ~/reference; until the first one the controller holds the pose at which it was activated.
/// update() neither allocates nor waits.
class ComputedTorqueController : public controller_interface::ControllerInterface
{
public:
  static constexpr std::size_t kJoints = @n@;

  controller_interface::CallbackReturn on_init() override;
  controller_interface::InterfaceConfiguration command_interface_configuration() const override;
  controller_interface::InterfaceConfiguration state_interface_configuration() const override;
  controller_interface::CallbackReturn on_configure(const rclcpp_lifecycle::State & previous_state) override;
  controller_interface::CallbackReturn on_activate(const rclcpp_lifecycle::State & previous_state) override;
  controller_interface::return_type update(const rclcpp::Time & time, const rclcpp::Duration & period) override;

private:
  using Point = trajectory_msgs::msg::JointTrajectoryPoint;
  using Values = std::array<double, kJoints>;

  void read(Values & position, Values & velocity) const;

  double stiffness_ = 0.0;
  double damping_ = 0.0;
  Values held_{};
  realtime_tools::RealtimeBuffer<std::shared_ptr<Point>> reference_;
  rclcpp::Subscription<Point>::SharedPtr subscription_;
};

}  // namespace @package@
