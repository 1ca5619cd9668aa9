"""Capsules of robot files."""

from __future__ import annotations

import pytest

from casid.errors import RobotError
from tests.description.conftest import parsed

# ---------------------------------------------------------------------- capsules of a robot


TOML = """
schema = 1
name = "arm"
convention = "modified-dh"
[source]
licence = "CC0-1.0"
kinematics = "made up for a test"
[[joint]]
type = "revolute"
mdh = [0, 0, 0.3, 0]
[[joint]]
type = "revolute"
mdh = [0.5, 90, 0, 0]
[[joint]]
name = "mount"
type = "fixed"
xyz = [0.2, 0, 0]
link.name = "tool"
[[capsule]]
link = "link1"
start = [0, 0, 0]
end = [0.5, 0, 0]
radius = 0.05
[[capsule]]
link = "tool"
start = [0.1, 0, 0]
radius = 0.04
[[capsule]]
link = "base"
start = [0, 0, 0]
end = [0, 0, 0.2]
radius = 0.1
"""


def test_capsules_of_a_file_ride_on_the_moving_links() -> None:
    link, tool, base = parsed(TOML, "arm.toml").capsules
    assert (link.joint, tool.joint, base.joint) == (0, 1, -1)
    assert tool.start == pytest.approx([0.3, 0, 0])  # through the fixed joint
    assert (tool.start == tool.end).all()
    assert parsed(TOML, "arm.toml", lock=("joint2",)).capsules[1].joint == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('link = "tool"', 'link = "tol"', "did you mean 'tool'|no link 'tol'"),
        ("radius = 0.04", "radius = -1", "radius must be positive"),
        ("radius = 0.04", "radios = 0.04", "radios"),
        ("start = [0.1, 0, 0]", "start = [0.1, 0]", "start"),
    ],
)
def test_a_bad_capsule_names_file_and_table(old: str, new: str, message: str) -> None:
    with pytest.raises(RobotError, match=message) as caught:
        parsed(TOML.replace(old, new), "arm.toml")
    assert "arm.toml: capsule 2" in str(caught.value)
