"""Device metrics with the real nvidia-ml-py, on a library with two fake devices that is compiled here."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from reasoning_lab_trainer.gpu import DeviceSampler, device_metrics

GIB = float(1 << 30)

# Runs in a separate process, because the library is found through the loader path, which is read at process start.
PROGRAM = """
import json, os, sys, threading, time
from pathlib import Path
from reasoning_lab_trainer.gpu import DeviceSampler, device_metrics
from reasoning_lab_trainer.gpu.devices import UsedDevice

looks = Path(os.environ["FAKE_NVML_LOOKS"])

def wait_for(count):
    # Three looks of each device, and the beginning of a fourth: then the third is in.
    deadline = time.monotonic() + 60
    while not looks.exists() or looks.stat().st_size < count:
        if time.monotonic() > deadline:
            sys.exit("no looks")
        time.sleep(0.005)

used = [
    UsedDevice(0, "aaaaaaaa-0000-0000-0000-000000000000"),
    UsedDevice(1, "bbbbbbbb-0000-0000-0000-000000000000"),
    UsedDevice(2, "cccccccc-0000-0000-0000-000000000000"),
]
torch_peaks = {0: (3.0, 4.0), 1: (5.0, 6.0), 2: (7.0, 8.0)}
sampler = DeviceSampler(used, interval=0.01, peaks=torch_peaks.__getitem__)
wait_for(8)
first = sampler.take()
sampler.close()
after = threading.active_count()
second = sampler.take()
print(json.dumps({"first": first, "threads": after, "metrics": device_metrics([first]), "second": second}))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("requires Linux and a C compiler")
    folder = tmp_path_factory.mktemp("nvml")
    source = Path(__file__).with_name("fake_nvml.c")
    made = folder / "libnvidia-ml.so.1"
    subprocess.run([compiler, "-shared", "-fPIC", "-Wall", "-Werror", "-o", made, source], check=True)
    return folder


def test_what_the_driver_tells_becomes_metrics_of_a_step(library: Path, tmp_path: Path) -> None:
    env = {**os.environ, "LD_LIBRARY_PATH": str(library), "FAKE_NVML_LOOKS": str(tmp_path / "looks")}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    told = json.loads(done.stdout)
    assert told["threads"] == 1
    metrics = told["metrics"]
    # Reports the maximum of the samples, except for utilization and power, which are averaged.
    assert metrics["gpu/0/memory_used"] == 7 * GIB
    assert metrics["gpu/0/memory_total"] == 16 * GIB
    assert metrics["gpu/0/temperature"] == 60
    assert 0.2 < metrics["gpu/0/utilization"] <= 0.9
    assert 100 < metrics["gpu/0/power"] < 600.5
    assert metrics["gpu/0/power_limit"] == 700
    assert (metrics["gpu/0/memory_peak"], metrics["gpu/0/memory_reserved"]) == (3, 4)
    # A MIG slice does not report every value, and a device unknown to the driver has only torch's values.
    assert {name for name in metrics if name.startswith("gpu/1/")} == {
        f"gpu/1/{name}" for name in ("memory_used", "memory_total", "temperature", "memory_peak", "memory_reserved")
    }
    assert {name for name in metrics if name.startswith("gpu/2/")} == {"gpu/2/memory_peak", "gpu/2/memory_reserved"}
    # `take` starts a new interval, which has no samples after the end.
    assert all("temperature" not in device or device["temperature"] <= 50 for device in told["second"])


def test_without_a_device_there_is_nothing_to_tell() -> None:
    before = threading.active_count()
    sampler = DeviceSampler([])
    assert threading.active_count() == before
    assert sampler.take() == []
    sampler.close()
    assert device_metrics([sampler.take(), []]) == {}


def test_devices_of_all_ranks_are_numbered_once() -> None:
    first = {"uuid": "a", "memory_used": 5.0, "utilization": 0.5, "memory_peak": 2.0}
    shared = {"uuid": "a", "memory_used": 6.0, "utilization": 0.25, "memory_peak": 1.0}
    other = {"uuid": "b", "temperature": 70.0}
    assert device_metrics([[first], [other], [shared]]) == {
        "gpu/0/memory_used": 6.0,
        "gpu/0/utilization": 0.5,
        "gpu/0/memory_peak": 3.0,
        "gpu/1/temperature": 70.0,
    }
