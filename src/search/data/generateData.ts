import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import { type FailureGroup, FailureTally } from '../../base/failureTally.ts';
import { formatCounted } from '../../base/format.ts';
import { Random } from '../../base/random.ts';
import type { Problem } from '../../core/dataset/problem.ts';
import type { Right } from '../../core/search/export/treeFacts.ts';
import type { SearchResult } from '../../core/search/searchRun.ts';
import type { SearchTree } from '../../core/search/searchTree.ts';
import { r1Tags, type TraceTags } from '../../core/trace/trace.ts';
import { type DataExport, type DataSpec, labelExports } from '../../protocol/dataSpec.ts';
import { searchSpecSchema } from '../../protocol/searchSpec.ts';
import type { TreeEvent } from '../../protocol/treeLog.ts';
import { OpenSearch } from '../openSearch.ts';
import { openProblemSet, type ProblemFault, shortKey } from '../problemSet.ts';
import type { SearchContext } from '../searchContext.ts';
import { createVerdict, type Verdict } from '../verdicts.ts';
import { DataFolder, type DataTotals, type ProblemData } from './dataFolder.ts';
import { labelLines, searchLines } from './problemLines.ts';

export interface DataRunProgress {
	/** Number of finished problems, including those from earlier runs. */
	readonly problems: number;
	/** Number of problems finished in earlier runs. */
	readonly before: number;
	/**
	 * Number of problems whose search failed this time because the policy or a scorer failed; restarting retries
	 * them.
	 */
	readonly failed: number;
	/** Failure reasons, most frequent first. */
	readonly failures: readonly FailureGroup[];
	readonly tokens: number;
	readonly lines: Readonly<Record<string, number>>;
	readonly seconds: number;
}

export interface GenerateOptions {
	readonly spec: DataSpec;
	/** Output folder, created if missing; if it contains data, generation continues from there. */
	readonly folder: string;
	readonly context: SearchContext;
	/** Stops generation, keeping the data so far; it can be continued later. */
	readonly signal?: AbortSignal;
	readonly onProgress?: (progress: DataRunProgress) => void;
	/** Called for each problem that is skipped because it cannot be read. */
	readonly onFault?: (fault: ProblemFault) => void;
}

export interface GeneratedData extends DataRunProgress {
	readonly state: 'ended' | 'stopped';
	/** Size of each export, in bytes. */
	readonly bytes: Readonly<Record<string, number>>;
}

/**
 * The policy or the scorer is considered unavailable after this many consecutive failures, plus one for each
 * concurrent search.
 */
const maxFailures = 8;

/**
 * Runs a search on every problem and writes the results as training data. Problems are read on demand, and their trees
 * are discarded once their lines are written, so memory use does not grow with the number of problems. Fails with the
 * same errors as `compareStrategies`. When the signal fires, the promise resolves with the data so far.
 */
export async function generateData(options: GenerateOptions): Promise<GeneratedData> {
	const { spec, context, signal, folder: path } = options;
	const set = await openProblemSet(spec.problems, context.policies.folder);
	const folder = await DataFolder.open(path, spec, Math.floor(Date.now() / 1000));
	try {
		const searches = await openSearches(options);
		try {
			const verdict = await createVerdict(searches.tags, set.task, path);
			return await new Generation(options, folder, searches, verdict).run(set.problems(options.onFault ?? ignore));
		} finally {
			searches.dispose();
		}
	} catch (error) {
		if (signal?.aborted && Failure.from(error).reason === 'cancelled') {
			throw new Failure('cancelled', 'Data generation was canceled before it started.');
		}
		throw error;
	} finally {
		await folder.close();
	}
}

const ignore = () => undefined;

interface Searches {
	/** Main search; null if only steps are labeled, in which case no export needs it. */
	readonly search: OpenSearch | null;
	/** Search that completes steps; null if no steps are labeled. */
	readonly steps: OpenSearch | null;
	readonly tags: TraceTags;
	dispose(): void;
}

async function openSearches({ spec, context, signal }: GenerateOptions): Promise<Searches> {
	const labels = spec.exports.some((kind) => labelExports.includes(kind));
	// If the strategy itself completes steps, do not run it twice.
	const once = spec.search.strategy === 'step-completion';
	const plain = spec.exports.some((kind) => !labelExports.includes(kind));
	const opened: OpenSearch[] = [];
	const open = async (search: DataSpec['search']) => {
		const one = await OpenSearch.open(search, context, signal);
		opened.push(one);
		return one;
	};
	const dispose = () => {
		for (const one of opened) one.dispose();
	};
	try {
		const search = plain || once ? await open(spec.search) : null;
		const { solutions, completions } = spec.labels;
		const stepSpec = v.parse(searchSpecSchema, {
			...spec.search,
			strategy: 'step-completion',
			params: { solutions, completions },
			guide: null,
			judge: null,
		});
		const steps = !labels ? null : once ? search : await open(stepSpec);
		const tags = spec.search.tags ?? opened[0]?.policy.tags ?? r1Tags;
		return { search, steps, tags, dispose };
	} catch (error) {
		dispose();
		throw error;
	}
}

class Generation {
	readonly #options: GenerateOptions;
	readonly #folder: DataFolder;
	readonly #searches: Searches;
	readonly #verdict: Verdict;
	readonly #cancel = new AbortController();
	readonly #began = performance.now();
	readonly #before: number;
	readonly #failures = new FailureTally();
	#failuresInRow = 0;
	#failure: Failure | null = null;

	constructor(options: GenerateOptions, folder: DataFolder, searches: Searches, verdict: Verdict) {
		this.#options = options;
		this.#folder = folder;
		this.#searches = searches;
		this.#verdict = verdict;
		this.#before = folder.totals.problems;
	}

	async run(problems: AsyncIterable<Problem>): Promise<GeneratedData> {
		const { signal, spec } = this.#options;
		const abort = () => this.#cancel.abort();
		if (signal?.aborted) abort();
		signal?.addEventListener('abort', abort, { once: true });
		const source = problems[Symbol.asyncIterator]();
		try {
			await Promise.all(Array.from({ length: spec.searches }, () => this.#work(source)));
			if (!signal?.aborted) this.#failure ??= this.#nothingMade();
			if (this.#failure !== null) throw this.#failure;
			return { ...this.#progress(), state: signal?.aborted ? 'stopped' : 'ended', bytes: this.#folder.totals.bytes };
		} finally {
			signal?.removeEventListener('abort', abort);
			await source.return?.();
		}
	}

	/** Returns a failure if every search failed and there is no earlier data, otherwise null. */
	#nothingMade(): Failure | null {
		const { total } = this.#failures;
		if (total === 0 || this.#folder.totals.problems > 0) return null;
		const searches = total === 1 ? 'The only search failed' : `All ${total} searches failed`;
		return new Failure('unavailable', `${searches}: ${this.#failures}`, retryLater);
	}

	/** Processes problems one at a time; all workers share the source. */
	async #work(source: AsyncIterator<Problem>): Promise<void> {
		while (!this.#cancel.signal.aborted) {
			try {
				const next = await source.next();
				if (next.done || this.#cancel.signal.aborted) return;
				const key = shortKey(next.value.key);
				if (this.#folder.has(key)) continue;
				const data = await this.#solve(next.value, key);
				if (data !== null) await this.#folder.add(data);
				this.#options.onProgress?.(this.#progress());
			} catch (error) {
				this.#fail(Failure.from(error));
			}
		}
	}

	#fail(failure: Failure): void {
		if (this.#failure !== null || this.#options.signal?.aborted) return;
		this.#failure = failure;
		this.#cancel.abort();
	}

	/** Returns null if the search was stopped or failed. */
	async #solve(problem: Problem, key: string): Promise<ProblemData | null> {
		const { spec } = this.#options;
		const { search, steps, tags } = this.#searches;
		const given = { prompt: problem.prompt, answer: problem.answer, row: { ...problem.row } };
		const lines = new Map<DataExport, readonly unknown[]>();
		let tokens = 0;
		let stop = '';
		for (const one of new Set([search, steps])) {
			if (one === null) continue;
			const events: TreeEvent[] = [];
			const result = await one.run({
				id: key,
				problem: given,
				signal: this.#cancel.signal,
				seed: Random.of(spec.search.seed, 'data', one === steps ? 'steps' : 'search', key).uint32(),
				onEvent: (event) => {
					if (spec.trees) events.push(event);
				},
			}).result;
			if (!this.#usable(result)) return null;
			const { tree, outcome, totals } = result;
			tokens += totals.tokens;
			stop = outcome.stop;
			const right: Right = ({ id }) => {
				const value = this.#verdict(given, tree.textOf(id));
				return value === null ? null : value === 1;
			};
			if (one === search) {
				if (one.guide === null && one.judge === null) valueByAnswer(tree, right);
				const chosen = outcome.best?.at(-1) ?? null;
				const facts = {
					key,
					answer: problem.answer,
					strategy: one.spec.strategy,
					tokens: totals.tokens,
					tags,
					right,
					chosen,
				};
				for (const [kind, values] of searchLines(spec, tree, facts)) lines.set(kind, values);
			}
			if (one === steps) for (const [kind, values] of labelLines(spec, tree, right)) lines.set(kind, values);
			if (spec.trees) await this.#folder.writeTree(one === search ? key : `${key}-steps`, events);
		}
		return { key, stop, tokens, lines };
	}

	/**
	 * Returns whether a result can be used. Counts consecutive failures, because a persistent cause affects every
	 * problem.
	 */
	#usable({ outcome, message }: SearchResult): boolean {
		if (outcome.stop === 'stopped') return false;
		if (outcome.stop !== 'policy' && outcome.stop !== 'scorer') {
			this.#failuresInRow = 0;
			return true;
		}
		const why = message ?? `The ${outcome.stop} failed.`;
		this.#failures.add(why);
		if (++this.#failuresInRow >= maxFailures + this.#options.spec.searches) {
			const what = outcome.stop === 'scorer' ? 'a scorer' : 'the policy';
			this.#fail(
				new Failure(
					'unavailable',
					`${formatCounted(this.#failuresInRow, 'search', 'searches')} in a row failed because ${what} failed: ${why}`,
					retryLater,
				),
			);
		}
		return false;
	}

	#progress(): DataRunProgress {
		const { problems, tokens, lines }: DataTotals = this.#folder.totals;
		const seconds = (performance.now() - this.#began) / 1000;
		const { total: failed } = this.#failures;
		const failures = this.#failures.groups();
		return { problems, before: this.#before, failed, failures, tokens, lines: { ...lines }, seconds };
	}
}

const retryLater = 'Fix the cause, then start again. Failed searches are retried.';

/** If no scorer assigned values, gives correct completions a value of 1. */
function valueByAnswer(tree: SearchTree, right: Right): void {
	for (const node of tree.nodes) {
		if (!node.final) continue;
		const judged = right(node);
		if (judged !== null)
			tree.apply({ t: 'score', at: node.bornAt, id: node.id, scorer: 'accuracy', value: judged ? 1 : 0 });
	}
}
