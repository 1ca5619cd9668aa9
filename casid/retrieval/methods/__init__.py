"""Solution methods: one contract, `Direct` and the others."""

# between rooms
from casid.retrieval.methods._solve import method_of as method_of
from casid.retrieval.methods._solve import solve as solve
