"""Capsules of robot files."""

from __future__ import annotations

import pytest

from casid.errors import RobotError
from tests.description.conftest import build, joint

JOINTS = [
    joint("joint1", "base", "link1", xyz=[0, 0, 0.3]),
    joint("joint2", "link1", "link2", xyz=[0.5, 0, 0]),
    joint("mount", "link2", "tool", "fixed", xyz=[0.2, 0, 0]),
]
CAPSULES = """
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
    link, tool, base = build(JOINTS, tail=CAPSULES).capsules
    assert (link.joint, tool.joint, base.joint) == (0, 1, -1)
    assert tool.start == pytest.approx([0.3, 0, 0])  # through the fixed joint
    assert (tool.start == tool.end).all()
    assert build(JOINTS, tail=CAPSULES, lock=("joint2",)).capsules[1].joint == 0


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
        build(JOINTS, tail=CAPSULES.replace(old, new))
    assert "machine.toml: capsule 2" in str(caught.value)
