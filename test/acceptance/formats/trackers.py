"""Logs runs with trackio, MLflow, W&B and OpenTelemetry, and prints what their own readers return.

python trackers.py FOLDER
"""

import json
import math
import os
import sys
from pathlib import Path

folder = Path(sys.argv[1])
os.environ.update(
    TRACKIO_DIR=str(folder / "trackio"),
    WANDB_MODE="offline",
    WANDB_SILENT="true",
    WANDB_DIR=str(folder),
    MLFLOW_ALLOW_FILE_STORE="true",
    OTEL_SEMCONV_STABILITY_OPT_IN="gen_ai_latest_experimental",
    OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT="SPAN_ONLY",
)
# MLflow puts artifacts into the working directory.
os.chdir(folder)
(folder / "mlflow").mkdir()
from said import run, say  # noqa: E402

PROMPT = [{"role": "user", "content": "What is 3 + 5?"}]


def value(step):
    return math.nan if step == 2 else 1 / step


def with_trackio():
    import trackio
    from trackio.sqlite_storage import SQLiteStorage

    trackio.init(project="sums", name="only", config={"learning_rate": 1e-5}, embed=False)
    for step in range(1, 5):
        answers = [trackio.Trace([*PROMPT, {"role": "assistant", "content": str(7 + i)}], metadata={"reward": i}) for i in (0, 1)]
        trackio.log({"train/reward": step / 8, "train/loss": value(step), "rollouts": answers}, step=step)
    trackio.finish()
    path = folder / "trackio"
    rollouts = [
        (trace["step"], 0, trace["messages"][-1]["content"], trace["metadata"]["reward"])
        for trace in SQLiteStorage.get_traces("sums", "only")
    ]
    logged = [
        (row["step"], name, row[name])
        for row in SQLiteStorage.get_logs("sums", "only")
        for name in ("train/reward", "train/loss")
        if isinstance(row.get(name), (int, float))
    ]
    # Like the scheduler that uploads a project to the Hub.
    SQLiteStorage._dataset_import_attempted = True
    SQLiteStorage.export_to_parquet()
    exported = folder / "trackio-parquet"
    exported.mkdir()
    for file in path.glob("*.parquet"):
        file.rename(exported / file.name)
    static = folder / "trackio-static"
    SQLiteStorage.export_for_static_space("sums", static)
    return [
        run("trackio", path, "trackio", rollouts, metrics=logged),
        run("trackio, Parquet", exported, "trackio", rollouts, metrics=logged),
        run("trackio, static Space", static, "trackio", rollouts, metrics=logged),
    ]


def with_mlflow(name, uri, store):
    import mlflow
    from mlflow.tracking import MlflowClient

    mlflow.set_tracking_uri(uri)
    experiment = mlflow.set_experiment("sums").experiment_id
    with mlflow.start_run(run_name="only") as started:
        for step in range(1, 5):
            mlflow.log_metrics({"train/reward": step / 8, "train/loss": value(step)}, step=step)

    @mlflow.trace(name="chat", span_type="CHAT_MODEL")
    def chat(messages):
        return {"choices": [{"message": {"role": "assistant", "content": "8"}, "finish_reason": "stop"}]}

    chat(PROMPT)
    mlflow.flush_trace_async_logging()
    client = MlflowClient()
    logged = [
        (metric.step, key, metric.value)
        for key in ("train/reward", "train/loss")
        for metric in client.get_metric_history(started.info.run_id, key)
    ]
    traces = mlflow.search_traces(locations=[experiment], return_type="list")
    rollouts = [
        (None, trace.info.trace_id, json.loads(trace.data.response)["choices"][0]["message"]["content"], None)
        for trace in traces
    ]
    if (store / "mlflow.db").exists():
        return [run(name, store, "mlflow", rollouts, metrics=logged)]
    return [
        run(name, store / experiment / started.info.run_id, "mlflow-folders", metrics=logged),
        run(f"{name}, traces", store / experiment / "traces", "mlflow-folders", rollouts),
    ]


def with_wandb():
    """The reader of offline runs is not part of the Python package, so this returns what was logged."""
    import wandb

    settings = wandb.Settings(x_disable_stats=True, console="off", disable_git=True, save_code=False)
    started = wandb.init(project="sums", name="only", settings=settings)
    logged = []
    for step in range(1, 5):
        values = {"train/reward": step / 8, "train/loss": value(step)}
        started.log({**values, "train/global_step": step})
        logged += [(step, name, logged_value) for name, logged_value in values.items()]
    rows = [[4, "What is 1 + 1?", "2", 1.0], [4, "What is 1 + 1?", "3", 0.0]]
    started.log({"samples": wandb.Table(columns=["step", "prompt", "completion", "correct"], data=rows)})
    path = Path(started.dir).parent
    started.finish()
    return [run("W&B, offline", path, "wandb", [(4, 0, row[2], row[3]) for row in rows], metrics=logged)]


def with_opentelemetry():
    """A client instrumented as documented, and OTLP in JSON as the collector's file exporter writes it."""
    from base64 import b64decode

    from google.protobuf.json_format import MessageToDict
    from openai import OpenAI
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
    from opentelemetry.instrumentation.openai_v2 import OpenAIInstrumentor
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from scripted import serve

    memory = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    OpenAIInstrumentor().instrument(tracer_provider=provider)
    with serve() as url:
        client = OpenAI(base_url=url, api_key="none")
        texts = [
            client.chat.completions.create(model="adder", messages=[{"role": "user", "content": f"What is {a} + 1?"}])
            .choices[0]
            .message.content
            for a in (1, 1, 2)
        ]

    def hexadecimal(entry):
        if isinstance(entry, dict):
            ids = ("traceId", "spanId", "parentSpanId")
            return {k: b64decode(v).hex() if k in ids else hexadecimal(v) for k, v in entry.items()}
        return [hexadecimal(one) for one in entry] if isinstance(entry, list) else entry

    path = folder / "opentelemetry"
    path.mkdir()
    with open(path / "spans.jsonl", "w") as file:
        for span in memory.get_finished_spans():
            file.write(json.dumps(hexadecimal(MessageToDict(encode_spans([span])))) + "\n")
    attributes = [dict(span.attributes) for span in memory.get_finished_spans()]
    recorded = any("messages" in name for one in attributes for name in one)
    return [
        run(
            "OpenTelemetry, openai",
            path,
            "opentelemetry",
            [(None, i // 2 if recorded else i, text if recorded else None, None) for i, text in enumerate(texts)],
        )
    ]


say(
    ["trackio", "mlflow", "wandb", "opentelemetry-sdk", "opentelemetry-instrumentation-openai-v2"],
    [
        *with_trackio(),
        *with_mlflow("MLflow, database", f"sqlite:///{folder / 'mlflow' / 'mlflow.db'}", folder / "mlflow"),
        *with_mlflow("MLflow, folders", f"file://{folder / 'mlruns'}", folder / "mlruns"),
        *with_wandb(),
        *with_opentelemetry(),
    ],
)
