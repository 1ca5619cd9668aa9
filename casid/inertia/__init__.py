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
from casid.inertia._parameters import Parameters as Parameters
from casid.inertia._parameters import LinkParameters as LinkParameters
from casid.inertia._parameter_files import read_parameters as read_parameters
from casid.inertia._parameter_files import write_parameters as write_parameters

# Physical consistency
from casid.inertia._parameters import Consistency as Consistency
from casid.inertia._parameters import consistency as consistency

# between rooms
from casid.inertia._parameters import MOMENTS as MOMENTS
from casid.inertia._parameters import STANDARD_NAMES as STANDARD_NAMES
from casid.inertia._parameters import TENSOR_INDEX as TENSOR_INDEX
from casid.inertia._parameters import skew as skew
from casid.inertia._parameters import standard_names as standard_names
from casid.inertia._parameters import tensor as tensor
from casid.inertia._parameters import tensor_entries as tensor_entries
from casid.inertia._cones import CONES as CONES
from casid.inertia._cones import ConsistencyCone as ConsistencyCone
from casid.inertia._cones import Free as Free
from casid.inertia._cones import Full as Full
from casid.inertia._cones import Limits as Limits
from casid.inertia._cones import Semi as Semi
from casid.inertia._cones import DIAGONAL as DIAGONAL
from casid.inertia._interior_point import Divergence as Divergence
from casid.inertia._cones import STANDARD_MAP as STANDARD_MAP
from casid.inertia._cones import SVEC_WEIGHTS as SVEC_WEIGHTS
from casid.inertia._cones import TRIANGLE_MAP as TRIANGLE_MAP
from casid.inertia._cones import congruence as congruence
from casid.inertia._interior_point import divergence_hessian as divergence_hessian
from casid.inertia._interior_point import divergence_root as divergence_root
from casid.inertia._cones import from_svec as from_svec
from casid.inertia._interior_point import log_det_function as log_det_function
from casid.inertia._cones import lower_triangle as lower_triangle
from casid.inertia._cones import symmetric as symmetric
from casid.inertia._cones import to_svec as to_svec
from casid.inertia._interior_point import DEARER as DEARER
from casid.inertia._interior_point import EXACT as EXACT
from casid.inertia._interior_point import MET as MET
from casid.inertia._interior_point import ROUGH as ROUGH
from casid.inertia._interior_point import Climb as Climb
from casid.inertia._interior_point import InteriorPoint as InteriorPoint
from casid.inertia._interior_point import Measure as Measure
from casid.inertia._interior_point import Point as Point
from casid.inertia._interior_point import Scaling as Scaling
from casid.inertia._parameter_files import parameter_csv as parameter_csv
from casid.inertia._parameter_files import parameter_record as parameter_record
from casid.inertia._parameters import link_slice as link_slice
from casid.inertia._parameters import mass_index as mass_index
from casid.inertia._parameters import moment_slice as moment_slice
from casid.inertia._parameters import standard_size as standard_size
from casid.inertia._parameters import PSEUDO_INERTIA_MAP as PSEUDO_INERTIA_MAP
