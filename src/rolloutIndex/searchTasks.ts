import { readSync } from 'node:fs';
import { type AbortSignalLike, checkAborted } from '../base/async.ts';
import { turnsOf } from '../core/trace/messageText.ts';
import { longestLine } from '../files/jsonLines.ts';
import { openRegular } from '../files/safeFile.ts';
import type { RolloutLine } from '../protocol/rolloutLine.ts';
import { type FoundHit, type IndexTask, type Pattern, type SearchResult, watchMs, watchPlace } from './indexTasks.ts';
import { LiteralFinder } from './literalFinder.ts';
import { linesOf, rolloutOfLine } from './ownLines.ts';
import { canContain } from './rawTexts.ts';
import { contentOf } from './scanTasks.ts';
import { giveBuffer, scratchBytes, takeBuffer } from './scratchBuffer.ts';

const maxOccurrences = 1000;
const around = 80;
const longestMatch = 400;
const hitsPerMessage = 200;
const newline = 0x0a;

/** Reports to the watching thread which rollout is being matched, and since when. */
export type Watch = Float64Array;

/**
 * Returns the searchable strings of a completion separately: for messages, their content, thinking and calls. No string
 * is assembled from parts, so every hit occurs verbatim in the record.
 */
function textsOf(completion: RolloutLine['completion']): string[] {
	if (typeof completion === 'string') return [completion];
	return turnsOf(completion).flatMap(({ thinking, content, calls }) => [
		...(thinking === null ? [] : [thinking]),
		content,
		...calls.flatMap((call) => [call.name, call.arguments]),
	]);
}

/** Returns the hit in a completion, or null if there is none. */
function hitIn(rollout: RolloutLine, expression: RegExp, place: number, watch: Watch): FoundHit | null {
	watch[watchPlace] = place;
	watch[watchMs] = Date.now();
	let count = 0;
	let hit: Pick<FoundHit, 'before' | 'match' | 'after'> | null = null;
	for (const text of textsOf(rollout.completion)) {
		expression.lastIndex = 0;
		for (let found = expression.exec(text); found !== null; found = expression.exec(text)) {
			hit ??= hitAt(text, found.index, found[0]);
			if (++count >= maxOccurrences) break;
			if (found[0] === '') expression.lastIndex++;
		}
		if (count >= maxOccurrences) break;
	}
	watch[watchMs] = 0;
	return hit === null ? null : { group: rollout.group, index: rollout.index, count, ...hit, place };
}

function hitAt(text: string, start: number, match: string): Pick<FoundHit, 'before' | 'match' | 'after'> {
	const end = start + match.length;
	return {
		before: text.slice(Math.max(0, start - around), start).toWellFormed(),
		match: match.slice(0, longestMatch).toWellFormed(),
		after: text.slice(end, end + around).toWellFormed(),
	};
}

/** Sends hits in batches. */
class Hits {
	readonly #give: (hits: FoundHit[], place: number) => Promise<void>;
	readonly #limit: number;
	#waiting: FoundHit[] = [];
	#found = 0;

	constructor(limit: number, give: (hits: FoundHit[], place: number) => Promise<void>) {
		this.#limit = limit;
		this.#give = give;
	}

	get full(): boolean {
		return this.#found >= this.#limit;
	}

	async add(hit: FoundHit): Promise<void> {
		this.#waiting.push(hit);
		this.#found++;
		if (this.#waiting.length >= hitsPerMessage) await this.flush(hit.place);
	}

	async flush(place: number): Promise<void> {
		if (this.#waiting.length === 0) return;
		const hits = this.#waiting;
		this.#waiting = [];
		await this.#give(hits, place);
	}
}

type Give = (hits: FoundHit[], place: number) => Promise<void>;

/** Searches a chunk of one of our own rollout files. */
export async function searchLines(
	{ range, pattern, limit, only, after, skip }: Extract<IndexTask, { kind: 'searchLines' }>,
	give: Give,
	signal: AbortSignalLike,
	watch: Watch,
): Promise<SearchResult> {
	const expression = new RegExp(pattern.source, pattern.flags);
	const hits = new Hits(limit, give);
	const handle = await openRegular(range.folder, range.file);
	let unread = 0;
	let last = range.from;
	let at = 0;
	try {
		const size = Math.min(range.size, (await handle.stat()).size);
		const lines =
			pattern.literals === null
				? linesOf(handle.fd, range.from, range.to, size)
				: candidates(handle.fd, range, size, pattern.literals);
		for (const line of lines) {
			last = line.offset;
			if (line.offset <= after || skip.includes(line.offset)) continue;
			if (only !== null) {
				while (at < only.length && (only[at] as number) < line.offset) at++;
				if (only[at] !== line.offset) continue;
			}
			const rollout = line.tooLong ? 'is too long' : rolloutOfLine(line.bytes as Buffer);
			if (typeof rollout === 'string') unread++;
			else if (rollout !== null) {
				const hit = hitIn(rollout, expression, line.offset, watch);
				if (hit !== null) await hits.add(hit);
			}
			checkAborted(signal);
			if (hits.full) break;
		}
		await hits.flush(last);
		return { limited: hits.full, unread };
	} finally {
		await handle.close();
	}
}

interface Candidate {
	readonly bytes: Buffer;
	readonly offset: number;
	readonly tooLong: boolean;
}

/**
 * Yields the lines that begin in [from, to) and contain one of the literals. It scans raw bytes in windows of whole
 * lines and decodes only the lines that contain a literal.
 */
function* candidates(
	fd: number,
	{ from, to }: { readonly from: number; readonly to: number },
	size: number,
	literals: NonNullable<Pattern['literals']>,
): Generator<Candidate> {
	const scratch = takeBuffer(scratchBytes);
	try {
		yield* inWindows(fd, { from, to }, size, new LiteralFinder(literals), scratch);
	} finally {
		giveBuffer(scratch);
	}
}

/** @param scratch buffer to read into; a longer line gets a larger one */
function* inWindows(
	fd: number,
	{ from, to }: { readonly from: number; readonly to: number },
	size: number,
	finder: LiteralFinder,
	scratch: Buffer,
): Generator<Candidate> {
	let window = scratch;
	let position = from === 0 ? 0 : lineBreak(fd, from - 1, size) + 1;
	const stop = to >= size ? size : Math.min(size, lineBreak(fd, to - 1, size) + 1);
	while (position < stop) {
		const filled = readSync(fd, window, 0, Math.min(window.length, stop - position), position);
		if (filled === 0) return;
		let region = filled;
		if (position + filled < stop) {
			region = window.lastIndexOf(newline, filled - 1) + 1;
			if (region === 0 && filled < window.length) region = filled;
			else if (region === 0 && window.length <= longestLine) {
				window = Buffer.allocUnsafe(window.length * 2);
				continue;
			} else if (region === 0) {
				yield { bytes: window.subarray(0, 0), offset: position, tooLong: true };
				position = lineBreak(fd, position + filled, size) + 1;
				continue;
			}
		}
		finder.begin(window.subarray(0, region));
		for (let found = finder.next(0); found !== -1; ) {
			const start = found === 0 ? 0 : window.lastIndexOf(newline, found - 1) + 1;
			const feed = window.subarray(0, region).indexOf(newline, found);
			const end = feed === -1 ? region : feed;
			yield { bytes: window.subarray(start, end), offset: position + start, tooLong: false };
			found = end >= region ? -1 : finder.next(end);
		}
		position += region;
		// A larger window is needed only for long lines, and is copied to be searched.
		window = scratch;
	}
}

/** Returns the offset of the line break at or after a position, or the file size if there is none. */
function lineBreak(fd: number, position: number, size: number): number {
	const buffer = Buffer.allocUnsafe(64 << 10);
	for (let start = position; start < size; ) {
		const read = readSync(fd, buffer, 0, Math.min(buffer.length, size - start), start);
		if (read === 0) return size;
		const found = buffer.subarray(0, read).indexOf(newline);
		if (found !== -1) return start + found;
		start += read;
	}
	return size;
}

/** Searches a step in any format. */
export async function searchStep(
	{ step, pattern, limit, only, after, skip }: Extract<IndexTask, { kind: 'searchStep' }>,
	give: Give,
	signal: AbortSignalLike,
	watch: Watch,
): Promise<SearchResult> {
	const expression = new RegExp(pattern.source, pattern.flags);
	const hits = new Hits(limit, give);
	const rollouts = await (await contentOf(step)).open(step.step, step.split);
	let unread = 0;
	let number = 0;
	try {
		const { textFiles = null } = rollouts;
		const literals = textFiles?.calls === true ? pattern.messageLiterals : pattern.literals;
		if (textFiles !== null && literals !== null) {
			if (!(await canContain(step.folder, textFiles.paths, literals, signal))) return { limited: false, unread };
		}
		for await (const placed of rollouts.rollouts(signal)) {
			number++;
			if (placed.fault !== null) {
				unread += placed.fault.records;
				continue;
			}
			if (number <= after || skip.includes(number)) continue;
			const { group, index } = placed.place;
			if (only !== null && !only.has(`${group} ${index}`)) continue;
			const hit = hitIn({ ...placed.rollout, group, index }, expression, number, watch);
			if (hit !== null) await hits.add(hit);
			if (hits.full) break;
		}
		await hits.flush(number);
		return { limited: hits.full, unread };
	} finally {
		await rollouts.close();
	}
}
