import type { LineCoverage, RewardContext, RewardDescription } from '../protocol/rewardHost.ts';
import type { ScoreResult, ScoreRow } from '../protocol/scorer.ts';

/** Which programs run user code. */
export interface RewardPrograms {
	/** Node 22.18 or newer, or an Electron that runs as one. */
	readonly node: string;
	/** Environment that the Node program needs (ELECTRON_RUN_AS_NODE); added to the host's. */
	readonly nodeEnvironment: Readonly<Record<string, string>>;
	/** Python 3.10 or newer: a path, or a name on PATH. */
	readonly python: string;
}

export interface RewardLimits {
	/** Of one row, when rows are scored one by one. Default 5,000. */
	readonly rowMs: number;
	/** Of one batch. Default 60,000 in training; the editor sets less. */
	readonly batchMs: number;
	/** Of loading the file with its imports. Default 60,000. */
	readonly loadMs: number;
	/** Resident memory of the host with its children, in MB. Default 2,048. */
	readonly memoryMb: number;
	/** Processes of the host's tree. Default 64. */
	readonly processes: number;
}

export interface ScoreOptions {
	/** Default: the limits' batchMs. */
	readonly timeoutMs?: number;
	readonly signal?: AbortSignal;
	readonly coverage?: boolean;
	/** Optimizer step that the batch belongs to; default 0. */
	readonly step?: number;
}

export interface RunnerScore extends ScoreResult {
	readonly coverage?: LineCoverage;
	/** What the reward gave to TRL's `log_metric`. */
	readonly metrics?: Readonly<Record<string, number>>;
}

/** What a runner scores with: one reward file, or built-in rewards as a recipe spells them. */
export type RewardSource =
	| { readonly file: string; readonly context: RewardContext }
	| { readonly builtIns: readonly { readonly use: string; readonly name: string }[]; readonly context: RewardContext };

/**
 * The rewards of one source in a supervised process of their own: limits of time, memory and processes, output captured,
 * a process that dies or hangs replaced, a failed batch tried again row by row (see `ScoreResult.isolated`). Whatever user
 * code does, every promise here settles.
 */
export interface RewardRunner {
	readonly source: RewardSource;
	/**
	 * The rewards of the file, in its order. Fails with `invalid` (syntax, no reward), `missing`, `unavailable`, `timeout`; a
	 * failure of the file itself is a `LoadFailure` (loadFailure.ts) with its file and line.
	 */
	describe(signal?: AbortSignal): Promise<readonly RewardDescription[]>;
	/** Local files that the loaded rewards came from; empty before the first load. */
	readonly files: readonly string[];
	/**
	 * Rows go as one batch, in their order. Faults of user code are in the result; it rejects only with `cancelled`, or when
	 * the file cannot be loaded or no program runs it (as `describe`).
	 */
	score(reward: string, rows: readonly ScoreRow[], options?: ScoreOptions): Promise<RunnerScore>;
	/** The files have changed: the next `describe` or `score` reloads them, in another process. */
	reload(): void;
	dispose(): void;
}
