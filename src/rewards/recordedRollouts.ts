import { basename } from 'node:path';
import { checkAborted } from '../base/async.ts';
import { Failure } from '../base/failure.ts';
import { formatCounted } from '../base/format.ts';
import { decodeResolvedRecipe } from '../core/recipe/resolve.ts';
import type { ResolvedRecipe } from '../core/recipe/resolvedRecipe.ts';
import { type RowNumbers, rolloutRows } from '../core/reward/verification/rowsToVerify.ts';
import type { RowToVerify } from '../core/reward/verification/rowToVerify.ts';
import { LineSplitter, parseLine } from '../files/jsonLines.ts';
import { openRegular } from '../files/safeFile.ts';
import { decode } from '../protocol/decode.ts';
import { type RolloutLine, rolloutLineSchema } from '../protocol/rolloutLine.ts';
import { openRun } from '../runs/openRun.ts';
import type { RunContent } from '../runs/runContent.ts';
import { rolloutPath, runFiles, stepName } from '../runs/runFiles.ts';
import { findRuns, isRunFolder } from '../runs/runFolders.ts';
import { listRolloutSteps, readRecord, readResolvedRecipe } from '../runs/runReader.ts';
import { RunRegistry } from '../runs/runRegistry.ts';

export interface RecordedRollouts {
	readonly run: string;
	/** Steps in ascending order. */
	readonly steps: readonly number[];
	/** Rows in file order, one generation batch after another. */
	readonly rows: readonly RowToVerify[];
	/** The original lines, in the same order as the rows. */
	readonly lines: readonly RolloutLine[];
	/** The run's recipe, or null if it cannot be read. */
	readonly recipe: ResolvedRecipe | null;
	readonly remarks: readonly string[];
}

export interface RolloutLimits {
	/** Maximum size of a step's file, in bytes. Tokens and their log-probabilities take up most of the file. */
	readonly fileBytes: number;
	readonly lineBytes: number;
	/** Maximum number of rows in a generation batch. */
	readonly batchRows: number;
}

export const rolloutLimits: RolloutLimits = { fileBytes: 256 << 20, lineBytes: 4 << 20, batchRows: 4_096 };

export interface RolloutOptions {
	/**
	 * Maximum number of rows in total. Steps are added newest first until the next one would exceed the limit. The newest
	 * step is always included.
	 */
	readonly rows: number;
	/** Maximum number of steps with rollouts. */
	readonly newest?: number;
	readonly numbers: RowNumbers;
	/** Restricts the result to these steps. */
	readonly steps?: readonly number[];
	readonly signal?: AbortSignal;
	readonly limits?: RolloutLimits;
}

interface PlacedLine {
	readonly line: RolloutLine;
	/** File and line of the rollout. Only set for our own runs, whose files can be opened at a line. */
	readonly place?: { readonly file: string; readonly line: number };
}

interface StepRead {
	readonly lines: PlacedLine[];
	readonly remarks: string[];
}

/** Number of bytes to read and parse at a time, to avoid blocking other work. */
const portion = 64 << 10;

/** Skips tokens, which make up most of a line and are not needed here. */
function withoutTokens(value: unknown): unknown {
	if (typeof value !== 'object' || value === null) return value;
	const { tokens: _, ...line } = value as Record<string, unknown>;
	return line;
}

/**
 * Reads a generation batch. If the batch has too many rows, reads only some of its groups, but never a partial group.
 */
async function readStep(
	run: string,
	step: number,
	limits: RolloutLimits,
	signal: AbortSignal | undefined,
): Promise<StepRead> {
	const file = rolloutPath(run, step);
	const handle = await openRegular(run, `${runFiles.rollouts}/${stepName(step)}.jsonl`);
	const lines: PlacedLine[] = [];
	let left = 0;
	let cut = false;
	try {
		const splitter = new LineSplitter(limits.lineBytes);
		const size = Math.min((await handle.stat()).size, limits.fileBytes);
		let number = 0;
		for (let position = 0; position < size && !cut; ) {
			checkAborted(signal);
			const buffer = Buffer.allocUnsafe(Math.min(portion, size - position));
			const { bytesRead } = await handle.read(buffer, 0, buffer.length, position);
			if (bytesRead === 0) break;
			position += bytesRead;
			const before = splitter.dropped;
			for (const bytes of splitter.push(buffer.subarray(0, bytesRead))) {
				number++;
				const decoded = decode(rolloutLineSchema, withoutTokens(parseLine(bytes)));
				if (decoded.ok) lines.push({ line: decoded.value, place: { file, line: number } });
				else if (bytes.length > 0) left++;
				cut = lines.length > limits.batchRows;
				if (cut) break;
			}
			// The exact positions of the dropped lines are unknown, but all later lines come after them.
			number += splitter.dropped - before;
			left += splitter.dropped - before;
		}
		if (size < (await handle.stat()).size) cut = true;
	} finally {
		await handle.close();
	}
	const remarks: string[] = [];
	if (left > 0) remarks.push(`Step ${step}: skipped ${formatCounted(left, 'line')} (too long, or not a rollout).`);
	return cut ? withoutTornGroup(step, lines, remarks) : { lines, remarks };
}

function withoutTornGroup(step: number, lines: PlacedLine[], remarks: string[]): StepRead {
	const last = lines.at(-1)?.line.group;
	const whole = lines.filter(({ line }) => line.group !== last);
	const used = whole.length > 0 ? whole : lines;
	const remark = `Step ${step} has more rollouts than the limit. Only the first ${used.length} are used.`;
	return { lines: used, remarks: [...remarks, remark] };
}

/** Same as {@link readStep}, for a run from another trainer. */
async function readForeignStep(
	run: RunContent,
	step: number,
	limits: RolloutLimits,
	signal: AbortSignal | undefined,
): Promise<StepRead> {
	const opened = await run.open(step);
	const lines: PlacedLine[] = [];
	let left = 0;
	try {
		for await (const { rollout, fault } of opened.rollouts(signal)) {
			if (fault !== null) left += fault.records;
			else lines.push({ line: withoutTokens(rollout) as RolloutLine });
			if (lines.length > limits.batchRows) break;
		}
	} finally {
		await opened.close();
	}
	const remarks = left === 0 ? [] : [`Step ${step}: skipped ${formatCounted(left, 'record')} (not a rollout).`];
	return lines.length > limits.batchRows ? withoutTornGroup(step, lines, remarks) : { lines, remarks };
}

/**
 * Reads the most recent generation batches of a run from any trainer, as they were scored. Run folders are untrusted:
 * reads only regular files of limited size, and skips lines that are not rollouts. Fails with `missing` if the run has
 * no rollouts.
 */
export async function readRecordedRollouts(run: string, options: RolloutOptions): Promise<RecordedRollouts> {
	const { rows: max, numbers, signal, limits = rolloutLimits } = options;
	const foreign = (await isRunFolder(run)) ? null : await openRun(run).catch(() => null);
	const recorded = await (foreign?.steps() ?? listRolloutSteps(run));
	const asked = options.steps === undefined ? recorded : recorded.filter((step) => options.steps?.includes(step));
	const steps: { step: number; lines: PlacedLine[] }[] = [];
	const remarks: string[] = [];
	let total = 0;
	for (const step of asked.toReversed()) {
		if (options.steps === undefined && total >= max) break;
		if (steps.length >= (options.newest ?? Number.POSITIVE_INFINITY)) break;
		const read = await (foreign === null
			? readStep(run, step, limits, signal)
			: readForeignStep(foreign, step, limits, signal));
		if (steps.length > 0 && options.steps === undefined && total + read.lines.length > max) break;
		remarks.push(...read.remarks);
		if (read.lines.length === 0) continue;
		steps.push({ step, lines: read.lines });
		total += read.lines.length;
	}
	if (steps.length === 0) {
		throw new Failure(
			'missing',
			`Run ${run} has no rollouts${asked.length > 0 ? ' that can be read' : ''}.`,
			'Choose a run that has a GRPO stage.',
		);
	}
	steps.reverse();
	const recipe = await readResolvedRecipe(run)
		.then((value) => decodeResolvedRecipe(value))
		.catch(() => null);
	return {
		run,
		steps: steps.map(({ step }) => step),
		rows: steps.flatMap(({ lines }) => rolloutRows(lines, numbers)),
		lines: steps.flatMap(({ lines }) => lines.map(({ line }) => line)),
		recipe,
		remarks,
	};
}

/** Describes rollouts, such as "run addition-20261120-101010-ab12, step 40". */
export function describeRollouts({ run, steps }: Pick<RecordedRollouts, 'run' | 'steps'>): string {
	const [first, last] = [steps[0], steps.at(-1)];
	return `run ${basename(run)}, ${steps.length === 1 ? `step ${last}` : `steps ${first} to ${last}`}`;
}

/**
 * Returns the default run to use for a reward file's rollouts, searching the given folders and the user's registry.
 * Prefers the newest run with rollouts whose recipe uses a reward file with that name. Otherwise, returns the newest
 * run with rollouts, or null if there is none.
 */
export async function latestRun(
	file: string,
	folders: readonly string[],
	registry = new RunRegistry(),
): Promise<string | null> {
	const near = await findRuns(folders);
	const registered = await registry.list();
	const candidates: { run: string; created: number; used: boolean; near: boolean }[] = [];
	for (const run of new Set([...near, ...registered])) {
		const record = await readRecord(run).catch(() => null);
		if (record === null || (await listRolloutSteps(run).catch(() => [])).length === 0) continue;
		const recipe = await readResolvedRecipe(run)
			.then((value) => decodeResolvedRecipe(value))
			.catch(() => null);
		const used =
			recipe?.rewards.some((reward) => 'file' in reward && basename(reward.file) === basename(file)) ?? false;
		candidates.push({ run, created: record.created, used, near: near.includes(run) });
	}
	const order = (a: (typeof candidates)[number], b: (typeof candidates)[number]) =>
		Number(b.used) - Number(a.used) || Number(b.near) - Number(a.near) || b.created - a.created;
	// Exclude runs in other locations that never used this file.
	return candidates.filter(({ used, near }) => used || near).sort(order)[0]?.run ?? null;
}
