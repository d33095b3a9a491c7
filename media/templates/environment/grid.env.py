# @dataset __NAME__.rows.jsonl
"""A grid world: find the way to the goal. A shorter path earns more, so rewards can be between 0 and 1.

An environment is a class. Trainers create instances without arguments, call reset with the columns of a dataset row,
offer all other public methods to the model as tools, and call get_reward when the episode is over. The same file works
with TRL: GRPOTrainer(..., environment_factory=__CLASS__).
"""

from typing import Literal

STEPS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}


class __CLASS__:
    # Smallest and largest reward; verification reports values outside this range.
    reward_range = (0, 1)

    def reset(self, grid: list[str], shortest: int, **row) -> str | None:
        # Instances are reused, so set every attribute here.
        self.grid = grid
        self.place = next((y, line.index("S")) for y, line in enumerate(grid) if "S" in line)
        self._shortest = shortest
        self.moves = 0
        self.done = False
        return "S is your start, G the goal, # a wall:\n" + "\n".join(grid)

    def move(self, direction: Literal["up", "down", "left", "right"]) -> str:
        """
        Moves by one cell.

        Args:
            direction: Where to go.

        Returns:
            What happened.
        """
        # The exception message becomes the tool's result, so the model can react to it.
        if self.done:
            raise ValueError("You have arrived.")
        if direction not in STEPS:
            raise ValueError("direction must be up, down, left or right.")
        self.moves += 1
        y, x = (here + step for here, step in zip(self.place, STEPS[direction]))
        if not (0 <= y < len(self.grid) and 0 <= x < len(self.grid[y])) or self.grid[y][x] == "#":
            return "There is a wall."
        self.place = (y, x)
        self.done = self.grid[y][x] == "G"
        return "You have arrived." if self.done else f"You are in row {y + 1}, column {x + 1}."

    def get_reward(self) -> float:
        # Detours lower the reward, but arriving always earns something.
        return max(0.1, self._shortest / self.moves) if self.done else 0.0
