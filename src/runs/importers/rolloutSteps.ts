import type { AbortSignalLike } from '../../base/async.ts';
import type { KnownPiece } from '../../files/frame.ts';
import { type FaultList, type FaultSink, HeldFaults } from '../faultList.ts';
import type { RolloutSplit } from '../runContent.ts';
import { Annotations } from './annotations.ts';
import { type DiskFolder, type PathMatch, sortMatches } from './diskFolder.ts';
import type { FoundFile } from './folderView.ts';
import type { StepFile } from './foreignStep.ts';
import { partsThreads } from './parts/partsThreads.ts';
import { filledPath, PathPattern } from './pathPattern.ts';
import type { AnnotationFiles, RolloutFiles, RunFormat } from './runFormat.ts';
import { StepPieces } from './stepPieces.ts';

/** Location of a step's rollouts: a file, a folder with files, or pieces of a file. */
interface Start {
	readonly files: RolloutFiles;
	readonly pattern: PathPattern;
	readonly match: PathMatch;
}

/** Number of steps whose annotations are cached. */
const keptAnnotations = 8;

/** Minimum size of a file, possibly compressed, to read while earlier files are still being read. */
const largeFile = 4 << 20;

/** Number of files to stat concurrently. */
const together = 64;

/** Determines which steps of a foreign run have rollouts, and in which files. */
export class RolloutSteps {
	readonly #disk: DiskFolder;
	readonly #format: RunFormat;
	readonly #faults: FaultList;
	readonly #patterns: ReadonlyMap<RolloutFiles, PathPattern>;
	readonly #pieces = new Map<string, StepPieces>();
	readonly #annotations = new Map<string, { readonly spec: AnnotationFiles; readonly annotations: Annotations }>();

	constructor(disk: DiskFolder, format: RunFormat, faults: FaultList) {
		this.#disk = disk;
		this.#format = format;
		this.#faults = faults;
		this.#patterns = new Map(format.rollouts.map((files) => [files, new PathPattern(files.pattern)]));
	}

	/**
	 * Returns the steps in ascending order.
	 * @param learned what the format has learned about the run
	 */
	async list(split: RolloutSplit, learned: unknown, signal?: AbortSignalLike): Promise<number[]> {
		return [...(await this.#starts(split, learned, signal)).keys()].sort((a, b) => a - b);
	}

	/** Returns a step's files in the order they are read, or an empty list if the step has no rollouts. */
	async files(step: number, split: RolloutSplit, learned: unknown, signal?: AbortSignalLike): Promise<StepFile[]> {
		const found: StepFile[] = [];
		for (const [files, pattern] of this.#patterns) {
			if (files.split !== split) continue;
			const unsorted: PathMatch[] = [];
			for await (const match of this.#matchesOf(files, pattern, step, learned)) unsorted.push(match);
			const matches = await sortMatches(unsorted);
			for (let i = 0; i < matches.length; i += together) {
				const portion = matches.slice(i, i + together);
				const stats = await Promise.all(portion.map(({ path }) => this.#disk.stat(path)));
				for (const [j, match] of portion.entries()) {
					const stat = stats[j] ?? null;
					if (stat === null) continue;
					const pieces = this.#byRecord(pattern)
						? await this.#piecesOf(files, match, stat, this.#faults, signal)
						: null;
					// Copy the list, because it grows when more of the file is read later.
					const own = pieces === null ? null : [...(pieces.get(step) ?? [])];
					if (own !== null && own.length === 0) continue;
					const companion = await this.#companionOf(files, match);
					const annotations = this.#annotationsOf(files, match);
					const annotated = (await annotations?.files()) ?? [];
					found.push({ files, match, found: stat, pieces: own, companion, annotations, annotated });
				}
			}
		}
		return found;
	}

	/**
	 * Returns the steps, with stamps that show whether their files have changed; steps that share a file have the stamp
	 * of that file.
	 */
	async #starts(split: RolloutSplit, learned: unknown, signal?: AbortSignalLike): Promise<Map<number, Start[]>> {
		const starts = new Map<number, Start[]>();
		const add = (step: number, start: Start) => {
			const known = starts.get(step);
			if (known === undefined) starts.set(step, [start]);
			else known.push(start);
		};
		for (const [files, pattern] of this.#patterns) {
			if (files.split !== split) continue;
			if (this.#byRecord(pattern)) {
				const matches: PathMatch[] = [];
				// These patterns match the same files for every step.
				for await (const match of this.#matchesOf(files, pattern, 0, learned)) matches.push(match);
				const taken: { readonly match: PathMatch; readonly stat: FoundFile }[] = [];
				for (const match of await sortMatches(matches)) {
					const stat = await this.#disk.stat(match.path);
					if (stat !== null) taken.push({ match, stat });
				}
				for await (const { match, pieces } of this.#piecesInOrder(files, taken, signal)) {
					for (const step of pieces.keys()) add(step, { files, pattern, match });
				}
				continue;
			}
			if (pattern.stepSegment === -1) {
				for await (const match of this.#disk.matches(pattern)) {
					if (!(await this.#takes(files, match, learned))) continue;
					add(0, { files, pattern, match });
					break;
				}
				continue;
			}
			for (const [step, matches] of await this.#disk.byStep(pattern)) {
				for (const match of matches) {
					if (await this.#leadsToFile(files, pattern, match, learned)) add(step, { files, pattern, match });
				}
			}
		}
		return starts;
	}

	/** Returns whether records contain their own steps. */
	#byRecord(pattern: PathPattern): boolean {
		return this.#format.hasSteps && pattern.stepSegment === -1;
	}

	/** Yields the matches for a step. */
	async *#matchesOf(
		files: RolloutFiles,
		pattern: PathPattern,
		step: number,
		learned: unknown,
	): AsyncGenerator<PathMatch> {
		for await (const match of this.#pathsOf(pattern, step)) if (await this.#takes(files, match, learned)) yield match;
	}

	async *#pathsOf(pattern: PathPattern, step: number): AsyncGenerator<PathMatch> {
		const until = pattern.stepSegment;
		if (until === -1) {
			if (this.#format.hasSteps || step === 0) yield* this.#disk.matches(pattern);
			return;
		}
		for (const start of (await this.#disk.byStep(pattern)).get(step) ?? []) {
			if (until === pattern.segments.length - 1) yield start;
			else yield* this.#disk.matches(pattern, { from: until + 1, within: start });
		}
	}

	async #leadsToFile(files: RolloutFiles, pattern: PathPattern, within: PathMatch, learned: unknown): Promise<boolean> {
		const from = pattern.stepSegment + 1;
		if (from === pattern.segments.length) return isOfSplit(files, within, learned);
		for await (const match of this.#disk.matches(pattern, { from, within })) {
			if (isOfSplit(files, match, learned)) return true;
		}
		return false;
	}

	/**
	 * Returns whether to read a matching file. A file is not read if another copy of the same rollouts takes precedence.
	 */
	async #takes(files: RolloutFiles, match: PathMatch, learned: unknown): Promise<boolean> {
		if (!isOfSplit(files, match, learned)) return false;
		return !(await this.#disk.hasAny(files.unlessThere ?? [], match.parts));
	}

	async #companionOf({ companion }: RolloutFiles, { parts }: PathMatch): Promise<FoundFile | null> {
		const path = companion === undefined ? null : filledPath(companion.pattern, parts);
		return path === null ? null : this.#disk.stat(path);
	}

	#annotationsOf({ annotations: spec }: RolloutFiles, { parts }: PathMatch): Annotations | null {
		if (spec === undefined) return null;
		const patterns = spec.patterns.map((pattern) => pattern.replace('{step}', parts.step ?? '{step}'));
		const key = patterns.join('\n');
		const known = this.#annotations.get(key);
		if (known?.spec === spec) return known.annotations;
		const annotations = new Annotations(this.#disk, { ...spec, patterns }, this.#faults);
		this.#annotations.set(key, { spec, annotations });
		const [oldest] = this.#annotations.keys();
		if (this.#annotations.size > keptAnnotations && oldest !== undefined) this.#annotations.delete(oldest);
		return annotations;
	}

	/** Yields the pieces of files. Large files are read at the same time, each in a thread. */
	async *#piecesInOrder(
		files: RolloutFiles,
		taken: readonly { readonly match: PathMatch; readonly stat: FoundFile }[],
		signal: AbortSignalLike | undefined,
	): AsyncGenerator<{ readonly match: PathMatch; readonly pieces: ReadonlyMap<number, readonly KnownPiece[]> }> {
		type Reading = { readonly pieces: ReturnType<StepPieces['read']>; readonly faults: HeldFaults };
		const started = new Map<number, Reading>();
		let left = false;
		const stop = {
			get aborted() {
				return left || signal?.aborted === true;
			},
		};
		const start = (i: number, { match, stat }: (typeof taken)[number]): Reading => {
			const known = started.get(i);
			if (known !== undefined) return known;
			const faults = new HeldFaults();
			const pieces = this.#piecesOf(files, match, stat, faults, stop);
			// The error is reported when it is this file's turn.
			pieces.catch(() => undefined);
			started.set(i, { pieces, faults });
			return { pieces, faults };
		};
		try {
			for (const [i, file] of taken.entries()) {
				const { pieces, faults } = start(i, file);
				for (const [j, next] of taken.slice(i + 1, i + partsThreads.size).entries()) {
					if (files.stepParts !== undefined && next.stat.size >= largeFile) start(i + 1 + j, next);
				}
				const found = await pieces;
				faults.release(this.#faults);
				started.delete(i);
				yield { match: file.match, pieces: found };
			}
		} finally {
			left = true;
			for (const { pieces, faults } of started.values()) {
				await pieces.catch(() => undefined);
				faults.release(this.#faults);
			}
		}
	}

	#piecesOf(
		files: RolloutFiles,
		match: PathMatch,
		stat: FoundFile,
		faults: FaultSink,
		signal: AbortSignalLike | undefined,
	) {
		// Splits that share records are read together.
		const { pattern, stepParts } = files;
		const shared = stepParts !== undefined;
		const uses = this.#format.rollouts.filter((use) =>
			shared ? use.pattern === pattern && use.stepParts === stepParts : use === files,
		);
		const key = `${shared ? '' : files.split}\n${pattern}\n${files.table ?? ''}\n${match.path}`;
		const pieces = this.#pieces.get(key) ?? new StepPieces(this.#disk.path, uses, match);
		this.#pieces.set(key, pieces);
		return pieces.read(files, stat, faults, signal);
	}
}

function isOfSplit({ accepts, holds }: RolloutFiles, { path, parts }: PathMatch, learned: unknown): boolean {
	return accepts?.(parts) !== false && holds?.(path, learned) !== false;
}
