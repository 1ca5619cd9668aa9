"""What the machine is: frozen robot descriptions, the files they come from and go to."""

from casid.description.capsules import capsule_on
from casid.description.document import Description, Origin
from casid.description.formats import FORMATS, Format, parse_toml, read_toml, read_urdf
from casid.description.joint import Joint, Mimic
from casid.description.link import Inertial, Link, LinkBounds
from casid.description.load import load_description, load_robot, robot_names
from casid.description.robot import Capsule, Frame, Limits, Robot
from casid.description.write import Written, convert, write_description, write_robot

__all__ = [
    "FORMATS",
    "Capsule",
    "Description",
    "Format",
    "Frame",
    "Inertial",
    "Joint",
    "Limits",
    "Link",
    "LinkBounds",
    "Mimic",
    "Origin",
    "Robot",
    "Written",
    "capsule_on",
    "convert",
    "load_description",
    "load_robot",
    "parse_toml",
    "read_toml",
    "read_urdf",
    "robot_names",
    "write_description",
    "write_robot",
]
