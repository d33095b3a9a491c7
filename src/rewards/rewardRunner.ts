import type { LineCoverage, RewardContext, RewardDescription } from '../protocol/rewardHost.ts';
import type { ScoreResult, ScoreRow } from '../protocol/scorer.ts';

/** Programs that run user code. */
export interface RewardPrograms {
	/** Path to Node 22.18 or newer, or to an Electron that runs as Node. */
	readonly node: string;
	/** Environment variables that the Node program needs (ELECTRON_RUN_AS_NODE). Added to the host's environment. */
	readonly nodeEnvironment: Readonly<Record<string, string>>;
	/** Python 3.10 or newer: either a path or a name on the PATH. */
	readonly python: string;
}

export interface RewardLimits {
	/** Timeout per row, when rows are scored one by one. Default 5,000. */
	readonly rowMs: number;
	/** Timeout per batch. Default 60,000 in training; the editor sets a lower value. */
	readonly batchMs: number;
	/** Timeout for loading the file and its imports. Default 60,000. */
	readonly loadMs: number;
	/** Maximum resident memory of the host and its children, in MB. Default 2,048. */
	readonly memoryMb: number;
	/** Maximum number of processes in the host's process tree. Default 64. */
	readonly processes: number;
}

export interface ScoreOptions {
	/** Timeout for the batch. Default: batchMs from the limits. */
	readonly timeoutMs?: number;
	readonly signal?: AbortSignal;
	readonly coverage?: boolean;
	/** Optimizer step that the batch belongs to. Default 0. */
	readonly step?: number;
}

export interface RunnerScore extends ScoreResult {
	readonly coverage?: LineCoverage;
	/** Values that the reward passed to TRL's `log_metric`. */
	readonly metrics?: Readonly<Record<string, number>>;
}

/** Source of a runner's rewards: either a reward file or built-in rewards as written in a recipe. */
export type RewardSource =
	| { readonly file: string; readonly context: RewardContext }
	| { readonly builtIns: readonly { readonly use: string; readonly name: string }[]; readonly context: RewardContext };

/**
 * Runs the rewards from one source in a separate, supervised process: limits time, memory and processes, captures
 * output, replaces a process that crashes or hangs, and retries a failed batch row by row (see `ScoreResult.isolated`).
 * Every promise settles, no matter what user code does.
 */
export interface RewardRunner {
	readonly source: RewardSource;
	/**
	 * Returns the rewards in the file, in file order. Fails with `invalid` (syntax error, or no rewards), `missing`,
	 * `unavailable` or `timeout`. An error in the file itself is a `LoadFailure` (loadFailure.ts) with file and line.
	 */
	describe(signal?: AbortSignal): Promise<readonly RewardDescription[]>;
	/** Local files that the rewards were loaded from. Empty before the first load. */
	readonly files: readonly string[];
	/**
	 * Scores rows as a single batch, in order. Errors in user code are part of the result. Rejects only with `cancelled`,
	 * or if the file cannot be loaded or run (see `describe`).
	 */
	score(reward: string, rows: readonly ScoreRow[], options?: ScoreOptions): Promise<RunnerScore>;
	/** Called when the files have changed. The next `describe` or `score` reloads them in a new process. */
	reload(): void;
	dispose(): void;
}
