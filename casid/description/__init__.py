"""Robot descriptions: frozen trees of joints and links, and the files they are read from and written to."""

# robots by name or from files
from casid.description._files import load_robot as load_robot
from casid.description._files import robot_names as robot_names
from casid.description._files import identified_names as identified_names
from casid.description._files import identified_record as identified_record

# a robot and its parts
from casid.description._robot import Capsule as Capsule
from casid.description._robot import Frame as Frame
from casid.description._robot import Inertial as Inertial
from casid.description._robot import Joint as Joint
from casid.description._robot import Limits as Limits
from casid.description._robot import Link as Link
from casid.description._robot import LinkBounds as LinkBounds
from casid.description._robot import Mimic as Mimic
from casid.description._robot import Robot as Robot

# files of robots
from casid.description._files import convert as convert
from casid.description._files import write_robot as write_robot
from casid.description._files import Written as Written

# between rooms
from casid.description._document import Description as Description
from casid.description._document import moving_bodies as moving_bodies
from casid.description._document import robot_reference as robot_reference
from casid.description._files import format_of_name as format_of_name
from casid.description._files import load_description as load_description
from casid.description._mesh_files import Surface as Surface
from casid.description._placement import ANGLE_TOLERANCE as ANGLE_TOLERANCE
from casid.description._placement import number as number
from casid.description._placement import numbers as numbers
from casid.description._document import Lock as Lock
from casid.description._robot import STANDARD_G as STANDARD_G
from casid.description._robot import capsule_on as capsule_on
from casid.description._shapes import capsule_surface as capsule_surface
from casid.description._shapes import found as found
from casid.description._shapes import hull_points as hull_points
from casid.description._shapes import triangles as triangles
from casid.description._solids import Faces as Faces
from casid.description._shapes import link_hulls as link_hulls
from casid.description._files import as_file as as_file
from casid.description._files import description_of as description_of
from casid.description._files import write_description as write_description
from casid.description._placement import modified_dh as modified_dh
from casid.description._placement import rotation_x as rotation_x
from casid.description._placement import rotation_z as rotation_z
from casid.description._placement import transform as transform
from casid.description._placement import xyz_rpy as xyz_rpy
from casid.description.formats._toml import assignments as assignments
from casid.description.formats._xml import XmlFile as XmlFile
