"""Annex: a colcon package for ROS 2: C core, plugin of the `inverse_dynamics_solver` interface, controller, tests."""

from casid.ros2._package import export_ros2 as export_ros2
