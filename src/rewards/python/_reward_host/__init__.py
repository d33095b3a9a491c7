"""Internals of the Python reward host. Uses only the standard library."""
