"""Inspects a Python environment without the trainer's own packages."""
