import type { AbortSignalLike } from '../base/async.ts';
import { checkAborted } from '../base/async.ts';
import { TextScanner } from '../core/trace/textScanner.ts';
import { TraceCounter } from '../core/trace/traceCounter.ts';
import { openRegular } from '../files/safeFile.ts';
import { openRun } from '../runs/openRun.ts';
import type { RunContent } from '../runs/runContent.ts';
import type { LineRange, ScanResult, StepOfRun } from './indexTasks.ts';
import { linesOf, rolloutOfLine } from './ownLines.ts';
import { type RowBatch, RowBatchBuilder } from './rolloutRow.ts';

let counter: TraceCounter | null = null;
function sharedCounter(): TraceCounter {
	counter ??= new TraceCounter(
		TextScanner.create((text, units) => Buffer.from(units.buffer, units.byteOffset).write(text, 'utf16le')),
	);
	return counter;
}

/** Extracts the rollout scalars from a chunk of one of our own rollout files. */
export async function scanLines(
	{ folder, file, from, to, size }: LineRange,
	give: (batch: RowBatch) => Promise<void>,
	signal: AbortSignalLike,
): Promise<ScanResult> {
	const handle = await openRegular(folder, file);
	try {
		let builder = new RowBatchBuilder(sharedCounter());
		const seen = new Map<number, Set<number>>();
		let end = from;
		let skipped = 0;
		let torn = false;
		let fault: string | null = null;
		for (const line of linesOf(handle.fd, from, to, size)) {
			const rollout = line.tooLong ? 'is too long' : rolloutOfLine(line.bytes);
			if (typeof rollout === 'string') {
				fault ??= `${file} at byte ${line.offset}: ${rollout}`;
				// The file is still being written, so its last line is read again once it is complete.
				if (!line.whole) {
					torn = true;
					break;
				}
				skipped++;
			} else if (rollout !== null) {
				const { group, index } = rollout;
				const indices = seen.get(group) ?? new Set<number>();
				if (indices.has(index)) {
					skipped++;
					fault ??= `${file} at byte ${line.offset}: repeats rollout ${index} of group ${group}`;
				} else {
					seen.set(group, indices.add(index));
					builder.add(rollout, { file, offset: line.offset, length: line.length, item: 0, group, index });
				}
			}
			end = line.offset + line.length + (line.whole ? 1 : 0);
			if (builder.full) {
				await give(builder.finish());
				checkAborted(signal);
				builder = new RowBatchBuilder(sharedCounter());
			}
		}
		if (builder.rows > 0) await give(builder.finish());
		return { end, skipped, torn, fault, identity: '' };
	} finally {
		await handle.close();
	}
}

/** The most recently read run, whose file listing is reused for the next step. */
let opened: { readonly key: string; readonly content: Promise<RunContent>; readonly at: number } | null = null;
const freshMs = 2000;

export function contentOf({ folder, format }: StepOfRun): Promise<RunContent> {
	const key = `${format}\n${folder}`;
	if (opened === null || opened.key !== key || Date.now() - opened.at > freshMs) {
		opened = { key, content: openRun(folder, format === 'reasoning-lab' ? {} : { format }), at: Date.now() };
	}
	return opened.content;
}

/** Extracts the rollout scalars from a step in any format. */
export async function scanStep(
	step: StepOfRun,
	give: (batch: RowBatch) => Promise<void>,
	signal: AbortSignalLike,
): Promise<ScanResult> {
	const content = await contentOf(step);
	const rollouts = await content.open(step.step, step.split);
	try {
		let builder = new RowBatchBuilder(sharedCounter());
		let skipped = 0;
		let fault: string | null = null;
		for await (const placed of rollouts.rollouts(signal)) {
			if (placed.fault !== null) {
				const { file, line, message, records } = placed.fault;
				skipped += records;
				fault ??= `${file}${line === null ? '' : `, line ${line}`}: ${message}`;
				continue;
			}
			builder.add(placed.rollout, placed.place);
			if (builder.full) {
				await give(builder.finish());
				builder = new RowBatchBuilder(sharedCounter());
			}
		}
		if (builder.rows > 0) await give(builder.finish());
		return { end: 0, skipped, torn: false, fault, identity: rollouts.identity };
	} finally {
		await rollouts.close();
	}
}
