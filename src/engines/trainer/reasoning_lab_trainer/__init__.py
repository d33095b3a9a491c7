"""Trains reasoning models with TRL for Reasoning Lab."""

import os

__version__ = "0.2.0"

# TRL and huggingface_hub send telemetry unless it is disabled. They read these variables at import time, so this must
# come before any import of either package.
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
