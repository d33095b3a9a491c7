import type { Dirent, Stats } from 'node:fs';
import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { openRegular, readJson } from '../../files/safeFile.ts';
import { SqliteFile } from '../../files/sqliteFile.ts';
import { Turns } from '../../files/turns.ts';
import { stampOf } from './fileStamp.ts';
import type { FolderView, FoundFile } from './folderView.ts';
import { compareNames, filledPath, type PathParts, PathPattern, stepIn } from './pathPattern.ts';

/** Maximum number of names to read per folder; anything beyond is reported as skipped. */
const maxNames = 2_000_000;
/** Maximum number of names to read per folder during format detection, which checks every folder in a search. */
const maxNamesForHas = 20_000;
/** Number of files that `byFolder` returns for each folder. */
const filesPerFolder = 5;
/** Maximum number of folders to enter per search. */
const maxFolders = 50_000;
/** Maximum depth of `**`. */
const deepest = 12;
/** Listings up to this length are cached until the folder changes. */
const longestKept = 20_000;
const keptListings = 256;
const chunkNames = 512;
/** If the steps depend on more folders than this, the steps are listed again each time. */
const maxSeen = 64;
/** Worst-case resolution of folder timestamps. */
const coarsestMs = 2500;
const passedOver = new Set(['node_modules', '__pycache__', 'site-packages', 'wandb']);

/** A folder entry that is a file or a folder, not a link or a device. */
interface Entry {
	readonly name: string;
	readonly folder: boolean;
}

/** A path that matches a pattern, with the values of its `{name}` parts. */
export interface PathMatch {
	/** Path relative to the folder, with `/` as the separator. */
	readonly path: string;
	readonly parts: PathParts;
}

/** Modification times of the folders that determine a result, by relative path; NaN for those that do not exist. */
type SeenFolders = Map<string, number>;

interface ByStep {
	readonly steps: ReadonlyMap<number, readonly PathMatch[]>;
	readonly seen: SeenFolders;
}

interface Walk {
	/** Maximum number of names to read per folder. */
	readonly names: number;
	readonly seen?: SeenFolders;
	/** Remaining number of folders to enter. */
	folders: number;
}

interface Listing {
	readonly entries: readonly Entry[];
	readonly modifiedMs: number;
}

/** Folders and files that were checked during a snapshot, by relative path. */
interface Snapshot {
	readonly infos: Map<string, Promise<Stats | null>>;
	readonly files: Map<string, Promise<FoundFile | null>>;
	readonly entries: Map<string, readonly Entry[]>;
}

/** A folder on disk. Only folders that a pattern can match are listed. */
export class DiskFolder implements FolderView {
	readonly path: string;
	readonly #listings = new Map<string, Listing>();
	readonly #byStep = new Map<PathPattern, ByStep>();
	#snapshot: Snapshot | null = null;
	/** Relative paths of folders with more names than can be read. */
	readonly cut = new Set<string>();

	constructor(path: string) {
		this.path = path;
	}

	/**
	 * Checks each folder and file only once while `work` runs. Otherwise, every pattern and step would check the same
	 * paths again, hundreds of times per second while a run is being followed. Changes during the work might be missing
	 * from its results.
	 */
	async snapshot<T>(work: () => Promise<T>): Promise<T> {
		if (this.#snapshot !== null) return work();
		this.#snapshot = { infos: new Map(), files: new Map(), entries: new Map() };
		try {
			return await work();
		} finally {
			this.#snapshot = null;
		}
	}

	async find(pattern: string): Promise<readonly FoundFile[]> {
		const matches: PathMatch[] = [];
		for await (const match of this.matches(new PathPattern(pattern))) matches.push(match);
		const found: FoundFile[] = [];
		for (const { path } of await sortMatches(matches)) {
			const file = await this.stat(path);
			if (file !== null) found.push(file);
		}
		return found;
	}

	async has(pattern: string): Promise<boolean> {
		for await (const _ of this.matches(new PathPattern(pattern), { names: maxNamesForHas })) return true;
		return false;
	}

	async some(pattern: string, count: number): Promise<readonly FoundFile[]> {
		const found: FoundFile[] = [];
		for await (const { path } of this.matches(new PathPattern(pattern), { names: maxNamesForHas })) {
			const file = await this.stat(path);
			if (file !== null) found.push(file);
			if (found.length >= count) break;
		}
		return found;
	}

	async byFolder(pattern: string, count: number): Promise<ReadonlyMap<string, readonly string[]>> {
		const parsed = new PathPattern(pattern);
		const last = parsed.segments.length - 1;
		const names = maxNamesForHas;
		const found = new Map<string, string[]>();
		const read = async (within: PathMatch) => {
			const files: string[] = [];
			for await (const { path } of this.matches(parsed, { from: last, within, names })) {
				files.push(path);
				if (files.length >= filesPerFolder) break;
			}
			if (files.length > 0) found.set(within.path, files);
		};
		if (last === 0) await read({ path: '', parts: {} });
		else {
			for await (const within of this.matches(parsed, { until: last - 1, names })) {
				await read(within);
				if (found.size >= count) break;
			}
		}
		return found;
	}

	async head(path: string, bytes = 64 << 10): Promise<string | null> {
		const handle = await openRegular(this.path, path).catch(() => null);
		if (handle === null) return null;
		try {
			const buffer = Buffer.alloc(bytes);
			const { bytesRead } = await handle.read(buffer, 0, bytes, 0);
			return buffer.toString('utf8', 0, bytesRead);
		} catch {
			return null;
		} finally {
			await handle.close();
		}
	}

	async json(path: string): Promise<unknown> {
		return readJson(this.path, path).catch(() => undefined);
	}

	async tables(path: string): Promise<ReadonlyMap<string, readonly string[]>> {
		// Most files with such a name are not databases.
		if (!(await this.head(path, 16))?.startsWith('SQLite format 3')) return new Map();
		const file = await SqliteFile.open(this.path, path).catch(() => null);
		if (file === null) return new Map();
		const tables = new Map(file.tables.map(({ name, columns }) => [name, columns]));
		await file.close();
		return tables;
	}

	/** Returns whether any of the given paths exists, after filling in the parts of another path where possible. */
	async hasAny(paths: readonly string[], parts: PathParts): Promise<boolean> {
		for (const path of paths) if (await this.has(filledPath(path, parts) ?? path)) return true;
		return false;
	}

	/** Returns a regular file, or null if the path is not one. */
	async stat(path: string): Promise<FoundFile | null> {
		return once(this.#snapshot?.files, path, () => stampOf(this.path, path));
	}

	/** Returns information about a path, without following links, or null if it does not exist. */
	#info(path: string): Promise<Stats | null> {
		return once(this.#snapshot?.infos, path, () => lstat(join(this.path, path)).catch(() => null));
	}

	/**
	 * Yields matching files in no particular order.
	 * @param options `until`: a segment to stop at, yielding the paths up to it, which can be folders; `within`: the
	 * result of an earlier match of the segments before `from`; `names`: maximum number of names to read per folder;
	 * `seen`: receives the folders that the result depends on
	 */
	async *matches(
		pattern: PathPattern,
		options: { until?: number; from?: number; within?: PathMatch; names?: number; seen?: SeenFolders } = {},
	): AsyncGenerator<PathMatch> {
		const { until = pattern.segments.length - 1, from = 0, within = { path: '', parts: {} }, seen } = options;
		const walk: Walk = {
			names: options.names ?? maxNames,
			folders: maxFolders,
			...(seen === undefined ? {} : { seen }),
		};
		yield* this.#walk(pattern, from, until, within, 0, walk);
	}

	/**
	 * Returns the matches up to the segment with the step, by step and in no particular order within a step. Results are
	 * cached until a folder changes: searches open thousands of steps one after another, and otherwise each of them would
	 * list all steps.
	 */
	async byStep(pattern: PathPattern): Promise<ReadonlyMap<number, readonly PathMatch[]>> {
		const kept = this.#byStep.get(pattern);
		if (kept !== undefined && (await this.#unchanged(kept.seen))) return kept.steps;
		const steps = new Map<number, PathMatch[]>();
		const seen: SeenFolders = new Map();
		for await (const match of this.matches(pattern, { until: pattern.stepSegment, seen })) {
			const step = stepIn(match.parts);
			if (step === null) continue;
			const known = steps.get(step);
			if (known === undefined) steps.set(step, [match]);
			else known.push(match);
		}
		// A folder that has just changed can change again without a new timestamp.
		const settled = [...seen.values()].every((ms) => Number.isNaN(ms) || Math.abs(Date.now() - ms) > coarsestMs);
		if (settled && seen.size <= maxSeen) this.#byStep.set(pattern, { steps, seen });
		else this.#byStep.delete(pattern);
		return steps;
	}

	async #unchanged(seen: SeenFolders): Promise<boolean> {
		for (const [path, modifiedMs] of seen) {
			const info = await this.#info(path);
			if (!Object.is(info?.isDirectory() ? info.mtimeMs : Number.NaN, modifiedMs)) return false;
		}
		return true;
	}

	async *#walk(
		pattern: PathPattern,
		at: number,
		until: number,
		{ path, parts }: PathMatch,
		depth: number,
		walk: Walk,
	): AsyncGenerator<PathMatch> {
		const segment = pattern.segments[at];
		if (segment === undefined || --walk.folders < 0) return;
		const last = at === pattern.segments.length - 1;
		const below = (name: string) => (path === '' ? name : `${path}/${name}`);
		if (segment.kind === 'name') {
			const inner = below(segment.name);
			const info = await this.#info(inner);
			if (!last) walk.seen?.set(inner, info?.isDirectory() ? info.mtimeMs : Number.NaN);
			if (info === null || !(last ? info.isFile() : info.isDirectory())) return;
			if (at === until) yield { path: inner, parts };
			else yield* this.#walk(pattern, at + 1, until, { path: inner, parts }, 0, walk);
			return;
		}
		if (segment.kind === 'any') {
			yield* this.#walk(pattern, at + 1, until, { path, parts }, 0, walk);
			if (depth >= deepest) return;
			for await (const entries of this.#entries(path, walk)) {
				for (const { name, folder } of entries) {
					if (!folder || name.startsWith('.') || passedOver.has(name)) continue;
					yield* this.#walk(pattern, at, until, { path: below(name), parts }, depth + 1, walk);
				}
			}
			return;
		}
		for await (const entries of this.#entries(path, walk)) {
			for (const { name, folder } of entries) {
				if (folder === last) continue;
				const part = pattern.part(at, name);
				if (part === null) continue;
				const match = { path: below(name), parts: { ...parts, ...part } };
				if (at === until) yield match;
				else yield* this.#walk(pattern, at + 1, until, match, 0, walk);
			}
		}
	}

	/**
	 * Yields the entries in a folder in chunks. Reading a hundred thousand names at once would block the event loop, and
	 * yielding them one at a time would take longer than matching them against a pattern.
	 */
	async *#entries(path: string, { names: limit, seen }: Walk): AsyncGenerator<readonly Entry[]> {
		const info = await this.#info(path);
		seen?.set(path, info?.isDirectory() ? info.mtimeMs : Number.NaN);
		if (info === null || !info.isDirectory()) return;
		const kept = this.#listings.get(path);
		const known = this.#snapshot?.entries.get(path) ?? (kept?.modifiedMs === info.mtimeMs ? kept.entries : undefined);
		const turns = new Turns();
		if (known !== undefined) {
			for (let at = 0; at < known.length; at += chunkNames) {
				yield known.slice(at, at + chunkNames);
				if (turns.due) await turns.pass();
			}
			return;
		}
		const entries: Entry[] = [];
		let chunk: Entry[] = [];
		let count = 0;
		try {
			for await (const entry of await opendir(join(this.path, path), { bufferSize: chunkNames })) {
				if (++count > limit) {
					if (limit === maxNames) this.cut.add(path);
					break;
				}
				const plain = plainEntry(entry);
				if (plain === null) continue;
				if (entries.length < longestKept) entries.push(plain);
				chunk.push(plain);
				if (chunk.length < chunkNames) continue;
				yield chunk;
				chunk = [];
				if (turns.due) await turns.pass();
			}
		} catch {
			// The folder was removed in the meantime. The names read so far are as valid as an earlier listing.
			if (chunk.length > 0) yield chunk;
			return;
		}
		if (chunk.length > 0) yield chunk;
		if (count > longestKept) return;
		this.#snapshot?.entries.set(path, entries);
		// A folder that has just changed can change again without a new timestamp.
		if (Math.abs(Date.now() - info.mtimeMs) <= coarsestMs) return;
		this.#listings.set(path, { entries, modifiedMs: info.mtimeMs });
		if (this.#listings.size > keptListings) this.#listings.delete(this.#listings.keys().next().value as string);
	}
}

/** Returns the cached result for a path, or starts computing it; without a map, always computes it. */
function once<T>(known: Map<string, Promise<T>> | undefined, path: string, get: () => Promise<T>): Promise<T> {
	const result = known?.get(path) ?? get();
	known?.set(path, result);
	return result;
}

function plainEntry(entry: Dirent): Entry | null {
	if (entry.isDirectory()) return { name: entry.name, folder: true };
	return entry.isFile() ? { name: entry.name, folder: false } : null;
}

/** Number of items to sort without yielding. */
const sortedAtOnce = 1000;

/** Sorts by step, then by name. Long lists are sorted in chunks, yielding to other work in between. */
export async function sortMatches(matches: readonly PathMatch[]): Promise<PathMatch[]> {
	const turns = new Turns();
	const byStep = new Map<number, PathMatch[]>();
	for (const match of matches) {
		const step = stepIn(match.parts) ?? 0;
		const known = byStep.get(step);
		if (known === undefined) byStep.set(step, [match]);
		else known.push(match);
	}
	const sorted: PathMatch[] = [];
	for (const [, ofStep] of [...byStep].sort(([a], [b]) => a - b)) {
		for (const match of await sortNames(ofStep, turns)) sorted.push(match);
		if (turns.due) await turns.pass();
	}
	return sorted;
}

const compareMatches = (a: PathMatch, b: PathMatch) => compareNames(a.path, b.path);

async function sortNames(matches: readonly PathMatch[], turns: Turns): Promise<readonly PathMatch[]> {
	if (matches.length <= sortedAtOnce) return [...matches].sort(compareMatches);
	const middle = matches.length >>> 1;
	const left = await sortNames(matches.slice(0, middle), turns);
	const right = await sortNames(matches.slice(middle), turns);
	const merged: PathMatch[] = [];
	for (let i = 0, j = 0; i < left.length || j < right.length; ) {
		const [one, other] = [left[i], right[j]];
		const first = other === undefined || (one !== undefined && compareMatches(one, other) <= 0);
		merged.push((first ? one : other) as PathMatch);
		if (first) i++;
		else j++;
		if (merged.length % sortedAtOnce === 0 && turns.due) await turns.pass();
	}
	return merged;
}
