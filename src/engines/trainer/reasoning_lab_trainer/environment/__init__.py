"""Inspects a Python environment without using the trainer's own packages."""
