import { mkdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Failure } from '../../base/failure.ts';
import { ComparisonTable } from '../../core/search/comparison/comparisonTable.ts';
import { AppendFile } from '../../files/appendFile.ts';
import { ensureFolder, writeFileAtomic } from '../../files/atomicFile.ts';
import { FileLock } from '../../files/fileLock.ts';
import { formatLine } from '../../files/jsonLines.ts';
import {
	type ComparedProblem,
	type ComparisonFile,
	type ComparisonResult,
	type ComparisonSpec,
	type ComparisonSummary,
	comparisonFormat,
} from '../../protocol/strategyComparison.ts';
import type { TreeEvent } from '../../protocol/treeLog.ts';
import {
	comparisonFiles,
	comparisonResults,
	readComparedProblems,
	readComparison,
} from '../../runs/comparisonFolder.ts';
import { sealKey, sealOf } from '../../runs/searchSeal.ts';
import { hashOfProblems, hashOfRows } from '../hashOfProblems.ts';

/** Removes settings that only affect speed and storage, keeping those that affect results. */
function decisive({ name: _, searches: __, concurrency: ___, trees: ____, ...spec }: ComparisonSpec): string {
	return JSON.stringify(spec);
}

/** Environment rows can differ in columns other than the prompt. */
function hashOf({ environment }: ComparisonSpec, problems: readonly ComparedProblem[]): string {
	return environment === undefined ? hashOfProblems(problems) : hashOfRows(problems);
}

/** A comparison folder that a single process writes to. */
export class ComparisonFolder {
	readonly path: string;
	readonly problems: readonly ComparedProblem[];
	readonly table: ComparisonTable;
	/** Number of invalid lines in the results. */
	readonly unreadable: number;
	readonly #lock: FileLock;
	readonly #results: AppendFile;
	#waiting: string[] = [];
	#writing: Promise<void> | null = null;
	#failure: Failure | null = null;

	private constructor(path: string, lock: FileLock, problems: readonly ComparedProblem[], read: ReadResults) {
		this.path = path;
		this.problems = problems;
		this.table = read.table;
		this.unreadable = read.unreadable;
		this.#lock = lock;
		this.#results = new AppendFile(join(path, comparisonFiles.results));
	}

	/**
	 * Creates a comparison folder, or continues an existing comparison. `problems` is called if the folder does not
	 * contain any problems yet. Fails with `busy` while another process is writing to it, `mismatch` if it contains a
	 * different comparison, and `exists` if it is not a comparison folder.
	 */
	static async open(
		path: string,
		spec: ComparisonSpec,
		problems: () => Promise<readonly ComparedProblem[]>,
		now: number,
	): Promise<ComparisonFolder> {
		await ensureFolder(path);
		const lock = await FileLock.acquire(join(path, comparisonFiles.lock), `The comparison ${basename(path)}`);
		try {
			const known = await readComparison(path);
			if (known === null) {
				const found = await problems();
				await writeFileAtomic(join(path, comparisonFiles.problems), lines(found));
				const key = await sealKey();
				const file: ComparisonFile = {
					format: comparisonFormat,
					spec,
					problemsHash: hashOf(spec, found),
					created: now,
					...(key === null ? {} : { seal: sealOf(key, { id: String(now), spec }) }),
				};
				await writeFileAtomic(join(path, comparisonFiles.comparison), `${JSON.stringify(file, null, '\t')}\n`);
				return new ComparisonFolder(path, lock, found, {
					table: new ComparisonTable(found.length),
					unreadable: 0,
				});
			}
			if (decisive(known.spec) !== decisive(spec)) {
				throw new Failure(
					'mismatch',
					`${path} contains a comparison with a different specification.`,
					'Continue with the original specification, or choose another folder with --out.',
				);
			}
			const found = await readComparedProblems(path);
			if (hashOf(spec, found) !== known.problemsHash) {
				throw new Failure('corrupt', `${path}: ${comparisonFiles.problems} has changed since the comparison started.`);
			}
			return new ComparisonFolder(path, lock, found, await readResults(path, found.length));
		} catch (error) {
			await lock.release();
			throw error;
		}
	}

	/** Why writing has stopped; null if it has not. */
	get failure(): Failure | null {
		return this.#failure;
	}

	/** Accepts a result, which is written asynchronously. */
	add(result: ComparisonResult): void {
		this.table.add(result);
		this.#waiting.push(formatLine(result));
		this.#writing ??= this.#drain();
	}

	/**
	 * Writes the complete log of a finished search. Called before its result is written, so that every result has its
	 * tree.
	 */
	async writeTree(point: string, problem: number, events: readonly TreeEvent[]): Promise<void> {
		const folder = join(this.path, comparisonFiles.trees, point);
		await mkdir(folder, { recursive: true });
		try {
			// There can be thousands of small files, so do not wait for each to be flushed to disk.
			await writeFile(join(folder, `${problem}.jsonl`), [...lines(events)].join(''));
		} catch (error) {
			throw Failure.from(error, `Cannot write to ${folder}`);
		}
	}

	async writeSummary(summary: ComparisonSummary): Promise<void> {
		await writeFileAtomic(join(this.path, comparisonFiles.summary), `${JSON.stringify(summary)}\n`);
	}

	/** Resolves when every result is on disk. Fails with `full` or `denied` if that is impossible. */
	async flush(): Promise<void> {
		while (this.#writing !== null) await this.#writing;
		if (this.#failure !== null) throw this.#failure;
	}

	async close(): Promise<void> {
		while (this.#writing !== null) await this.#writing;
		await this.#results.close().catch(() => undefined);
		await this.#lock.release();
	}

	async #drain(): Promise<void> {
		await Promise.resolve();
		try {
			while (this.#waiting.length > 0 && this.#failure === null) {
				await this.#results.append(this.#waiting.splice(0).join(''));
			}
		} catch (error) {
			this.#failure = Failure.from(error);
		} finally {
			this.#writing = null;
		}
	}
}

interface ReadResults {
	readonly table: ComparisonTable;
	readonly unreadable: number;
}

function* lines(values: Iterable<unknown>): Iterable<string> {
	for (const value of values) yield formatLine(value);
}

async function readResults(path: string, problems: number): Promise<ReadResults> {
	const table = new ComparisonTable(problems);
	let unreadable = 0;
	for await (const result of comparisonResults(path)) {
		if (result === null) unreadable++;
		else table.add(result);
	}
	return { table, unreadable };
}
