"""Lower bounds: certificates, and relaxations of nonconvex constraints."""
