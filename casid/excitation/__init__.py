"""Excitation: the motions and poses that make identification good."""
