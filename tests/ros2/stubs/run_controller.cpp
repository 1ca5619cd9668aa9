// Runs the exported controller once for a state from standard input; prints the efforts it commands.
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include CONTROLLER_HEADER

int main()
{
  CONTROLLER controller;
  constexpr std::size_t n = CONTROLLER::kJoints;
  std::array<double, 2 * n> state{};
  std::array<double, n> effort{};
  auto point = std::make_shared<trajectory_msgs::msg::JointTrajectoryPoint>();
  auto read = [](double & value) { return std::scanf("%lf", &value) == 1; };
  for (double & value : state) if (!read(value)) return 2;
  for (auto * values : {&point->positions, &point->velocities, &point->accelerations}) {
    values->resize(n);
    for (double & value : *values) if (!read(value)) return 2;
  }
  if (controller.on_init() != controller_interface::CallbackReturn::SUCCESS) return 1;
  const auto wanted = controller.state_interface_configuration();
  if (wanted.names.size() != 2 * n || controller.command_interface_configuration().names.size() != n) return 1;
  for (double & value : state) controller.state_interfaces_.emplace_back(&value);
  for (double & value : effort) controller.command_interfaces_.emplace_back(&value);
  if (controller.on_configure({}) != controller_interface::CallbackReturn::SUCCESS) return 1;
  if (controller.on_activate({}) != controller_interface::CallbackReturn::SUCCESS) return 1;
  for (int step = 0; step < 2; ++step) {  // first without, then with a reference
    if (controller.update({}, {}) != controller_interface::return_type::OK) return 1;
    for (double value : effort) std::printf("%.17g ", value);
    controller.get_node()->publish(std::make_shared<trajectory_msgs::msg::JointTrajectoryPoint>());  // incomplete
    controller.get_node()->publish(point);
  }
  std::printf("\n");
  return 0;
}
