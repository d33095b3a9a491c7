"""Stages built on TRL."""
