"""What a link's ten numbers mean: order, conversions, pseudo-inertia, physical consistency."""

# The ten standard parameters of a link, and their other forms
from casid.inertia._parameters import to_standard as to_standard
from casid.inertia._parameters import from_standard as from_standard
from casid.inertia._parameters import express_in as express_in
from casid.inertia._parameters import pseudo_inertia as pseudo_inertia
from casid.inertia._parameters import from_pseudo_inertia as from_pseudo_inertia
from casid.inertia._parameters import to_pinocchio as to_pinocchio
from casid.inertia._parameters import from_pinocchio as from_pinocchio

# The parameters of a robot, and their files
from casid.inertia._parameter_vector import Parameters as Parameters
from casid.inertia._parameter_vector import LinkParameters as LinkParameters
from casid.inertia._parameter_files import read_parameters as read_parameters
from casid.inertia._parameter_files import write_parameters as write_parameters

# Physical consistency
from casid.inertia._parameters import Consistency as Consistency
from casid.inertia._parameters import consistency as consistency

# between rooms
from casid.inertia._parameters import STANDARD_NAMES as STANDARD_NAMES
from casid.inertia._parameters import TENSOR_INDEX as TENSOR_INDEX
from casid.inertia._parameters import Vector as Vector
from casid.inertia._parameters import skew as skew
from casid.inertia._parameters import standard_names as standard_names
from casid.inertia._parameters import tensor as tensor
from casid.inertia._parameters import tensor_entries as tensor_entries
