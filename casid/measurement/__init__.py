"""Recordings: frozen, checked data sets, their readers, defects, filtering and differentiation."""

# recordings
from casid.measurement._dataset import Dataset as Dataset
from casid.measurement._dataset import FullRate as FullRate
from casid.measurement._readers import read_dataset as read_dataset

# isort: split
# defects
from casid.measurement._defects import Defect as Defect
from casid.measurement._checks import defects as defects
from casid.measurement._defects import LEAST_MOTION as LEAST_MOTION
from casid.measurement._defects import moving_joints as moving_joints
from casid.measurement._defects import time_gaps as time_gaps

# isort: split
# processing
from casid.measurement._processing import Processing as Processing
from casid.measurement._processing import is_motion as is_motion
from casid.measurement._processing import prepare as prepare
from casid.measurement._processing import advanced as advanced
from casid.measurement._processing import repaired as repaired
from casid.measurement._processing import without_rest as without_rest
from casid.measurement._defects import find_defects as find_defects
from casid.measurement._processing import LONGEST_TRIM as LONGEST_TRIM

# isort: split
# checks
from casid.measurement._checks import check_against as check_against
from casid.measurement._checks import check_angles as check_angles
from casid.measurement._checks import check_columns as check_columns
from casid.measurement._checks import likely_degrees as likely_degrees
from casid.measurement._checks import without_locked as without_locked

# isort: split
# logs of any layout
from casid.measurement._readers import read_log as read_log
from casid.measurement._proposing import Answers as Answers
from casid.measurement._proposing import Proposal as Proposal
from casid.measurement._proposing import Question as Question
from casid.measurement._proposing import propose as propose
from casid.measurement._readers import command_settings as command_settings
from casid.measurement._readers import described_files as described_files
from casid.measurement._readers import has_commands_only as has_commands_only

# isort: split
# parts of a reader
from casid.measurement._columns import Columns as Columns
from casid.measurement._columns import choose_signals as choose_signals
from casid.measurement._columns import torque_columns as torque_columns
from casid.measurement._names import factors as factors
from casid.measurement._formats import read_columns as read_columns
from casid.measurement._readers import read_description as read_description
from casid.measurement._readers import column_names as column_names
from casid.measurement._readers import described_columns as described_columns
from casid.measurement._readers import is_unsigned as is_unsigned
from casid.measurement._readers import time_of as time_of
from casid.measurement._text import TextLayout as TextLayout

# between rooms
from casid.measurement._checks import in_robot_order as in_robot_order
from casid.measurement._defects import STILL_SD as STILL_SD
from casid.measurement._defects import STILL_TIME as STILL_TIME
from casid.measurement._formats import FORMATS as FORMATS
