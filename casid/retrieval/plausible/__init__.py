"""The most plausible of all parameters that explain the data, with a proof of its optimality."""

# The bodies that links are expected to be
from casid.retrieval.plausible._bodies import plausible_bodies as plausible_bodies

# The choice among all parameter sets that explain the data
from casid.retrieval.plausible._choice import Believable as Believable
from casid.retrieval.plausible._choice import believable as believable
