"""An attack on what the library claims: random problems whose feasible points are known apart from it."""
