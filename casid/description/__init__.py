"""Robot descriptions: frozen trees of joints and links, and the files they are read from and written to."""

# robots by name or from files
from casid.description._load import load_robot as load_robot
from casid.description._load import robot_names as robot_names
from casid.description._load import identified_names as identified_names
from casid.description._load import identified_record as identified_record

# a robot and its parts
from casid.description._parts import Capsule as Capsule
from casid.description._parts import Frame as Frame
from casid.description._parts import Inertial as Inertial
from casid.description._parts import Joint as Joint
from casid.description._parts import Limits as Limits
from casid.description._parts import Link as Link
from casid.description._parts import LinkBounds as LinkBounds
from casid.description._robot import Robot as Robot

# files of robots
from casid.description._write import convert as convert
from casid.description._write import write_robot as write_robot
