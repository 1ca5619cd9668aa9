"""Commands about a robot: ``robots``, ``base``, ``ops``."""

from __future__ import annotations

from casid.cli import options as o
from casid.cli.shared import RobotArgument, TermsOption, console
from casid.files._words import comma_list


def robots() -> None:
    """List the robots that ship with casid."""
    from casid.description import load_robot, robot_names
    from casid.report.tables import robots_table

    console().print(robots_table(load_robot(name) for name in robot_names()))


def base(
    robot: RobotArgument, lock: o.Lock = None, gravity: o.Gravity = None, angle_tolerance: o.AngleTolerance = None
) -> None:
    """Print the base parameters of a robot: rank and groupings."""
    from casid.dynamics import Model
    from casid.report.tables import base_table

    model = Model(o.robot_of(robot, lock, gravity, angle_tolerance))
    console().print(base_table(model.robot.name, model.base))


def ops(
    robot: RobotArgument,
    terms: TermsOption = "",
    lock: o.Lock = None,
    gravity: o.Gravity = None,
    angle_tolerance: o.AngleTolerance = None,
) -> None:
    """Count the operations of a robot's functions, beside the published counts."""
    from casid.dynamics import Model
    from casid.export._robot import count_robot
    from casid.report.tables import operations_table

    model = Model(o.robot_of(robot, lock, gravity, angle_tolerance), comma_list(terms))
    console().print(operations_table(f"Operations: {model.robot.name}", count_robot(model)))
