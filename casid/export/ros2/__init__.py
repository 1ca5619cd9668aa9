"""A colcon package for ROS 2: C core, plugin of the `inverse_dynamics_solver` interface, controller, tests."""
