"""Mutation tests: changes of the code, the tests that execute them, and whether they notice."""

#: Share of a sample of mutants that may survive.
SHARE = 0.08
