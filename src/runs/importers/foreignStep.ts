import { createHash } from 'node:crypto';
import type { AbortSignalLike } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import { type Frame, type FrameFile, type FramePlace, freshMs, type KnownPiece } from '../../files/frame.ts';
import type { RolloutLine } from '../../protocol/rolloutLine.ts';
import type { FaultList } from '../faultList.ts';
import type { PlacedRollout, RolloutPlace, RunFault, StepRollouts } from '../runContent.ts';
import type { Annotations } from './annotations.ts';
import type { PathMatch } from './diskFolder.ts';
import type { FoundFile } from './folderView.ts';
import type { ForeignRollout } from './foreignRecord.ts';
import { GroupNumbers, GroupSize, type Numbered } from './groupNumbers.ts';
import { openFrames } from './openFrames.ts';
import { stepIn } from './pathPattern.ts';
import { type Companion, fullContext, type RecordExtras, understood } from './recordContext.ts';
import type { CompanionFile, RolloutFiles } from './runFormat.ts';
import { type Summarized, summariesOf } from './summaries.ts';

/** Maximum number of rollouts per Parquet row that a location can refer to. */
const maxInRow = 64;
const openAhead = 8;

/** One of a step's files, and its reader. */
export interface StepFile {
	readonly files: RolloutFiles;
	readonly match: PathMatch;
	readonly found: FoundFile;
	/** Pieces of the file that belong to the step; null for the whole file. */
	readonly pieces: readonly KnownPiece[] | null;
	/** Companion file with more data about the rollouts; null if there is none. */
	readonly companion: FoundFile | null;
	/** Records about the rollouts, written after them; null if the format has none. */
	readonly annotations: Annotations | null;
	/** Annotation files. */
	readonly annotated: readonly FoundFile[];
}

export interface StepOptions {
	readonly folder: string;
	readonly step: number;
	readonly faults: FaultList;
	/** Whether an incomplete end of a recently written file is read later and not reported as a fault. */
	readonly live: boolean;
	readonly learned?: unknown;
}

/** The rollouts of one step and split from another trainer's run. */
export class ForeignStep implements StepRollouts {
	readonly identity: string;
	readonly #files: readonly StepFile[];
	readonly #options: StepOptions;
	readonly #open = new Map<string, FrameFile>();
	readonly #companions = new Map<string, Promise<ReadonlyMap<string, unknown>>>();

	constructor(files: readonly StepFile[], options: StepOptions) {
		this.#files = files;
		this.#options = options;
		this.identity = identityOf(files, options.learned);
	}

	get textFiles(): NonNullable<StepRollouts['textFiles']> | null {
		const plain = this.#files.every(({ files, match, pieces }) => {
			return files.verbatim !== undefined && pieces === null && !match.path.endsWith('.zst');
		});
		if (!plain) return null;
		const calls = this.#files.some(({ files }) => files.verbatim === 'messages');
		return { paths: this.#files.map(({ match }) => match.path), calls };
	}

	rollouts(signal?: AbortSignalLike): AsyncGenerator<PlacedRollout> {
		return this.#all(false, signal);
	}

	overview(signal?: AbortSignalLike): AsyncGenerator<PlacedRollout> {
		return this.#all(true, signal);
	}

	async *#all(overview: boolean, signal?: AbortSignalLike): AsyncGenerator<PlacedRollout> {
		const numbers = new GroupNumbers();
		const ahead = new FilesAhead(this.#files, this.#options.folder);
		try {
			yield* this.#numbered(ahead, numbers, overview, signal);
		} finally {
			await ahead.close();
		}
	}

	async *#numbered(
		ahead: FilesAhead,
		numbers: GroupNumbers,
		overview: boolean,
		signal: AbortSignalLike | undefined,
	): AsyncGenerator<PlacedRollout> {
		for (const [i, file] of this.#files.entries()) {
			const consecutive = file.files.grouping === 'consecutive';
			const size = consecutive ? await this.#groupSize(file, signal) : null;
			const summaries = overview ? await summariesOf(this.#options.folder, file) : null;
			for await (const read of summaries === null ? this.#read(file, signal, ahead.take(i)) : placed(file, summaries)) {
				if (read.fault !== null) {
					yield { rollout: null, place: null, fault: this.#options.faults.add(read.fault, read.item) };
					continue;
				}
				const { foreign, place } = read;
				const numbered = consecutive ? numbers.consecutive(foreign.groupKey, size) : numbers.byKey(foreign.groupKey);
				const rollout = lineOf(foreign, file, this.#options.step, numbered);
				yield { rollout, place: { ...place, ...numbered }, fault: null };
			}
			numbers.close();
		}
	}

	async rollout(place: RolloutPlace): Promise<RolloutLine> {
		const file = this.#files.find((one) => placeFile(one) === place.file);
		if (file === undefined) throw changed(place.file);
		const kept = this.#open.get(place.file);
		const frames = kept ?? (await openFrames(this.#options.folder, file.match.path, file.files));
		if (kept === undefined) this.#keep(place.file, frames);
		const { number, item } = pieceOf(place, file.files);
		const frame = await frames.frame({ offset: place.offset, length: place.length, number });
		const extras = await this.#extras(file);
		const foreign = (await rolloutsIn(frame, file, item, extras).finally(() => extras.annotations?.close())).at(item);
		if (foreign === undefined) throw changed(place.file);
		return lineOf(foreign, file, this.#options.step, place);
	}

	async close(): Promise<void> {
		const open = [...this.#open.values()];
		this.#open.clear();
		for (const file of open) await file.close().catch(() => undefined);
	}

	async #extras(file: StepFile, signal?: AbortSignalLike): Promise<RecordExtras> {
		const annotations = file.annotated.length === 0 ? null : ((await file.annotations?.open(signal)) ?? null);
		return { companion: await this.#companion(file, signal), annotations, learned: this.#options.learned };
	}

	async #companion({ files, companion }: StepFile, signal?: AbortSignalLike): Promise<Companion> {
		if (companion === null || files.companion === undefined) return null;
		let known = this.#companions.get(companion.path);
		if (known === undefined) {
			known = this.#readCompanion(companion.path, files.companion, signal);
			this.#companions.set(companion.path, known);
			// If reading was aborted, the next caller reads the file again.
			known.catch(() => this.#companions.delete(companion.path));
		}
		const map = await known;
		return (key) => map.get(key);
	}

	async #readCompanion(
		path: string,
		kind: CompanionFile,
		signal: AbortSignalLike | undefined,
	): Promise<ReadonlyMap<string, unknown>> {
		const map = new Map<string, unknown>();
		const fault = (line: number | null, message: string) =>
			this.#options.faults.add({ file: path, line, message, records: 1 });
		let frames: FrameFile;
		try {
			frames = await openFrames(this.#options.folder, path, kind);
		} catch (error) {
			fault(null, Failure.from(error).message);
			return map;
		}
		try {
			for await (const frame of frames.frames(signal)) {
				const line = kind.form === 'jsonl' ? frame.number : null;
				if (frame.fault !== null) fault(line, frame.fault);
				for (const record of frame.records) {
					try {
						for (const [key, value] of kind.entries(record)) map.set(key, value);
					} catch (error) {
						fault(line, `is invalid (${(error as Error).message})`);
					}
				}
			}
		} finally {
			await frames.close().catch(() => undefined);
		}
		return map;
	}

	/** Limits the number of open files, because a step can have a hundred thousand of them. */
	#keep(path: string, frames: FrameFile): void {
		this.#open.set(path, frames);
		if (this.#open.size <= 16) return;
		const [oldest, file] = this.#open.entries().next().value as [string, FrameFile];
		this.#open.delete(oldest);
		void file.close().catch(() => undefined);
	}

	async #groupSize(file: StepFile, signal: AbortSignalLike | undefined): Promise<number | null> {
		const size = new GroupSize();
		for await (const read of this.#read(file, signal)) if (read.fault === null) size.add(read.foreign.groupKey);
		return size.finish();
	}

	async *#read(
		file: StepFile,
		signal: AbortSignalLike | undefined,
		opened?: Promise<FrameFile>,
	): AsyncGenerator<ReadRollout> {
		const { folder, step, live } = this.#options;
		const { match, files } = file;
		let frames: FrameFile;
		try {
			frames = await (opened ?? openFrames(folder, match.path, files));
		} catch (error) {
			yield { fault: { file: match.path, line: null, message: Failure.from(error).message, records: 1 } };
			return;
		}
		let extras: RecordExtras | null = null;
		try {
			let record = 0;
			const copies = new Set<string>();
			extras = await this.#extras(file, signal);
			for await (const frame of framesOf(frames, file.pieces, signal)) {
				if (frame.fault !== null) {
					const fresh = Math.abs(Date.now() - frames.modifiedMs) < freshMs;
					if (!frame.torn || !live || !fresh) yield { fault: faultOf(file, frame, frame.fault) };
					continue;
				}
				let item = 0;
				for (const value of frame.records) {
					const read = understood(files, value, await fullContext(match, value, record++, extras));
					if (typeof read === 'string') {
						yield { fault: faultOf(file, frame, read) };
						continue;
					}
					const copy = files.copyKey?.(value) ?? null;
					if (copy !== null && copies.has(copy)) continue;
					if (copy !== null) copies.add(copy);
					for (const foreign of read) {
						// If records contain their own steps, rollouts of other steps still count, so that locations are stable.
						const place = placeOf(file, frame, item++);
						if (file.pieces !== null && (foreign.step ?? 0) !== step) continue;
						const wrong = item > maxInRow && files.form === 'parquet' ? 'has too many rollouts' : faultIn(foreign);
						if (wrong === null) yield { fault: null, foreign, place };
						else yield { fault: faultOf(file, frame, wrong), item };
					}
				}
			}
		} finally {
			await extras?.annotations?.close();
			await frames.close().catch(() => undefined);
		}
	}
}

/** Opens the next few files ahead of time, because opening takes most of the time if each file contains one rollout. */
class FilesAhead {
	readonly #files: readonly StepFile[];
	readonly #folder: string;
	readonly #opened = new Map<number, Promise<FrameFile>>();

	constructor(files: readonly StepFile[], folder: string) {
		this.#files = files;
		this.#folder = folder;
	}

	take(index: number): Promise<FrameFile> {
		for (let i = index; i < Math.min(index + openAhead, this.#files.length); i++) {
			const { files, match } = this.#files[i] as StepFile;
			if (this.#opened.has(i)) continue;
			const opened = openFrames(this.#folder, match.path, files);
			// The error is reported when the file's turn comes.
			opened.catch(() => undefined);
			this.#opened.set(i, opened);
		}
		const own = this.#opened.get(index) as Promise<FrameFile>;
		this.#opened.delete(index);
		return own;
	}

	async close(): Promise<void> {
		for (const opened of this.#opened.values()) {
			await opened.then(
				(frames) => frames.close(),
				() => undefined,
			);
		}
	}
}

type ReadRollout =
	| { readonly fault: RunFault; readonly item?: number }
	| { readonly fault: null; readonly foreign: ForeignRollout; readonly place: Omit<RolloutPlace, 'group' | 'index'> };

function* placed(file: StepFile, summaries: readonly Summarized[]): Generator<ReadRollout> {
	for (const { place, foreign } of summaries) yield { fault: null, foreign, place: placeOf(file, place, 0) };
}

async function* framesOf(
	frames: FrameFile,
	pieces: readonly KnownPiece[] | null,
	signal: AbortSignalLike | undefined,
): AsyncGenerator<Frame> {
	if (pieces === null) yield* frames.frames(signal);
	else {
		for (const { unread, ...place } of pieces) {
			yield unread === undefined ? await frames.frame(place) : { ...place, ...unread, records: [] };
		}
	}
}

export function faultOf({ match, files }: Pick<StepFile, 'match' | 'files'>, frame: Frame, message: string): RunFault {
	const line = files.form === 'jsonl' ? frame.number : null;
	const piece = { parquet: 'row', sqlite: 'row', torch: 'entry', events: 'event' }[files.form as string];
	const where = piece !== undefined && frame.fault === null ? `${piece} ${frame.number} ` : '';
	return { file: match.path, line, message: `${where}${message}`, records: frame.lost ?? 1 };
}

async function rolloutsIn(frame: Frame, file: StepFile, item: number, extras: RecordExtras): Promise<ForeignRollout[]> {
	const rollouts: ForeignRollout[] = [];
	let record = file.files.form === 'parquet' ? frame.number - 1 : 0;
	for (const value of frame.records) {
		if (rollouts.length > item) break;
		const read = understood(file.files, value, await fullContext(file.match, value, record++, extras));
		if (typeof read !== 'string') rollouts.push(...read);
	}
	return rollouts;
}

/** Returns the file in a rollout's location. Tables in the same database are distinguished by their names. */
function placeFile({ match, files }: StepFile): string {
	return files.table === undefined ? match.path : `${match.path}#${files.table}`;
}

function placeOf(file: StepFile, frame: FramePlace, item: number): Omit<RolloutPlace, 'group' | 'index'> {
	const { files } = file;
	const { offset, length, number } = frame;
	const row = files.form === 'parquet' ? (number - 1) * maxInRow : 0;
	return { file: placeFile(file), offset, length, item: row + item };
}

function pieceOf(place: RolloutPlace, { form }: RolloutFiles): { readonly number: number; readonly item: number } {
	if (form !== 'parquet') return { number: 1, item: place.item };
	return { number: Math.floor(place.item / maxInRow) + 1, item: place.item % maxInRow };
}

/** Describes what makes a rollout unusable, or returns null if it is usable. */
function faultIn({ prompt, completion, groupKey, fault }: ForeignRollout): string | null {
	if (fault !== undefined) return fault;
	if (typeof prompt !== 'string' && !Array.isArray(prompt)) return 'has no prompt';
	if (typeof completion !== 'string' && !Array.isArray(completion)) return 'has no completion';
	return typeof groupKey === 'string' || typeof groupKey === 'number' ? null : 'has no group';
}

function lineOf(
	foreign: ForeignRollout,
	{ match, files }: Pick<StepFile, 'match' | 'files'>,
	step: number,
	{ group, index }: Numbered,
): RolloutLine {
	const { step: own, groupKey: _, rewards, reward, advantage, truncated, stage, ...rest } = foreign;
	// Rollouts without a step in the path or the record are stored at step 0 and have no step.
	const known = stepIn(match.parts) !== null || typeof own === 'number';
	return {
		...rest,
		step: known ? step : null,
		stage: stage ?? files.split,
		group,
		index,
		rewards: Object.fromEntries(Object.entries(rewards ?? {}).map(([name, value]) => [name, finite(value)])),
		reward: finite(reward),
		advantage: finite(advantage),
		truncated: truncated ?? null,
	};
}

export function finite(value: unknown): number | null {
	return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

function identityOf(files: readonly StepFile[], learned: unknown): string {
	const hash = createHash('sha256');
	for (const { match, found, companion, annotated, files: kind } of files) {
		const learnedOf = kind.dependsOn?.(match.path, learned) ?? '';
		const others = [companion, ...annotated].map((file) => file?.stamp ?? '').join(' ');
		hash.update(`${match.path}\n${found.stamp}\n${others}\n${learnedOf}`);
	}
	return hash.digest('base64');
}

function changed(file: string): Failure {
	return new Failure('corrupt', `${file} changed while it was being read.`, 'Choose the step again.');
}
