"""What a link's ten numbers mean: order, conversions, pseudo-inertia, physical consistency."""

from casid.inertia.consistency import Consistency, consistency, spatial_inertia
from casid.inertia.conventions import from_khalil, from_pinocchio, to_khalil, to_pinocchio
from casid.inertia.parameter_files import parameter_csv, parameter_record, read_parameters, write_parameters
from casid.inertia.parameter_vector import (
    HasParameterNames,
    LinkParameters,
    Parameters,
    link_slice,
    mass_index,
    moment_slice,
    standard_size,
)
from casid.inertia.parameters import (
    STANDARD_NAMES,
    TENSOR_INDEX,
    express_in,
    from_standard,
    skew,
    standard_names,
    tensor,
    tensor_entries,
    to_standard,
)
from casid.inertia.pseudo_inertia import PSEUDO_INERTIA_MAP, from_pseudo_inertia, pseudo_inertia

__all__ = [
    "PSEUDO_INERTIA_MAP",
    "STANDARD_NAMES",
    "TENSOR_INDEX",
    "Consistency",
    "HasParameterNames",
    "LinkParameters",
    "Parameters",
    "consistency",
    "express_in",
    "from_khalil",
    "from_pinocchio",
    "from_pseudo_inertia",
    "from_standard",
    "link_slice",
    "mass_index",
    "moment_slice",
    "parameter_csv",
    "parameter_record",
    "pseudo_inertia",
    "read_parameters",
    "skew",
    "spatial_inertia",
    "standard_names",
    "standard_size",
    "tensor",
    "tensor_entries",
    "to_khalil",
    "to_pinocchio",
    "to_standard",
    "write_parameters",
]
