"""Stages that are built on TRL."""
