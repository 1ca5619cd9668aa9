"""The MJCF reader by itself."""

import pytest

from casid.description.formats._contract import Reading
from casid.description.formats._mjcf_reader import read_mjcf_content
from casid.errors import RobotError


def test_another_root_is_not_mjcf():
    with pytest.raises(RobotError, match="expected <mujoco>"):
        read_mjcf_content(b"<robot/>", Reading("m.xml"))
