"""Debugger mode: `reward_host.py --once REQUEST REPLY` loads and scores the request in a file and writes the result."""

from .capture import Capture
from .debugged import answer_once
from .rewards import Rewards


def main(request_path, reply_path):
    answer_once(request_path, reply_path, _score)


def _score(request):
    rewards = Rewards(Capture())
    rewards.load(request["load"])
    return rewards.score(request["score"])
