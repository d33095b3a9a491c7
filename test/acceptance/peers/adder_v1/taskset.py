"""Addition problems whose answers are scored by an exported reward."""

import importlib.util
import os

import verifiers.v1 as vf

spec = importlib.util.spec_from_file_location("exported_rewards", os.environ["EXPORTED_REWARDS"])
adapter = importlib.util.module_from_spec(spec)
spec.loader.exec_module(adapter)


class AdderData(vf.TaskData):
    answer: str
    limit: int


class AdderTask(adapter.ExportedRewards, vf.Task[AdderData]):
    pass


class AdderTaskset(vf.Taskset[AdderTask, vf.TasksetConfig]):
    def load(self):
        return [
            AdderTask(AdderData(prompt=prompt, answer=answer, limit=20), self.config.task)
            for prompt, answer in (("1+1=", "2"), ("2+2=", "5"), ("3+3=", "6"))
        ]
