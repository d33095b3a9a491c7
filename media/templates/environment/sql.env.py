# @dataset __NAME__.rows.jsonl
"""A question about a database: the model explores it with SQL, then answers.

An environment is a class. Trainers create instances without arguments, call reset with the columns of a dataset row,
offer all other public methods to the model as tools, and call get_reward when the episode is over. The same file works
with TRL: GRPOTrainer(..., environment_factory=__CLASS__).
"""

import re
import sqlite3

MAX_ROWS = 20
# Maximum SQLite virtual machine steps per query (about half a second), after which the query is interrupted.
MAX_STEPS = 10_000_000


class __CLASS__:
    # Smallest and largest reward; verification reports values outside this range.
    reward_range = (0, 1)

    def reset(self, tables: str, question: str, answer: str, **row) -> str | None:
        # Instances are reused, so set every attribute here.
        self._tables = tables
        self._answer = answer
        self.queries = 0
        self.given = None
        self.done = False
        schema = "\n".join(line for line in tables.splitlines() if line.startswith("CREATE TABLE"))
        return f"{schema}\n\n{question}"

    def query(self, sql: str) -> str:
        """
        Runs a query on the database.

        Args:
            sql: One SELECT statement for SQLite.

        Returns:
            The names of the columns, then up to 20 rows.
        """
        # The exception message becomes the tool's result, so the model can react to it.
        if self.done:
            raise ValueError("An answer has already been submitted.")
        # SELECT can neither write files nor attach other databases. The model's query is all that runs here: never
        # paste model-written text into your own statements.
        if not re.match(r"\s*(select|with)\b", str(sql), re.IGNORECASE):
            raise ValueError("Only SELECT is allowed.")
        self.queries += 1
        # Each query gets a separate database, so it cannot affect the next one.
        database = sqlite3.connect(":memory:")
        try:
            database.executescript(self._tables)
            steps = iter(range(MAX_STEPS // 1000))
            database.set_progress_handler(lambda: next(steps, None) is None, 1000)
            cursor = database.execute(str(sql))
            rows = cursor.fetchmany(MAX_ROWS)
            names = [column[0] for column in cursor.description]
        except sqlite3.Error as error:
            raise ValueError(f"{error}.") from None
        finally:
            database.close()
        return "\n".join(" | ".join(str(value) for value in line) for line in [names, *rows])

    def submit(self, answer: str) -> str:
        """
        Submits the answer. Can be called once.

        Args:
            answer: A name or a number, without any other words.

        Returns:
            A confirmation.
        """
        if self.done:
            raise ValueError("An answer has already been submitted.")
        self.given = str(answer).strip()
        self.done = True
        return "Submitted."

    def get_reward(self) -> float:
        return 1.0 if self.given is not None and self.given.lower() == self._answer.lower() else 0.0
