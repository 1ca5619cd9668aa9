"""Solution methods: one contract, `Direct` and the others."""

# between rooms
from casid.retrieval.methods._branching import Branches as Branches
from casid.retrieval.methods._branching import Auto as Auto
from casid.retrieval.methods._method import Direct as Direct
from casid.retrieval.methods._method import Method as Method
from casid.retrieval.methods._method import Start as Start
from casid.retrieval.methods._penalty import Penalty as Penalty
from casid.retrieval.methods._solve import METHODS as METHODS
from casid.retrieval.methods._solve import method_of as method_of
from casid.retrieval.methods._solve import solve as solve
