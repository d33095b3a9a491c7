"""Calls an exported adapter the way its trainer would.

python adapters.py TARGET ADAPTER < rows.json

`rows`: objects with prompt, completion, answer and columns. Prints one result per row.
"""

import asyncio
import importlib.util
import json
import sys


def load(path):
    spec = importlib.util.spec_from_file_location("adapter", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["adapter"] = module
    spec.loader.exec_module(module)
    return module


def verl(adapter, row):
    return adapter.compute_score(
        data_source="test",
        solution_str=row["completion"],
        ground_truth=row["answer"],
        extra_info={**row["columns"], "num_turns": 1, "rollout_reward_scores": {}},
    )


def openrlhf(adapter, row):
    result = adapter.reward_func([row["prompt"] + row["completion"]], [row["prompt"]], [row["answer"]])
    return {
        "rewards": result["rewards"].tolist(),
        "scores": result["scores"].tolist(),
        "logs": {name: values.tolist() for name, values in result["extra_logs"].items()},
    }


def verifiers(adapter, row):
    """Returns the rewards and weights that verifiers itself records for exported methods and for functions named in a
    config.
    """
    import verifiers.v1 as vf
    from verifiers.v1.configs.agent import AgentConfig
    from verifiers.v1.trace import AgentInfo, TraceTask

    class Data(vf.TaskData):
        answer: str | None = None
        limit: int = 10

    class Methods(adapter.ExportedRewards, vf.Task[Data]):
        pass

    class Functions(vf.Task[Data]):
        pass

    thinking, _, content = row["completion"].rpartition("</think>")
    message = vf.AssistantMessage(content=content, reasoning_content=thinking.removeprefix("<think>") or None)
    prompt = [vf.UserMessage(content=row["prompt"])] if row.get("chat") else row["prompt"]
    data = Data(prompt=prompt, answer=row["answer"], **row["columns"])
    named = {
        name: vf.RewardFunctionConfig(fn=f"{adapter.__file__}:{name}_of_trace", weight=weight)
        for name, weight in (("digits", 1.0), ("brevity", 0.25))
    }

    async def scored(task):
        trace = vf.Trace(
            task=TraceTask(type=type(task).__name__, data=data),
            agent=AgentInfo(config=AgentConfig()),
            nodes=[vf.MessageNode(message=message, sampled=True, parent=None)],
        )
        await task.score(trace)
        return {
            "values": {name: reward.score for name, reward in trace.rewards.items()},
            "weights": {name: reward.weight for name, reward in trace.rewards.items()},
        }

    async def both():
        return [await scored(Methods(data)), await scored(Functions(data, vf.TaskConfig(rewards=named)))]

    return asyncio.run(both())


if __name__ == "__main__":
    target, path = sys.argv[1:3]
    module = load(path)
    call = {"verl": verl, "openrlhf": openrlhf, "verifiers": verifiers}[target]
    print(json.dumps([call(module, row) for row in json.load(sys.stdin)]))
