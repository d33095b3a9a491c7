import { checkAborted } from '../base/async.ts';
import { type RowToVerify, rowError, verifiedRow } from '../core/reward/verification/rowToVerify.ts';
import { verificationStatistics } from '../core/reward/verification/verificationStatistics.ts';
import type { LineCoverage } from '../protocol/rewardHost.ts';
import type { ScoreError } from '../protocol/scorer.ts';
import type { Verification, VerifiedRow } from '../protocol/verification.ts';
import type { RewardRunner } from './rewardRunner.ts';

/** Values of other rewards by name, for each row that they scored. */
export type OtherValues = ReadonlyMap<RowToVerify, Readonly<Record<string, number | null>>>;

export interface VerifyRequest {
	readonly file: string;
	/** Name of the reward in the runner's source. */
	readonly reward: string;
	readonly rows: readonly RowToVerify[];
	/** Descriptions of where the rows came from and what could not be used. */
	readonly data?: readonly string[];
	readonly remarks?: readonly string[];
	/** Values returned by `scoreOthers`. Awaited after the rows are scored. */
	readonly others?: OtherValues | Promise<OtherValues>;
	/** Name of the reward in recorded runs. Default: its own name. */
	readonly recordedAs?: string;
	readonly coverage?: boolean;
	/** Timeout per batch. Default: the runner's limit. */
	readonly timeoutMs?: number;
	readonly signal?: AbortSignal;
	readonly onProgress?: (done: number, total: number) => void;
}

/** Groups row positions by batch. */
export function batchesOf(rows: readonly RowToVerify[]): number[][] {
	const batches = new Map<number, number[]>();
	for (const [i, { batch }] of rows.entries()) {
		const members = batches.get(batch);
		if (members === undefined) batches.set(batch, [i]);
		else members.push(i);
	}
	return [...batches.values()];
}

/** The runner's results for the rows, in order. */
interface ScoredRows {
	readonly values: (number | null)[];
	readonly errors: (ScoreError | undefined)[];
	readonly faults: ScoreError[];
	readonly logs: string[];
	readonly coverage: LineCoverage | null;
	readonly durationMs: number;
}

/** Maximum number of output lines in a verification. */
const maxLogs = 1_000;

/** Number of consecutive batches that can time out on all rows before the remaining batches are skipped. */
const patience = 3;
const notTried = `Skipped because ${patience} earlier batches exceeded their time limit.`;

/** Scores rows batch by batch, through the same runner interface as in training. */
async function scoreRows(
	runner: RewardRunner,
	reward: string,
	rows: readonly RowToVerify[],
	options: Pick<VerifyRequest, 'coverage' | 'timeoutMs' | 'signal' | 'onProgress'>,
): Promise<ScoredRows> {
	const { coverage: wantsCoverage, timeoutMs, signal, onProgress } = options;
	const values: (number | null)[] = rows.map(() => null);
	const errors: (ScoreError | undefined)[] = rows.map(() => undefined);
	const faults: ScoreError[] = [];
	const logs: string[] = [];
	const lines = new Set<number>();
	const reached = new Set<number>();
	let covered = false;
	let durationMs = 0;
	let done = 0;
	let hanging = 0;
	for (const members of batchesOf(rows)) {
		checkAborted(signal);
		if (hanging >= patience) {
			for (const i of members) errors[i] = { index: 0, kind: 'timeout', message: notTried };
			continue;
		}
		const result = await runner.score(
			reward,
			members.map((i) => (rows[i] as RowToVerify).row),
			{
				...(timeoutMs === undefined ? {} : { timeoutMs }),
				...(signal === undefined ? {} : { signal }),
				...(wantsCoverage ? { coverage: true } : {}),
			},
		);
		for (const [at, i] of members.entries()) values[i] = result.values[at] ?? null;
		for (const error of result.errors) {
			const i = members[error.index];
			if (i !== undefined) errors[i] ??= error;
			else {
				// An error that affects the whole batch invalidates the value of every row.
				faults.push(error);
				for (const member of members) errors[member] ??= error;
			}
		}
		hanging = members.every((i) => errors[i]?.kind === 'timeout') ? hanging + 1 : 0;
		if (logs.length < maxLogs) logs.push(...result.logs.slice(0, maxLogs - logs.length));
		if (result.coverage) {
			covered = true;
			for (const line of result.coverage.lines) lines.add(line);
			for (const line of result.coverage.reached) reached.add(line);
		}
		durationMs += result.durationMs;
		done += members.length;
		onProgress?.(done, rows.length);
	}
	const ascending = (set: ReadonlySet<number>) => [...set].sort((a, b) => a - b);
	const coverage = covered ? { lines: ascending(lines), reached: ascending(reached) } : null;
	return { values, errors, faults, logs, coverage, durationMs };
}

/** Another reward in the recipe, for computing correlations. */
export interface OtherReward {
	/** Column name. */
	readonly name: string;
	readonly runner: RewardRunner;
	/** Name in the runner's source. */
	readonly reward: string;
}

/**
 * Returns the values of other rewards on the rows, with null for those that fail. Rejects only with `cancelled`. If a
 * reward cannot be loaded, `remarks` reports it.
 */
export async function scoreOthers(
	others: readonly OtherReward[],
	rows: readonly RowToVerify[],
	options: { readonly signal?: AbortSignal; readonly timeoutMs?: number } = {},
): Promise<{ values: OtherValues; remarks: string[] }> {
	const remarks: string[] = [];
	const values = new Map(rows.map((row) => [row, {} as Record<string, number | null>]));
	await Promise.all(
		others.map(async ({ name, runner, reward }) => {
			try {
				const scored = await scoreRows(runner, reward, rows, options);
				const failed = scored.errors.find((error) => error !== undefined);
				if (failed) remarks.push(`The recipe's reward "${name}" fails on some rows: ${failed.message}`);
				for (const [i, row] of rows.entries()) {
					(values.get(row) as Record<string, number | null>)[name] = scored.values[i] ?? null;
				}
			} catch (error) {
				if (options.signal?.aborted) throw error;
				remarks.push(`The recipe's reward "${name}" could not be compared: ${(error as Error).message}`);
			}
		}),
	);
	return { values, remarks: remarks.sort() };
}

/**
 * Runs a reward on rows and reports the results. Reward errors are part of the result. Rejects only with `cancelled`,
 * or if the file cannot be loaded or run (see `RewardRunner.score`).
 */
export async function verifyReward(runner: RewardRunner, request: VerifyRequest): Promise<Verification> {
	const { file, reward, rows, data = [], remarks = [], recordedAs = reward } = request;
	const scored = await scoreRows(runner, reward, rows, request);
	const others = await request.others;
	const verified: VerifiedRow[] = rows.map((row, i) => {
		const error = scored.errors[i];
		return verifiedRow(row, {
			reward: recordedAs,
			value: scored.values[i] ?? null,
			...(error ? { error } : {}),
			others: without(others?.get(row) ?? {}, recordedAs),
		});
	});
	return {
		format: 1,
		file,
		reward,
		data: [...data],
		remarks: [...remarks],
		rows: verified,
		statistics: verificationStatistics(verified),
		faults: scored.faults.map(rowError),
		coverage: scored.coverage,
		logs: scored.logs,
		durationMs: scored.durationMs,
	};
}

function without(values: Readonly<Record<string, number | null>>, name: string): Record<string, number | null> {
	const { [name]: _, ...others } = values;
	return others;
}

/** Returns whether verification succeeded: no failed cases, no row errors and no batch errors. */
export function isSound({ statistics, faults }: Verification): boolean {
	return statistics.cases.failed === 0 && statistics.errors === 0 && faults.length === 0;
}
