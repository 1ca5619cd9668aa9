"""What the machine is: frozen robot descriptions and the readers that make them."""

from casid.description.capsules import capsule_on
from casid.description.load import load_robot, robot_names
from casid.description.robot import Capsule, Frame, Inertial, Joint, Limits, Link, LinkBounds, Robot
from casid.description.toml import read_toml
from casid.description.urdf import read_urdf

__all__ = [
    "Capsule",
    "Frame",
    "Inertial",
    "Joint",
    "Limits",
    "Link",
    "LinkBounds",
    "Robot",
    "capsule_on",
    "load_robot",
    "read_toml",
    "read_urdf",
    "robot_names",
]
