"""XML files whose elements are edited in place."""

import pytest

from casid.description.formats._xml import Elements, XmlFile, tag
from casid.errors import RobotError, RobotWarning

CONTENT = b'<robot><!-- kept --><link name="a" xyz="1 2 3">\n<mass> 4 </mass></link></robot>'


def test_numbers_and_names_are_read_with_their_place():
    file, read = XmlFile(CONTENT, "r.urdf"), Elements("r.urdf")
    link = file.root[0]
    assert read.name(link) == "a" and read.numbers(link, "xyz", 3, "link 'a'") == [1.0, 2.0, 3.0]
    assert read.text_number(link.find("mass"), "link 'a'", 0.0) == 4.0
    with pytest.raises(RobotError, match=r"r.urdf.*must hold 2 numbers, got 3"):
        read.numbers(link, "xyz", 2, "link 'a'")
    with pytest.raises(RobotError, match="is not a number"):
        read.parse("a", 1, "mass")
    with pytest.warns(RobotWarning, match="commas"):
        assert read.parse("1,2,3", 3, "xyz") == [1.0, 2.0, 3.0]


def test_tags_quote_their_values():
    assert tag("link", {"name": 'a"b'}) == "<link name='a\"b'/>"
    with pytest.raises(RobotError, match=r"r\.urdf"):
        XmlFile(b"<robot>", "r.urdf")
