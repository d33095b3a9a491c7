/** The faults of the environment below, selected by the row's `fault`, and why the episode then fails. */
export const episodeFaults = {
	// These two do not end the process.
	reset: 'threw',
	large: 'size',
	hang: 'timeout',
	exit: 'exited',
	garbage: 'exited',
	memory: 'memory',
	fork: 'processes',
} as const;
export type EpisodeFaultName = keyof typeof episodeFaults;

/** Limits under which every fault ends soon. */
export const faultLimits = { turnMs: 1500, memoryMb: 600, processes: 12 };

/** An environment that is sound, except on rows with a fault. */
export const faultyEnvironment = `# @dataset rows.jsonl
import os
import time

class Faulty:
    def reset(self, fault=None, **row):
        self.fault = fault
        if fault == "reset": raise KeyError("no such level")

    def look(self) -> str:
        """Looks."""
        if self.fault == "hang": time.sleep(1000)
        if self.fault == "exit": os._exit(3)
        if self.fault == "garbage":
            for fd in range(3, 256):
                try: os.write(fd, b"Content-Length: 5\\r\\n\\r\\nhello")
                except OSError: pass
        if self.fault == "large": return "x" * 100_000_000
        # In one piece, because filling the memory up to the limit can take longer than a turn may.
        if self.fault == "memory": self.hoard = bytearray(4000 << 20)
        if self.fault == "fork" and [os.fork() for _ in range(5)]: time.sleep(100)
        return "seen"

    def get_reward(self):
        return 1.0
`;

export const faultyRows: readonly { readonly fault: EpisodeFaultName | null; readonly calls: readonly object[] }[] = [
	...(Object.keys(episodeFaults) as EpisodeFaultName[]).flatMap((fault) => [{ fault }, { fault: null }]),
].map((row) => ({ ...row, calls: [{ name: 'look', arguments: {} }] }));
