"""Trains reasoning models with TRL for Reasoning Lab."""

import os

__version__ = "0.2.0"

# TRL and huggingface_hub send telemetry unless disabled. The variables are read on import, so this precedes every
# import of these packages.
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
