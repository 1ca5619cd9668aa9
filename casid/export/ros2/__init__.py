"""A colcon package for ROS 2: the C core, a plugin of the `inverse_dynamics_solver` interface, a controller, tests."""

from casid.export.ros2.package import ExportedPackage, export_ros2

__all__ = ["ExportedPackage", "export_ros2"]
