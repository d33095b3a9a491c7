"""Writes a run slowly, and prints a line of JSON with the step and the time as soon as each step is in the files.

python live_writer.py KIND FOLDER STEPS

prime-rl  its layout: numbered chunks that a thread compresses while the next one is written, and metrics.jsonl
trackio   a database in WAL mode, through trackio's own storage
events    TensorBoard's own writer, with a new file every eight steps
"""

import json
import os
import random
import struct
import sys
import threading
import time
from pathlib import Path

kind, folder, steps = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
FRAME_BYTES = 1 << 16


def say(step):
    print(json.dumps({"step": step, "time": time.time()}), flush=True)


def episode(step):
    nodes = [
        {"message": {"role": "user", "content": "2+2?"}, "sampled": False},
        {"parent": 0, "message": {"role": "assistant", "content": "4 " * 5000}, "sampled": True},
    ]
    trace = {"id": f"t{step}", "nodes": nodes, "rewards": {"right": {"score": step % 2, "weight": 1}}}
    return {"id": f"e{step}", "run": {"work": {"type": "train", "step": step}}, "traces": [trace]}


def seal(path):
    """Like prime_rl/monitors/file/traces/chunks.py, which uses pyzstd's SeekableZstdFile."""
    import pyarrow

    codec = pyarrow.Codec("zstd")
    data = path.read_bytes()
    parts = [data[at : at + FRAME_BYTES] for at in range(0, len(data), FRAME_BYTES)]
    frames = [codec.compress(part, asbytes=True) for part in parts]
    table = b"".join(struct.pack("<II", len(frame), len(part)) for frame, part in zip(frames, parts))
    footer = struct.pack("<IBI", len(frames), 0, 0x8F92EAB1)
    partial = path.with_name(path.name + ".zst.tmp")
    with partial.open("wb") as out:
        for frame in frames:
            out.write(frame)
            time.sleep(0.05)
        out.write(struct.pack("<II", 0x184D2A5E, len(table) + len(footer)) + table + footer)
    partial.replace(path.with_name(path.name + ".zst"))
    path.unlink()


def prime_rl():
    stream = folder / "monitors/file/traces/stream"
    stream.mkdir(parents=True)
    metrics = (folder / "monitors/file/metrics.jsonl").open("a", buffering=1)
    sealing = []
    chunk = stream / "00000.jsonl"
    for step in range(steps):
        if step > 0 and step % 8 == 0:
            sealing.append(threading.Thread(target=seal, args=(chunk,)))
            sealing[-1].start()
            chunk = stream / f"{step // 8:05d}.jsonl"
        metrics.write(json.dumps({"step": step, "time": time.time(), "optim/grad_norm": 1.0}) + "\n")
        with chunk.open("ab") as out:
            out.write(json.dumps(episode(step)).encode() + b"\n")
        yield step
    for thread in sealing:
        thread.join()


def trackio():
    os.environ["TRACKIO_DIR"] = str(folder)
    from trackio.sqlite_storage import SQLiteStorage

    for step in range(steps):
        SQLiteStorage.bulk_log("sums", "only", [{"train/reward": step / 8}], steps=[step])
        yield step


def events():
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = None
    for step in range(steps):
        if step % 8 == 0:
            if writer is not None:
                writer.close()
            writer = EventFileWriter(str(folder), filename_suffix=f".{step}")
        value = Summary.Value(tag="train/reward", simple_value=step / 8)
        writer.add_event(Event(wall_time=time.time(), step=step, summary=Summary(value=[value])))
        writer.flush()
        yield step
    writer.close()


random.seed(1)
for step in {"prime-rl": prime_rl, "trackio": trackio, "events": events}[kind]():
    say(step)
    time.sleep(random.uniform(0.1, 0.9))
