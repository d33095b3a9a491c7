import { Failure } from '../base/failure.ts';
import { formatCounted } from '../base/format.ts';
import type { TextHit, TextQuery } from '../protocol/rolloutIndex.ts';
import type { RolloutSplit } from '../runs/runContent.ts';
import type { FoundHit, IndexTask, Pattern } from './indexTasks.ts';
import { literalBytes, requiredTexts } from './requiredLiterals.ts';
import { SlowMatch, type TaskListener, type ThreadPool } from './threadPool.ts';

/** A part of a run to search. */
export interface SearchedPart {
	/** Run name used by the caller. */
	readonly run: string;
	readonly folder: string;
	readonly format: string;
	readonly split: RolloutSplit;
	readonly step: number;
	/** Whether the trainer records no steps. */
	readonly stepless: boolean;
	/** File of one of our own runs; null if the part is read through its format. */
	readonly file: string | null;
	readonly bytes: number;
	/** The rollouts to search; null for all. */
	readonly only: readonly { readonly offset: number; readonly group: number; readonly index: number }[] | null;
}

export interface SearchListener {
	/** Receives hits in part order, the number of bytes searched, and the total; both are 0 if a size is unknown. */
	hits(hits: readonly TextHit[], bytes: number, total: number): void;
}

export interface SearchOutcome {
	readonly hits: number;
	/** Whether everything was searched. */
	readonly complete: boolean;
	/** Number of bytes searched; 0 if the size of a part is unknown. */
	readonly bytes: number;
	readonly limits: readonly string[];
}

const pieceBytes = 32 << 20;
/** Time limit for matching one completion. */
const matchMs = 1000;
const maxSlow = 20;

/** Fails with `invalid` if the expression is invalid. */
export function patternOf({ pattern, regex, caseSensitive }: TextQuery): Pattern {
	const source = regex ? pattern : pattern.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
	const flags = `gsu${caseSensitive ? '' : 'i'}`;
	try {
		new RegExp(source, flags);
	} catch (error) {
		throw new Failure(
			'invalid',
			`${(error as Error).message}.`,
			'Use a JavaScript regular expression (flags u and s).',
		);
	}
	const texts = regex ? requiredTexts(source) : [pattern];
	return {
		source,
		flags,
		literals: literalBytes(texts, caseSensitive),
		messageLiterals: literalBytes(texts, caseSensitive, 'messages'),
	};
}

interface Piece {
	readonly part: SearchedPart;
	readonly task: Extract<IndexTask, { kind: 'searchLines' | 'searchStep' }>;
	readonly bytes: number;
}

function* piecesOf(parts: readonly SearchedPart[], pattern: Pattern, limit: number): Generator<Piece> {
	for (const part of parts) {
		const { folder, file, bytes, only } = part;
		if (file === null) {
			const { format, split, step } = part;
			const keys = only === null ? null : new Set(only.map(({ group, index }) => `${group} ${index}`));
			const task = {
				kind: 'searchStep',
				step: { folder, format, split, step },
				pattern,
				limit,
				only: keys,
				after: 0,
				skip: [],
			} as const;
			yield { part, task, bytes };
			continue;
		}
		const offsets = only === null ? null : Float64Array.from(only, ({ offset }) => offset).sort();
		for (let from = 0; from < bytes; from += pieceBytes) {
			const to = Math.min(bytes, from + pieceBytes);
			const range = { folder, file, from, to, size: bytes };
			yield {
				part,
				task: { kind: 'searchLines', range, pattern, limit, only: offsets, after: -1, skip: [] },
				bytes: to - from,
			};
		}
	}
}

/** Searches text in several threads; hits are reported in part order as they are found. */
export async function searchTexts(
	threads: ThreadPool,
	parts: readonly SearchedPart[],
	query: TextQuery,
	limit: number,
	listener: SearchListener,
	signal?: AbortSignal,
): Promise<SearchOutcome> {
	const pattern = patternOf(query);
	// A total without the parts of unknown size would be reached while they are still being searched.
	const known = parts.every(({ file, bytes }) => file !== null || bytes > 0);
	const total = known ? parts.reduce((sum, { bytes }) => sum + bytes, 0) : 0;
	const stop = new AbortController();
	const abort = () => stop.abort();
	signal?.addEventListener('abort', abort, { once: true });
	const pieces = [...piecesOf(parts, pattern, limit)];
	const found = pieces.map(() => ({ hits: [] as TextHit[], done: false }));
	let reportedAt = 0;
	let first = 0;
	let bytes = 0;
	let slow = 0;
	let unread = 0;
	let gone = 0;
	let limited = false;
	const reportHits = () => {
		const hits: TextHit[] = [];
		for (; first < found.length; first++) {
			const at = found[first] as (typeof found)[number];
			hits.push(...at.hits.splice(0));
			if (!at.done) break;
		}
		if (reportedAt + hits.length >= limit) {
			limited = true;
			hits.length = limit - reportedAt;
			stop.abort();
		}
		reportedAt += hits.length;
		listener.hits(hits, bytes, total);
	};
	const search = async (i: number): Promise<void> => {
		const { part, task, bytes: size } = pieces[i] as Piece;
		const place = found[i] as (typeof found)[number];
		let after: number = task.after;
		const skip: number[] = [];
		const take = (hits: readonly FoundHit[], to: number) => {
			after = to;
			for (const { place: _, ...hit } of hits) {
				const stepless = part.stepless ? { stepless: true } : {};
				place.hits.push({ run: part.run, split: part.split, step: part.step, ...stepless, ...hit });
			}
			// Other hits are reported with the next batch, but if everything is waiting for this chunk, report them right
			// away.
			if (i === first && !limited) reportHits();
		};
		for (;;) {
			try {
				const listen: TaskListener = {
					matchMs,
					report: (report) => (report.kind === 'hits' ? take(report.hits, report.place) : undefined),
				};
				const final = await threads.run({ ...task, after, skip }, listen, stop.signal);
				if (final.kind === 'searched') unread += final.result.unread;
				break;
			} catch (error) {
				if (error instanceof SlowMatch) {
					// The terminated thread lost everything it had found since its last report, so that range is searched again.
					skip.push(error.place);
					if (++slow < maxSlow) continue;
					stop.abort();
					break;
				}
				const failure = Failure.from(error);
				if (failure.reason !== 'missing' && failure.reason !== 'corrupt') throw error;
				gone++;
				break;
			}
		}
		place.done = true;
		if (known) bytes += size;
		if (!limited) reportHits();
	};
	const work = pieces.keys();
	const worker = async () => {
		for (const i of work) {
			if (stop.signal.aborted) return;
			await search(i);
		}
	};
	const all = await Promise.allSettled(Array.from({ length: threads.size }, worker));
	signal?.removeEventListener('abort', abort);
	if (signal?.aborted) throw new Failure('cancelled', 'Canceled.');
	if (!limited && slow < maxSlow) {
		for (const one of all) if (one.status === 'rejected') throw one.reason;
	}
	const limits = limitsOf({ limit: limited ? limit : null, slow, unread, gone });
	return { hits: reportedAt, complete: !limited && slow === 0 && gone === 0, bytes, limits };
}

/** Describes what a search has omitted. `limit`: the number of hits at which it stopped, or null. */
function limitsOf({
	limit,
	slow,
	unread,
	gone,
}: Readonly<Record<'slow' | 'unread' | 'gone', number>> & { readonly limit: number | null }): string[] {
	const limits: string[] = [];
	if (limit !== null) limits.push(`Stopped at ${limit} hits.`);
	if (slow >= maxSlow)
		limits.push(`Stopped: the expression took longer than ${matchMs / 1000} s on ${formatCounted(slow, 'rollout')}.`);
	else if (slow > 0)
		limits.push(
			`The expression took longer than ${matchMs / 1000} s on ${formatCounted(slow, 'rollout')}, which were skipped.`,
		);
	if (unread > 0) limits.push(`${formatCounted(unread, 'record')} could not be read.`);
	if (gone > 0) limits.push(`${formatCounted(gone, 'file no longer exists', 'files no longer exist')}.`);
	return limits;
}
