// Written by casid @version@.
#include "@package@/computed_torque_controller.hpp"

#include <algorithm>
#include <pluginlib/class_list_macros.hpp>

#include "dynamics.hpp"

namespace @package@
{
namespace
{

const char * const kNames[] = {@joint_strings@};
constexpr double kEffort[] = {@efforts@};  // 0: no limit is known

// ros2_control returns a number, newer versions an optional one.
template <class Interface>
auto value_of(const Interface & interface, int) -> decltype(static_cast<double>(interface.get_optional().value()))
{
  return interface.get_optional().value();
}
template <class Interface>
double value_of(const Interface & interface, long)
{
  return interface.get_value();
}

bool complete(const trajectory_msgs::msg::JointTrajectoryPoint & point)
{
  const auto size = ComputedTorqueController::kJoints;
  return point.positions.size() == size && (point.velocities.empty() || point.velocities.size() == size) &&
         (point.accelerations.empty() || point.accelerations.size() == size);
}

}  // namespace

controller_interface::CallbackReturn ComputedTorqueController::on_init()
{
  auto_declare<double>("stiffness", 100.0);
  auto_declare<double>("damping", 20.0);
  return controller_interface::CallbackReturn::SUCCESS;
}

controller_interface::InterfaceConfiguration ComputedTorqueController::command_interface_configuration() const
{
  controller_interface::InterfaceConfiguration wanted;
  wanted.type = controller_interface::interface_configuration_type::INDIVIDUAL;
  for (const char * name : kNames) {
    wanted.names.push_back(std::string(name) + "/effort");
  }
  return wanted;
}

controller_interface::InterfaceConfiguration ComputedTorqueController::state_interface_configuration() const
{
  controller_interface::InterfaceConfiguration wanted;
  wanted.type = controller_interface::interface_configuration_type::INDIVIDUAL;
  for (const char * name : kNames) {
    wanted.names.push_back(std::string(name) + "/position");
    wanted.names.push_back(std::string(name) + "/velocity");
  }
  return wanted;
}

controller_interface::CallbackReturn ComputedTorqueController::on_configure(const rclcpp_lifecycle::State &)
{
  stiffness_ = get_node()->get_parameter("stiffness").as_double();
  damping_ = get_node()->get_parameter("damping").as_double();
  if (!(stiffness_ >= 0.0) || !(damping_ >= 0.0)) {
    return controller_interface::CallbackReturn::ERROR;
  }
  subscription_ = get_node()->create_subscription<Point>(
    "~/reference", rclcpp::SystemDefaultsQoS(), [this](const std::shared_ptr<Point> point) {
      if (complete(*point)) {
        reference_.writeFromNonRT(point);
      }
    });
  return controller_interface::CallbackReturn::SUCCESS;
}

controller_interface::CallbackReturn ComputedTorqueController::on_activate(const rclcpp_lifecycle::State &)
{
  Values velocity;
  read(held_, velocity);
  reference_.writeFromNonRT(nullptr);
  return controller_interface::CallbackReturn::SUCCESS;
}

void ComputedTorqueController::read(Values & position, Values & velocity) const
{
  for (std::size_t k = 0; k < kJoints; ++k) {
    position[k] = value_of(state_interfaces_[2 * k], 0);
    velocity[k] = value_of(state_interfaces_[2 * k + 1], 0);
  }
}

controller_interface::return_type ComputedTorqueController::update(const rclcpp::Time &, const rclcpp::Duration &)
{
  Values position, velocity, acceleration, torque;
  read(position, velocity);
  const auto & point = *reference_.readFromRT();
  for (std::size_t k = 0; k < kJoints; ++k) {
    const double wanted = point ? point->positions[k] : held_[k];
    const double rate = point && !point->velocities.empty() ? point->velocities[k] : 0.0;
    const double change = point && !point->accelerations.empty() ? point->accelerations[k] : 0.0;
    acceleration[k] = change + damping_ * (rate - velocity[k]) + stiffness_ * (wanted - position[k]);
  }
  inverse_dynamics(position.data(), velocity.data(), acceleration.data(), torque.data());
  for (std::size_t k = 0; k < kJoints; ++k) {
    if (!(torque[k] == torque[k])) {
      return controller_interface::return_type::ERROR;
    }
    const double limited = kEffort[k] > 0.0 ? std::clamp(torque[k], -kEffort[k], kEffort[k]) : torque[k];
    (void)command_interfaces_[k].set_value(limited);
  }
  return controller_interface::return_type::OK;
}

}  // namespace @package@

PLUGINLIB_EXPORT_CLASS(@package@::ComputedTorqueController, controller_interface::ControllerInterface)
