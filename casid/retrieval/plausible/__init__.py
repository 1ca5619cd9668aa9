"""The most plausible of all parameters that explain the data, with a proof of its optimality."""

# The choice among all parameter sets that explain the data
from casid.retrieval.plausible._choice import Believable as Believable
from casid.retrieval.plausible._choice import believable as believable

# between rooms
from casid.retrieval.plausible._bodies import PlausibleBodies as PlausibleBodies
from casid.retrieval.plausible._bodies import heaviest as heaviest
from casid.retrieval.plausible._bodies import held_mass as held_mass
from casid.retrieval.plausible._bodies import plausible_bodies as plausible_bodies
from casid.retrieval.plausible._bodies import robot_bodies as robot_bodies
from casid.retrieval.plausible._choice import FEASIBLE as FEASIBLE
from casid.retrieval.plausible._choice import believable_path as believable_path
from casid.retrieval.plausible._choice import check_share as check_share
from casid.retrieval.plausible._choice import noise_share as noise_share
from casid.retrieval.plausible._choice import polished as polished
from casid.retrieval.plausible._bodies import DESCRIBED_ARMS as DESCRIBED_ARMS
from casid.retrieval.plausible._bodies import PRIORS as PRIORS
from casid.retrieval.plausible._bodies import Misses as Misses
from casid.retrieval.plausible._bodies import misses as misses
from casid.retrieval.plausible._program import DivergenceProgram as DivergenceProgram
from casid.retrieval.plausible._tolerance import coefficient_tolerance as coefficient_tolerance
