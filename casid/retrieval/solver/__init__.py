"""Building a problem's program, IPOPT's two calls, and solutions with proofs: one direction."""
