"""The lifted program: starts, parts, IPOPT's interface, the elastic program and the fast way."""
