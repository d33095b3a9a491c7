"""Datasets: reading them the way the embedded engine does, and messages for unreadable files."""

from __future__ import annotations

import gzip
import json
import multiprocessing
import os
import sys
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import fails
from reasoning_lab_trainer.data.answers import gold_text
from reasoning_lab_trainer.data.hashing import Random, hash_text, hash_texts
from reasoning_lab_trainer.data.hub_rows import main as hub_rows
from reasoning_lab_trainer.data.hub_rows import write_rows
from reasoning_lab_trainer.data.presets import Columns, boxed, presets
from reasoning_lab_trainer.data.problems import (
    DriverProblems,
    RowProblems,
    open_row_problems,
    problems_hash,
    read_problems,
)
from reasoning_lab_trainer.data.source import Source, hub_dataset_failure, plain, read_rows
from reasoning_lab_trainer.data.split import held_out, prompt_key
from reasoning_lab_trainer.failure import Failure

GOLDEN = json.loads((Path(__file__).parents[2] / "fixtures" / "trainer" / "split.json").read_text("utf-8"))

ROWS: list[dict[str, Any]] = [{"q": f"{n}+1=", "a": n + 1, "s": f"one more than {n}"} for n in range(30)]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Writes a file of rows in the format given by its name."""
    kind = path.suffix
    if kind == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif kind == ".csv":
        path.write_text("\n".join([",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]))
    elif kind == ".json":
        path.write_text(json.dumps(rows))
    elif kind == ".gz":
        path.write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
    else:
        path.write_text("\n".join(map(json.dumps, rows)))
    return path


def dataset(path: Path | str, **more: Any) -> dict[str, Any]:
    return {
        "path": str(path),
        "prompt": "q",
        "answer": "a",
        "solution": "s",
        "heldOut": None,
        "heldOutShare": 0.2,
        **more,
    }


class TestGolden:
    """Exactly the values that TypeScript computes."""

    def test_hashes(self) -> None:
        texts = [json.loads(one["text"]) for one in GOLDEN["texts"]]
        assert [hash_text(text, 5) for text in texts] == [one["hash"] for one in GOLDEN["texts"]]
        assert hash_texts(texts, 5).tolist() == [one["hash"] for one in GOLDEN["texts"]]
        assert [prompt_key(text) for text in texts] == [one["key"] for one in GOLDEN["texts"]]
        assert held_out([prompt_key(text) for text in texts], 0.3) == [one["heldOut"] for one in GOLDEN["texts"]]
        assert hash_texts([], 5).dtype == np.uint32

    def test_random(self) -> None:
        random = Random(3, "golden", 12)
        assert [random.uint32() for _ in range(12)] == GOLDEN["random"]
        assert [random.below(10) for _ in range(12)] == GOLDEN["below"]
        assert Random("order").shuffle(list(range(20))) == GOLDEN["shuffled"]

    def test_numbers(self) -> None:
        for one in GOLDEN["numbers"]:
            assert gold_text(one["number"]) == one["text"], one
            assert gold_text(float(one["number"])) == one["text"], one

    @pytest.mark.parametrize("place", [0, 1])
    def test_splits_and_orders(self, tmp_path: Path, recipe: dict[str, Any], place: int) -> None:
        golden = GOLDEN["sources"][place]
        path = write(tmp_path / "rows.jsonl", GOLDEN["rows"])
        held = golden["heldOut"]
        recipe["seed"] = golden["seed"]
        recipe["dataset"] = {
            "path": str(path),
            "prompt": "prompt",
            "answer": "answer",
            "solution": "solution",
            "heldOut": None if held is None else str(write(tmp_path / "held.jsonl", held)),
            "heldOutShare": golden["share"],
        }
        problems = open_row_problems(recipe)
        assert [one["prompt"] for one in problems.training(0, 90)] == golden["training"]
        assert [one["prompt"] for one in problems.training(50, 5)] == golden["training"][50:55]
        found = [{"prompt": one["prompt"], "answer": one["answer"]} for one in problems.held_out(100)]
        assert found == golden["held"]


def test_excluded_prompts_are_left_out(tmp_path: Path, recipe: dict[str, Any]) -> None:
    path = write(tmp_path / "rows.jsonl", ROWS)

    def prompts(**more: Any) -> set[str]:
        recipe["dataset"] = dataset(path, **more)
        problems = open_row_problems(recipe)
        return {one["prompt"] for one in [*problems.training(0, problems.total), *problems.held_out(100)]}

    assert prompts() - prompts(exclude=[" 3+1=", "4+1=", "no such prompt"]) == {"3+1=", "4+1="}


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json", "rows.csv", "rows.parquet", "rows.jsonl.gz"])
def test_every_kind_of_file_has_the_same_problems(tmp_path: Path, recipe: dict[str, Any], name: str) -> None:
    recipe["dataset"] = dataset(write(tmp_path / name, ROWS))
    problems = open_row_problems(recipe)
    assert isinstance(problems, RowProblems)
    assert problems.total + problems.held_out_total == 30
    first = problems.training(0, 1)[0]
    assert first["answer"] == str(int(first["prompt"].split("+")[0]) + 1)
    assert first["solution"].startswith("one more")
    assert set(first["row"]) == {"q", "a", "s"}
    json.dumps(first)
    recipe["dataset"] = dataset(write(tmp_path / "other.jsonl", ROWS))
    assert [one["prompt"] for one in open_row_problems(recipe).training(0, 40)] == [
        one["prompt"] for one in problems.training(0, 40)
    ]
    assert len(problems_hash(problems)) == 64


@pytest.mark.parametrize("name", list(presets()))
def test_known_datasets_are_read_as_in_typescript(tmp_path: Path, name: str) -> None:
    preset = presets()[name]
    columns = Columns.of({**preset, "preset": name})
    example = preset["example"]
    for file in ("rows.jsonl", "rows.parquet"):
        (read,) = read_problems(Source(str(write(tmp_path / file, [example["row"]]))), columns)
        problem = read.problem
        assert {key: problem[key] for key in ("prompt", "answer", "solution")} == example["problem"]
        assert set(example["row"]) <= set(problem["row"])


def test_boxes() -> None:
    assert boxed(r"\boxed{1} and \fbox{\frac{1}{2}} \boxed 5 \boxed{open \boxedx{3}") == ["1", r"\frac{1}{2}", "5"]
    assert boxed(r"\boxed{a\}b}") == [r"a\}b"]


def test_values_that_json_lacks() -> None:
    assert plain({"a": float("nan"), "b": b"123", 3: (1, 2)}) == {"a": None, "b": "3 bytes", "3": [1, 2]}


class TestBadFiles:
    def read(self, path: Path | str, **more: Any) -> Any:
        return read_problems(Source(str(path)), Columns("q", "a", "s", **more))

    def test_missing(self, tmp_path: Path) -> None:
        with fails("missing", "The file", "gone.jsonl does not exist"):
            self.read(tmp_path / "gone.jsonl")
        with fails("invalid", "contains neither Parquet files nor"):
            self.read(tmp_path)

    @pytest.mark.parametrize("name", ["e.jsonl", "e.json", "e.csv", "e.parquet"])
    def test_empty(self, tmp_path: Path, name: str) -> None:
        (tmp_path / name).write_bytes(b"")
        with fails("invalid", name, "has no rows"):
            self.read(tmp_path / name)

    def test_headers_alone(self, tmp_path: Path) -> None:
        (tmp_path / "e.csv").write_text("q,a\n")
        with fails("invalid", "has no rows"):
            self.read(tmp_path / "e.csv")

    def test_one_row(self, tmp_path: Path, recipe: dict[str, Any]) -> None:
        recipe["dataset"] = dataset(write(tmp_path / "one.jsonl", ROWS[:1]))
        with fails("invalid", "leaves no rows to", "heldOutShare"):
            open_row_problems(recipe)

    def test_missing_column(self, tmp_path: Path) -> None:
        path = write(tmp_path / "rows.parquet", [{"question": "1", "label": 2, "s": ""}])
        with fails("invalid", "rows.parquet, row 1", 'no column "q"', "question, label, s", '"prompt"'):
            self.read(path)

    def test_wrong_cells(self, tmp_path: Path) -> None:
        for row, words in (
            ({"q": 3, "a": 1}, 'a "q" that is neither a string nor a list of system and user messages'),
            ({"q": " ", "a": 1}, 'an empty "q"'),
            ({"q": "x", "a": [1]}, "cannot be compared"),
            ({"q": "x", "a": float("inf")}, "cannot be compared"),
            ({"q": "x", "a": 1, "s": 5}, 'a "s" that is not a string'),
        ):
            with fails("invalid", "rows.jsonl, line 1", words):
                self.read(write(tmp_path / "rows.jsonl", [row]))
        with fails("invalid", 'has no "####" before the answer'):
            self.read(write(tmp_path / "rows.jsonl", [{"q": "x", "a": "six"}]), reading="hashes")

    def test_not_json(self, tmp_path: Path) -> None:
        path = tmp_path / "rows.jsonl"
        path.write_text('{"q": "1", "a": 1}\n\n{broken\n')
        with fails("invalid", "line 3, is not valid JSON"):
            self.read(path)
        path.write_text("[1]\n")
        with fails("invalid", "line 1, is not a JSON object"):
            self.read(path)
        path.write_bytes(b'{"q": "1", "a": 1}\n\xff\xfe\n')
        with fails("invalid", "line 2, is not valid UTF-8"):
            self.read(path)
        other = tmp_path / "rows.json"
        other.write_text("{broken")
        with fails("invalid", "rows.json is not valid JSON"):
            self.read(other)
        other.write_text('[{"q": "1", "a": 1}, 5]')
        with fails("invalid", "row 2, is not an object"):
            self.read(other)
        other.write_text('{"version": 1, "data": [{"q": "1", "a": 1}]}')
        assert len(self.read(other)) == 1

    def test_bad_csv(self, tmp_path: Path) -> None:
        path = tmp_path / "rows.csv"
        path.write_text("q,a\n1,2,3\n")
        with fails("invalid", "line 2, has 3 cells, but the first line has 2"):
            self.read(path)
        path.write_text('q,a\n"1,2\n')
        with fails("invalid", "line 2, is not valid CSV"):
            self.read(path)
        path.write_text("q,q\n1,2\n")
        with fails("invalid", "duplicate column names"):
            self.read(path)
        path.write_text('q,a\n"one, two\nthree",007\n')
        assert self.read(path)[0].problem["prompt"] == "one, two\nthree"
        assert self.read(path)[0].problem["answer"] == "007"

    def test_unreadable_parquet(self, tmp_path: Path) -> None:
        path = write(tmp_path / "rows.parquet", ROWS)
        path.write_bytes(path.read_bytes()[:200])
        with fails("invalid", "rows.parquet is not a readable parquet file"):
            self.read(path)

    def test_folders_of_several_splits(self, tmp_path: Path) -> None:
        for name in ("train-00000-of-00002", "train-00001-of-00002"):
            write(tmp_path / f"{name}.parquet", ROWS)
        assert len(read_rows(Source(str(tmp_path)))) == 2 * len(ROWS)
        write(tmp_path / "test-00000-of-00001.parquet", ROWS)
        with fails("invalid", "several splits (test, train)", "its own folder"):
            read_rows(Source(str(tmp_path)))

    def test_unknown_ending(self, tmp_path: Path) -> None:
        (tmp_path / "rows.xlsx").write_bytes(b"PK")
        with fails("invalid", "Cannot determine the format of", "from its file extension", ".parquet"):
            self.read(tmp_path / "rows.xlsx")

    def test_hub_unreachable(self) -> None:
        with fails("unavailable", "nobody/no-such-data", "Hub cannot be reached", "Download"):
            read_rows(Source("nobody/no-such-data"))


@pytest.mark.parametrize(
    ("error", "reason", "words"),
    [
        (ValueError("BuilderConfig 'x' not found. Available: ['main']"), "missing", 'Set "config"'),
        (ValueError("Unknown split \"trian\". Should be one of ['train']."), "missing", 'Set "split"'),
        (RuntimeError("Dataset scripts are no longer supported, but found x.py"), "unsupported", "Parquet"),
        (ConnectionError("Couldn't reach 'x' on the Hub"), "unavailable", "cannot be reached"),
        (OSError("Something else."), "invalid", "Something else"),
    ],
)
def test_hub_errors_are_one_sentence(error: Exception, reason: str, words: str) -> None:
    failure = hub_dataset_failure(error, Source("owner/name"))
    assert failure.reason == reason
    assert words in str(failure)
    assert "owner/name" in failure.message


def test_rows_of_a_dataset_become_lines(tmp_path: Path) -> None:
    # A folder is read like a hub dataset.
    folder = tmp_path / "data"
    folder.mkdir()
    given = [{"question": f"q{i}", "answer": i, "parts": [1.5, None]} for i in range(450)]
    (folder / "train.jsonl").write_text("\n".join(json.dumps(row) for row in given))
    told: list[int] = []
    out = tmp_path / "out.jsonl"
    assert write_rows(Source(str(folder)), 0, out, told.append) == (450, True)
    assert [json.loads(line) for line in out.read_text().splitlines()] == given
    assert told == [200, 400]
    assert write_rows(Source(str(folder)), 450, out, told.append) == (450, True)
    assert write_rows(Source(str(folder)), 7, out, told.append) == (7, False)
    assert len(out.read_text().splitlines()) == 7
    with fails("missing", 'Set "split"'):
        write_rows(Source(str(folder), split="nothing"), 7, out, told.append)


def test_rows_that_cannot_be_had_are_told_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert hub_rows(["nobody/no-such-data", "--out", str(tmp_path / "out.jsonl")]) == 1
    failure = json.loads(capsys.readouterr().out.splitlines()[-1])["failure"]
    assert failure["reason"] == "unavailable"
    assert "Hub cannot be reached" in failure["message"]
    assert "dataset fetch" in failure["action"]


def test_driver_problems_are_asked_in_parts() -> None:
    asked: list[tuple[int, int]] = []

    def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert method == "data/problems"
        asked.append((params["from"], params["count"]))
        made = [{"index": params["from"] + n, "prompt": "p"} for n in range(params["count"])]
        return {"problems": made, "total": None}

    problems = DriverProblems(ask)
    assert problems.total is None
    assert [one["index"] for one in problems.training(10, 9000)] == list(range(10, 9010))
    assert asked[1:] == [(10, 4096), (4106, 4096), (8202, 808)]
    assert len(problems.held_out(5)) == 5
    asked.clear()
    # Consecutive batches come from the same prefetched request.
    for start in (9000, 9010, 9020, 9515, 9505, 9000):
        assert [one["index"] for one in problems.training(start, 10)] == list(range(start, start + 10))
    assert asked == [(9010, 512), (9515, 512), (9505, 512), (9000, 512)]
    asked.clear()
    assert len(problems.held_out(3)) == 3
    assert asked == []


def test_driver_may_give_fewer_large_problems() -> None:
    asked: list[tuple[int, int]] = []

    def ask(method: str, params: dict[str, Any]) -> dict[str, Any]:
        asked.append((params["from"], params["count"]))
        made = [{"index": params["from"] + n, "prompt": "p"} for n in range(min(4, params["count"]))]
        return {"problems": made, "total": None}

    problems = DriverProblems(ask)
    assert [one["index"] for one in problems.training(0, 6)] == list(range(6))
    assert [one["index"] for one in problems.training(6, 2)] == [6, 7]
    assert [one["index"] for one in problems.training(8, 2)] == [8, 9]
    assert asked[1:] == [(0, 512), (4, 508), (8, 512)]


def test_prompts_of_messages_and_nested_columns_are_read_as_the_embedded_engine_reads_them(tmp_path: Path) -> None:
    row = {
        "prompt": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "1+1="}],
        "reward_model": {"ground_truth": "2", "style": "rule"},
        "extra_info": {"notes": ["no", "one more"]},
    }
    columns = Columns("prompt", "reward_model.ground_truth", "extra_info.notes.1")
    for name in ("train.jsonl", "train.parquet"):
        [read] = read_problems(Source(str(write(tmp_path / name, [row]))), columns)
        assert read.problem["prompt"] == "Be brief.\n\n1+1="
        assert (read.problem["answer"], read.problem["solution"]) == ("2", "one more")
    with fails("invalid", "has no column"):
        read_problems(Source(str(tmp_path / "train.jsonl")), Columns("prompt", "extra_info.notes.2", "s"))


def test_folders_of_parquet_and_of_save_to_disk_are_read(tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    write(parts / "b.parquet", ROWS[10:])
    write(parts / "a.parquet", ROWS[:10])
    assert [one.row for one in read_rows(Source(str(parts)))] == ROWS
    saved = datasets.Dataset.from_list(ROWS)
    saved.save_to_disk(str(tmp_path / "saved"), num_shards=3)
    assert [one.row for one in read_rows(Source(str(tmp_path / "saved")))] == ROWS
    # A selection is stored as indices.
    saved.select(range(5)).save_to_disk(str(tmp_path / "few"))
    assert [one.row for one in read_rows(Source(str(tmp_path / "few")))] == ROWS[:5]
    datasets.DatasetDict({"test": saved}).save_to_disk(str(tmp_path / "both"))
    assert len(read_rows(Source(str(tmp_path / "both"), split="test"))) == 30
    with fails("missing", "has no split train"):
        read_rows(Source(str(tmp_path / "both")))
    (tmp_path / "none").mkdir()
    with fails("invalid", "contains neither Parquet files nor"):
        read_rows(Source(str(tmp_path / "none")))


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    for name in ("pipe.jsonl", "pipe.parquet"):
        os.mkfifo(tmp_path / name)
        with fails("invalid", "is not a regular file"):
            read_rows(Source(str(tmp_path / name)))


def test_another_encoding_is_refused_with_its_line_and_offered(tmp_path: Path) -> None:
    path = tmp_path / "latin.jsonl"
    path.write_bytes('{"q": "1", "a": 1}\n{"q": "Café", "a": 2}\n'.encode("latin-1"))
    with pytest.raises(Failure) as raised:
        read_rows(Source(str(path)))
    assert "line 2, is not valid UTF-8" in raised.value.message
    assert "iconv -f ISO-8859-1 -t UTF-8" in (raised.value.action or "")


def test_arrow_is_read_from_the_stream_and_from_the_file_format(tmp_path: Path) -> None:
    table = pa.table({"q": [f"question {n}" for n in range(9)]})
    write_stream(tmp_path / "stream.arrow", table)
    with pa.ipc.new_file(str(tmp_path / "file.arrow"), table.schema) as file:
        file.write_table(table, max_chunksize=4)
    for name in ("stream", "file"):
        assert [one.row for one in read_rows(Source(str(tmp_path / f"{name}.arrow")))] == table.to_pylist()
    packed = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(str(tmp_path / "packed.arrow"), table.schema, options=packed) as file:
        file.write_table(table)
    with fails("unsupported", "is a compressed Arrow file"):
        read_rows(Source(str(tmp_path / "packed.arrow")))


BOMBS = Path(__file__).parents[2] / "fixtures" / "bombs"


def repeated(text: str, rows: int) -> pa.Table:
    """Returns a table that is small in memory and on disk until its strings are materialized."""
    return pa.table({"q": pa.DictionaryArray.from_arrays(np.zeros(rows, "int32"), [text])})


def write_stream(path: Path, table: pa.Table, **options: Any) -> None:
    with pa.ipc.new_stream(str(path), table.schema, options=pa.ipc.IpcWriteOptions(**options)) as stream:
        stream.write_table(table)


def report_memory(paths: list[Path], report: Path) -> None:
    """Reads each file and writes a line: its name, the peak growth of memory in kilobytes, and the outcome."""
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (120, 120))

    def status(key: str) -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(key))

    with report.open("w") as out:
        for path in paths:
            Path("/proc/self/clear_refs").write_text("5")
            before = status("VmRSS")
            try:
                told = f"{len(read_rows(Source(str(path))))} rows"
            except Failure as failure:
                told = f"{failure.reason} {failure}"
            print(path.name, status("VmHWM") - before, told, file=out)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured in /proc")
def test_files_that_decode_to_far_more_than_they_hold_are_refused_within_400_mb(tmp_path: Path) -> None:
    million = "x" * 1_000_000
    pq.write_table(repeated(million, 2000), tmp_path / "texts.parquet")
    messages = pa.ListArray.from_arrays(
        [0, 2000], pa.StructArray.from_arrays([repeated(million, 2000)["q"].chunk(0)], ["c"])
    )
    pq.write_table(pa.table({"m": messages}), tmp_path / "nested.parquet")
    pq.write_table(pa.table({"n": np.zeros(5_000_000, "int8")}), tmp_path / "rows.parquet", compression="zstd")
    numbers = pa.ListArray.from_arrays([0, 20_000_000], pa.array(np.zeros(20_000_000, "int64")))
    pq.write_table(pa.table({"n": numbers}), tmp_path / "numbers.parquet", compression="zstd")
    write_stream(tmp_path / "texts.arrow", repeated(million, 2000))
    write_stream(tmp_path / "zeros.arrow", pa.table({"q": ["0" * (100 << 20)]}), compression="zstd")
    write_stream(tmp_path / "views.arrow", pa.table({"q": pa.array(["x" * 100] * 10, pa.string_view())}))
    (tmp_path / "zeros.jsonl.gz").write_bytes(gzip.compress(bytes(100 << 20), 1))
    (tmp_path / "deep.json").write_text("[" * 200_000)
    (tmp_path / "deep.jsonl").write_text('{"q":' + "[" * 200_000)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "texts.parquet").write_bytes((tmp_path / "texts.parquet").read_bytes())
    names = [path for path in sorted(tmp_path.iterdir()) if path.suffix or path.is_dir()]
    names += [BOMBS / f"{name}.parquet" for name in ("texts", "page", "nulls")]
    report = tmp_path / "report"
    # A fork already has everything loaded that a new process would take seconds to load.
    reader = multiprocessing.get_context("fork").Process(target=report_memory, args=(names, report))
    # Otherwise, it would reuse memory that this process has freed.
    pa.default_memory_pool().release_unused()
    reader.start()
    reader.join(240)
    reader.kill()
    reader.join()
    assert reader.exitcode == 0
    lines = report.read_text().splitlines()
    assert len(lines) == len(names) == 14, lines
    for line in lines:
        name, kilobytes, reason = line.split(" ", 3)[:3]
        assert reason in ("unsupported", "invalid"), line
        assert int(kilobytes) < 400_000, line
        assert name in line.split(" ", 3)[3], line


def test_texts_that_data_really_repeat_are_read(tmp_path: Path) -> None:
    pq.write_table(repeated("x" * 10_000, 1000), tmp_path / "system.parquet")
    assert len(read_rows(Source(str(tmp_path / "system.parquet")))) == 1000
