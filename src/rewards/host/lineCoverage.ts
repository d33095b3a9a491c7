import { Session } from 'node:inspector';
import { pathToFileURL } from 'node:url';
import type { LineCoverage } from '../../protocol/rewardHost.ts';
import { RewardFileSource } from './rewardSource.ts';

interface Range {
	readonly startOffset: number;
	readonly endOffset: number;
	readonly count: number;
}

/** Measures which lines of a file run, using V8's block counters. Only code compiled after `start` has counters. */
export class CoverageMeter {
	readonly #session = new Session();
	/** Parsed files. A process loads each file only once, so it is parsed only once. */
	readonly #places = new Map<string, ReturnType<RewardFileSource['places']>>();

	start(): void {
		this.#session.connect();
		this.#post('Profiler.enable');
		this.#post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
	}

	/** Resets the counters. */
	reset(): void {
		this.#post('Profiler.takePreciseCoverage');
	}

	/** Returns the lines that have run since `reset`. The result is empty if V8 has no data for the file. */
	take(file: string): LineCoverage {
		const url = pathToFileURL(file).href;
		const taken = this.#post('Profiler.takePreciseCoverage') as {
			result: { url: string; functions: { ranges: Range[] }[] }[];
		};
		const script = taken.result.find((one) => one.url === url || one.url === file);
		// Functions that have not run since the reset are not listed. Their lines are covered only by the module's range.
		const ranges = script?.functions.flatMap((one) => one.ranges) ?? [];
		const lines = new Set<number>();
		const reached = new Set<number>();
		const places = this.#places.get(file) ?? new RewardFileSource(file).places();
		this.#places.set(file, places);
		for (const { line, offset, depth } of places) {
			// Code outside functions ran when the file was loaded, not when rows were scored.
			if (depth === 0) continue;
			lines.add(line);
			if (countAt(ranges, offset) > 0) reached.add(line);
		}
		return { lines: [...lines].sort(ascending), reached: [...reached].sort(ascending) };
	}

	#post(method: string, params: object = {}): unknown {
		let outcome: unknown;
		// The callback runs before `post` returns, because the session is in the same thread.
		this.#session.post(method, params, (error, result) => {
			if (error) throw error;
			outcome = result;
		});
		return outcome;
	}
}

const ascending = (a: number, b: number) => a - b;

/** Returns the count for the smallest range that contains an offset. */
function countAt(ranges: readonly Range[], offset: number): number {
	let best: Range | null = null;
	for (const range of ranges) {
		if (offset < range.startOffset || offset >= range.endOffset) continue;
		if (best === null || range.endOffset - range.startOffset <= best.endOffset - best.startOffset) best = range;
	}
	return best?.count ?? 0;
}
