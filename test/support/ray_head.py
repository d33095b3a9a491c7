"""
`ray start` with as few processes as the Jobs API and Ray Train need: three dashboard modules, no autoscaler, no Ray
Client server, and no prestarted workers. It waits longer for its own node and its agents than Ray does, which gives up
after 30 and 15 seconds.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from ray._private import node, ray_constants, services
from ray.scripts.scripts import main

PATIENCE_SECONDS = 240.0

start_ray_process = services.start_ray_process
get_node = services.get_node


def start_less(command: list[str], process_type: str, **options: Any) -> Any:
    """Starts one of Ray's own programs with fewer components."""
    if process_type == ray_constants.PROCESS_TYPE_DASHBOARD:
        command = [*command, "--modules-to-load=JobHead,NodeHead,StateHead"]
    if process_type == ray_constants.PROCESS_TYPE_RAYLET:
        announce_ports(command)
    prestart = "--num_prestart_python_workers="
    command = [f"{prestart}0" if part.startswith(prestart) else part for part in command]
    return start_ray_process(command, process_type, **options)


def announce_ports(command: list[str]) -> None:
    """
    Writes the files in which a node's agents announce their ports. The raylet exits if they do not appear within 15
    seconds (ray-project/ray#65983), but on a busy machine the agents take longer to start. Their ports are fixed here.
    """
    options = dict(part[2:].split("=", 1) for part in [*command, *sys.argv] if part.startswith("--") and "=" in part)
    ports = {
        "metrics_agent_port": options["metrics-agent-port"],
        "metrics_export_port": options["metrics_export_port"],
        "runtime_env_agent_port": options["runtime_env_agent_port"],
        "dashboard_agent_listen_port": options["dashboard-agent-listen-port"],
    }
    for name, port in ports.items():
        (Path(options["session_dir"]) / f"{name}_{options['node_id']}").write_text(port)


def get_node_patiently(*arguments: Any) -> Any:
    """Waits for a node's information and returns it."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return get_node(*arguments)
        except RuntimeError:  # noqa: PERF203
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


services.start_ray_process = start_less
services.get_node = get_node_patiently
for name in ("start_monitor", "start_ray_client_server"):
    if not hasattr(node.Node, name):
        sys.exit(f"Ray's nodes no longer have {name}")
    setattr(node.Node, name, lambda self: None)
sys.exit(main())
