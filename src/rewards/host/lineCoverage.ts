import { Session } from 'node:inspector';
import { pathToFileURL } from 'node:url';
import type { LineCoverage } from '../../protocol/rewardHost.ts';
import { RewardFileSource } from './rewardSource.ts';

interface Range {
	readonly startOffset: number;
	readonly endOffset: number;
	readonly count: number;
}

/** Which lines of one file run, from V8's own counters of blocks. They are there only for code compiled after `start`. */
export class CoverageMeter {
	readonly #session = new Session();
	/** A process loads its file once, so it is taken apart once. */
	readonly #places = new Map<string, ReturnType<RewardFileSource['places']>>();

	start(): void {
		this.#session.connect();
		this.#post('Profiler.enable');
		this.#post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
	}

	/** Counting starts over. */
	reset(): void {
		this.#post('Profiler.takePreciseCoverage');
	}

	/** What has run since `reset`. Empty where V8 knows nothing of the file. */
	take(file: string): LineCoverage {
		const url = pathToFileURL(file).href;
		const taken = this.#post('Profiler.takePreciseCoverage') as {
			result: { url: string; functions: { ranges: Range[] }[] }[];
		};
		const script = taken.result.find((one) => one.url === url || one.url === file);
		// A function that did not run since the reset is not listed: its lines are those of no range but the module's.
		const ranges = script?.functions.flatMap((one) => one.ranges) ?? [];
		const lines = new Set<number>();
		const reached = new Set<number>();
		const places = this.#places.get(file) ?? new RewardFileSource(file).places();
		this.#places.set(file, places);
		for (const { line, offset, depth } of places) {
			// What stands outside functions ran when the file was loaded, not for the rows.
			if (depth === 0) continue;
			lines.add(line);
			if (countAt(ranges, offset) > 0) reached.add(line);
		}
		return { lines: [...lines].sort(ascending), reached: [...reached].sort(ascending) };
	}

	#post(method: string, params: object = {}): unknown {
		let outcome: unknown;
		// The callback of a session in its own thread runs before `post` returns.
		this.#session.post(method, params, (error, result) => {
			if (error) throw error;
			outcome = result;
		});
		return outcome;
	}
}

const ascending = (a: number, b: number) => a - b;

/** The count of the smallest range around an offset. */
function countAt(ranges: readonly Range[], offset: number): number {
	let best: Range | null = null;
	for (const range of ranges) {
		if (offset < range.startOffset || offset >= range.endOffset) continue;
		if (best === null || range.endOffset - range.startOffset <= best.endOffset - best.startOffset) best = range;
	}
	return best?.count ?? 0;
}
