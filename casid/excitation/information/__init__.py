"""Information of motions about parameters: observations and criteria."""
