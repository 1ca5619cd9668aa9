"""Mutation tests: changes of the code, the tests that execute them, and whether they notice."""
