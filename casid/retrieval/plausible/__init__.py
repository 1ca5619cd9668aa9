"""The most plausible of all parameters that explain the data, with a proof of its optimality."""

# The choice among all parameter sets that explain the data
from casid.retrieval.plausible._choice import Believable as Believable
from casid.retrieval.plausible._choice import believable as believable
