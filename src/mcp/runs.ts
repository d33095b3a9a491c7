import { realpath } from 'node:fs/promises';
import { basename, isAbsolute, relative, resolve, sep } from 'node:path';
import { unlessAborted } from '../base/async.ts';
import { Failure } from '../base/failure.ts';
import { formatCounted } from '../base/format.ts';
import { isInside } from '../files/isInside.ts';
import { indexFolder } from '../rolloutIndex/queryFolder.ts';
import { RolloutIndex } from '../rolloutIndex/rolloutIndex.ts';
import { distinctRunName } from '../runs/distinctRunName.ts';
import { openRun } from '../runs/openRun.ts';
import type { RunContent } from '../runs/runContent.ts';
import { findRuns } from '../runs/runFolders.ts';
import { RunRegistry } from '../runs/runRegistry.ts';
import { runsBelow } from '../runs/runsBelow.ts';
import { StepFactsCache } from '../runs/stepFactsCache.ts';
import { VerdictCache } from '../runs/verdictCache.ts';
import type { Progress } from './progress.ts';

export interface KnownRun {
	/** Unique name among the known runs: the folder name, plus a hash of its path if several folders have that name. */
	readonly name: string;
	readonly folder: string;
	/** Whether the run is in one of the server's folders. All other runs were opened by the user. */
	readonly within: boolean;
}

/**
 * Memory limit of the index, in MB, and the number of threads that read runs. The whole server is limited to half a
 * gigabyte.
 */
const indexMb = 100;
const indexThreads = 2;
/** Memory limit for facts kept for diagnoses: 200 steps of 1,000 rollouts need 10 MB. */
const factsBytes = 48 << 20;

/** How long a run list is cached. */
const listedMs = 5000;
/** How long it is cached when a requested run is not in it, because the run may be new. */
const unknownMs = 250;

/**
 * Finds a run by its name in an old address: with a hash that is no longer needed, without a hash that is needed now,
 * or with a number, as in names from before hashes were introduced. Without a hash, returns the first run with that
 * folder name.
 */
function earlierNamed(runs: readonly KnownRun[], named: string): KnownRun | undefined {
	const hashed = runs.find(({ folder }) => distinctRunName(folder) === named);
	if (hashed !== undefined) return hashed;
	const [, name = named, number = '1'] = /^(.+)~(\d+)$/.exec(named) ?? [];
	const sharing = (wanted: string) => runs.filter(({ folder }) => basename(folder) === wanted);
	return sharing(named)[0] ?? sharing(name)[Number(number) - 1];
}

/** Runs that the server exposes: those in its folders, plus those the user has registered. */
export class Runs {
	/** Facts about steps, kept from earlier diagnoses. */
	readonly facts = new StepFactsCache(factsBytes);
	readonly verdicts = new VerdictCache();
	readonly #folders: readonly string[];
	/** Real paths of the folders resolved so far. */
	readonly #roots = new Set<string>();
	readonly #registry: RunRegistry | null;
	#listed: { readonly at: number; readonly runs: Promise<readonly KnownRun[]> } | null = null;
	readonly #opened = new Map<string, Promise<RunContent>>();
	#index: Promise<RolloutIndex> | null = null;

	/** @param registry null to expose only runs in the folders */
	constructor(folders: readonly string[], registry: RunRegistry | null = new RunRegistry()) {
		this.#folders = folders;
		this.#registry = registry;
	}

	/** Folders passed to the server at startup. */
	get folders(): readonly string[] {
		return this.#folders;
	}

	/** Lists runs in the folders, nearest first, then registered runs, newest first. */
	list(): Promise<readonly KnownRun[]> {
		this.#expire(listedMs);
		if (this.#listed === null) {
			const runs = this.#look();
			this.#listed = { at: performance.now(), runs };
			runs.catch(() => {
				this.#listed = null;
			});
		}
		return this.#listed.runs;
	}

	async #look(): Promise<readonly KnownRun[]> {
		const found = new Set<string>();
		for (const folder of this.#folders) {
			const path = await realpath(folder).catch(() => null);
			if (path === null) continue;
			for (const run of await findRuns([path])) found.add(run);
			for (const run of (await runsBelow(path, { runs: 1000 })).runs) found.add(run.folder);
		}
		const within = found.size;
		for (const run of (await this.#registry?.list()) ?? []) found.add(run);
		for (const run of (await this.#registry?.listForeign()) ?? []) found.add(run);
		const count = Map.groupBy(found, (folder) => basename(folder));
		return [...found].map((folder, i) => {
			const name = basename(folder);
			const shared = (count.get(name)?.length ?? 0) > 1;
			return { name: shared ? distinctRunName(folder) : name, folder, within: i < within };
		});
	}

	/**
	 * Finds a known run by name or folder. Fails with `missing` for any path that is not a known run, without opening it.
	 */
	async find(named: string): Promise<KnownRun> {
		const look = (runs: readonly KnownRun[]) =>
			runs.find(({ name, folder }) => name === named || folder === named) ?? earlierNamed(runs, named);
		const found = look(await this.list()) ?? (this.#expire(unknownMs) ? look(await this.list()) : undefined);
		if (found !== undefined) return found;
		throw new Failure('missing', `Unknown run "${named.slice(0, 200)}".`, 'Call list_runs to list run names.');
	}

	/** Discards the run list if it is older than `ms`. @returns whether it was */
	#expire(ms: number): boolean {
		const isOld = this.#listed === null || performance.now() - this.#listed.at > ms;
		if (isOld) this.#listed = null;
		return isOld;
	}

	/** Returns a newly created run. */
	async added(folder: string): Promise<KnownRun> {
		this.#listed = null;
		return (await this.list()).find((run) => run.folder === folder) ?? { name: basename(folder), folder, within: true };
	}

	async open(named: string): Promise<{ readonly run: KnownRun; readonly content: RunContent }> {
		const run = await this.find(named);
		let content = this.#opened.get(run.folder);
		if (content === undefined) {
			content = openRun(run.folder);
			this.#opened.set(run.folder, content);
			content.catch(() => this.#opened.delete(run.folder));
		}
		return { run, content: await content };
	}

	/** Returns the rollout index without updating it, which suffices for text search. */
	index(): Promise<RolloutIndex> {
		if (this.#index === null) {
			this.#index = this.#openIndex();
			this.#index.catch(() => {
				this.#index = null;
			});
		}
		return this.#index;
	}

	/**
	 * Updates the rollout index for the given runs. The index is saved in the user's data folder, so that the next server
	 * for the same folders only reads what has changed. Fails with `cancelled`, in which case data read so far is kept.
	 * @returns the runs that cannot be read, with the reason
	 */
	async updateIndex(
		runs: readonly KnownRun[],
		{ signal, progress }: { readonly signal: AbortSignal; readonly progress: Progress },
	): Promise<{ readonly run: string; readonly failure: Failure }[]> {
		const index = await unlessAborted(this.index(), signal);
		const unread: { readonly run: string; readonly failure: Failure }[] = [];
		for (const [i, { name, folder }] of runs.entries()) {
			const subscription = index.onProgress(({ run, state, done, total }) => {
				if (run !== folder || state !== 'indexing' || done >= total) return;
				const percent = Math.floor((100 * done) / total);
				progress(
					i + done / total,
					runs.length,
					`Indexing ${i + 1} of ${formatCounted(runs.length, 'run')} (${percent}%)`,
				);
			});
			try {
				await index.index(folder, signal);
			} catch (error) {
				const failure = Failure.from(error);
				if (failure.reason === 'cancelled') throw failure;
				unread.push({ run: name, failure });
			} finally {
				subscription.dispose();
			}
		}
		return unread;
	}

	async #openIndex(): Promise<RolloutIndex> {
		const storage = await indexFolder(`mcp ${this.#folders.join('\0')}`).catch(() => null);
		const index = await RolloutIndex.open({ storage, memoryMb: indexMb, threads: indexThreads });
		// Remove deleted runs now; read the others when a call needs them.
		index.pause(true);
		await index.setRuns((await this.list()).map(({ folder }) => folder));
		return index;
	}

	/**
	 * Resolves a file inside the server's folders, following links. Fails with `denied` if the file is outside, or
	 * `missing` if it does not exist.
	 * @param path absolute, or relative to one of the folders
	 */
	async fileWithin(path: string): Promise<string> {
		for (const folder of this.#folders) {
			const root = await realpath(folder).catch(() => null);
			if (root === null) continue;
			this.#roots.add(root);
			const real = await realpath(resolve(root, path)).catch(() => null);
			if (real?.startsWith(root.endsWith(sep) ? root : root + sep)) return real;
		}
		const found = isAbsolute(path) && (await realpath(path).catch(() => null)) !== null;
		if (found) {
			throw new Failure(
				'denied',
				`${path} is not inside a folder that this server can access.`,
				'Pass its folder with --folder when starting the server.',
			);
		}
		throw new Failure('missing', `${path} was not found in the server's folders.`);
	}

	/** Returns a path resolved by `fileWithin` relative to its folder, with `/` as the separator. */
	relativePath(path: string): string {
		const near = [...this.#roots].find((root) => isInside(path, root));
		return (near === undefined ? path : relative(near, path)).replaceAll(sep, '/');
	}

	async dispose(): Promise<void> {
		await (await this.#index?.catch(() => null))?.close();
	}
}
