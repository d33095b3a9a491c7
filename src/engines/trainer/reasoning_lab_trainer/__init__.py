"""Trains reasoning models with TRL for Reasoning Lab."""

import os

__version__ = "0.2.0"

# Training is nobody else's business: TRL and huggingface_hub report what is trained unless they are told not to. Read
# when they are imported, so it stands before every import of theirs.
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
