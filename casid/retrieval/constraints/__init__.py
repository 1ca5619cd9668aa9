"""Constraints on link quantities: any CasADi expression, physical bounds, shapes, physical consistency."""

# between rooms
from casid.retrieval.constraints._constraint import ConsistencyKind as ConsistencyKind
from casid.retrieval.constraints._constraint import PhysicalConsistency as PhysicalConsistency
from casid.retrieval.constraints._constraint import consistency_cone as consistency_cone
from casid.retrieval.constraints._constraint import gyration_bound as gyration_bound
from casid.retrieval.constraints._constraint import mass_bounds as mass_bounds
from casid.retrieval.constraints._constraint import robot_bounds as robot_bounds
from casid.retrieval.constraints._constraint import sensible_bounds as sensible_bounds
from casid.retrieval.constraints._constraint import Constraint as Constraint
