"""How good an answer can be at best: certificate, relaxations of nonconvex constraints, the re-check."""
