"""A colcon package for ROS 2: C core, plugin of the `inverse_dynamics_solver` interface, controller, tests."""

from typing import TYPE_CHECKING

from casid import _earlier

if not TYPE_CHECKING:  # names of earlier versions
    __getattr__ = _earlier.earlier_names(__name__)
