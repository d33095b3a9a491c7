import { Failure } from '../../base/failure.ts';
import { formatCounted } from '../../base/format.ts';
import { Random } from '../../base/random.ts';
import {
	type ComparisonPlan,
	type ComparisonPoint,
	planComparison,
} from '../../core/search/comparison/comparisonPlan.ts';
import { summarizeComparison } from '../../core/search/comparison/summarizeComparison.ts';
import { SearchStop } from '../../core/search/searchStop.ts';
import type { SearchTree } from '../../core/search/searchTree.ts';
import {
	type ComparedProblem,
	type ComparisonResult,
	type ComparisonSummary,
	comparisonFormat,
} from '../../protocol/strategyComparison.ts';
import type { SearchProblem, TreeEvent } from '../../protocol/treeLog.ts';
import type { OpenSearch } from '../openSearch.ts';
import { openComparedEpisodes } from './comparedEpisodes.ts';
import type { Judge } from './comparedProblems.ts';
import { openComparedQuestions } from './comparedQuestions.ts';
import { comparedResult, type ResultContext, unposedResult } from './comparedResult.ts';
import { type CompareOptions, openSearches, type Searches } from './comparedSearches.ts';
import { ComparisonFolder } from './comparisonFolder.ts';
import { samplingStrategy } from './sampling.ts';

/** Consecutive failures per concurrent search after which the policy or the scorer is considered unavailable. */
const maxFailures = 8;

/**
 * Compares search strategies on problems. Finished work is stored in a folder, so that starting the comparison again
 * continues it. Fails with `invalid` for an invalid specification, with the same errors as `openComparedQuestions`,
 * `openComparedEpisodes`, `OpenSearch.open` and `ComparisonFolder.open`, and with `unavailable` if the policy or a scorer fails repeatedly. When the signal fires,
 * resolves with a summary in state `stopped`.
 */
export async function compareStrategies(options: CompareOptions): Promise<ComparisonSummary> {
	const { spec, context, folder: path, signal } = options;
	const plan = planComparison(spec);
	const { environment } = spec;
	const problems =
		environment === undefined
			? await openComparedQuestions(spec.problems, context.policies.folder)
			: await openComparedEpisodes({ ...spec, environment }, context);
	let folder: ComparisonFolder | null = null;
	try {
		const read = () => problems.read(options.onFault ?? (() => undefined));
		folder = await ComparisonFolder.open(path, spec, read, Math.floor(Date.now() / 1000));
		const searches = await openSearches(options, plan, problems.environment?.episodes ?? null);
		try {
			const judge = await problems.judge(searches.tags, path);
			const name = problems.environment?.name ?? null;
			return await new Comparison(options, { plan, folder, searches, judge, environment: name }).run();
		} finally {
			searches.dispose();
		}
	} catch (error) {
		if (signal?.aborted && Failure.from(error).reason === 'cancelled') {
			throw new Failure('cancelled', 'The comparison was canceled before it started.');
		}
		throw error;
	} finally {
		await folder?.close();
		problems.dispose();
	}
}

/** A search to run. */
interface Job {
	readonly point: ComparisonPoint | 'samples' | 'bands';
	readonly problem: number;
}

const idOf = ({ point }: Job): string => (typeof point === 'string' ? point : point.id);

interface ComparisonParts {
	readonly plan: ComparisonPlan;
	readonly folder: ComparisonFolder;
	readonly searches: Searches;
	readonly judge: Judge;
	/** Name of the environment in which episodes are played; null if there is none. */
	readonly environment: string | null;
}

class Comparison {
	readonly #options: CompareOptions;
	readonly #plan: ComparisonPlan;
	readonly #folder: ComparisonFolder;
	readonly #searches: Searches;
	readonly #judge: Judge;
	readonly #environment: string | null;
	readonly #places: readonly Job['point'][];
	readonly #cancel = new AbortController();
	readonly #began = performance.now();
	#failuresInRow = 0;
	#failure: Failure | null = null;
	#summarized = performance.now();

	constructor(options: CompareOptions, { plan, folder, searches, judge, environment }: ComparisonParts) {
		this.#options = options;
		this.#plan = plan;
		this.#folder = folder;
		this.#searches = searches;
		this.#judge = judge;
		this.#environment = environment;
		this.#places = [
			'samples',
			...(options.spec.bandSamples > 0 ? (['bands'] as const) : []),
			...plan.points.filter(({ shared }) => shared === null),
		];
	}

	async run(): Promise<ComparisonSummary> {
		const { signal, spec } = this.#options;
		const abort = () => this.#cancel.abort();
		if (signal?.aborted) abort();
		signal?.addEventListener('abort', abort, { once: true });
		try {
			await this.#summarize('running');
			const jobs = this.#jobs();
			const workers = Math.min(spec.searches, this.#total);
			await Promise.all(Array.from({ length: workers }, () => this.#work(jobs)));
			await this.#folder.flush().catch((error: unknown) => {
				this.#failure ??= Failure.from(error);
			});
			if (!signal?.aborted) this.#failure ??= this.#nothingToCompare();
			if (this.#failure !== null) {
				await this.#summarize('failed').catch(() => undefined);
				throw this.#failure;
			}
			return await this.#summarize(signal?.aborted ? 'stopped' : 'ended');
		} finally {
			signal?.removeEventListener('abort', abort);
		}
	}

	/** Returns a failure if every search at every compared point failed, or null if any point has a result. */
	#nothingToCompare(): Failure | null {
		const { table } = this.#folder;
		const sources = this.#plan.points.map(({ id, shared }) => (shared === null ? id : 'samples'));
		if (sources.some((id) => table.facts(id).size > 0)) return null;
		const failures = table.failures();
		const searches = failures.total === 1 ? 'The only search failed' : `All ${failures.total} searches failed`;
		return new Failure('unavailable', `${searches}: ${failures}`, retryLater);
	}

	get #total(): number {
		return this.#folder.problems.length * this.#places.length;
	}

	/** Completes all points for one problem before starting the next, so that partial results cover the same problems. */
	*#jobs(): Generator<Job> {
		for (let problem = 0; problem < this.#folder.problems.length; problem++) {
			for (const point of this.#places) {
				const job = { point, problem };
				if (!this.#folder.table.has(idOf(job), problem)) yield job;
			}
		}
	}

	/** Processes jobs one at a time; all workers share the generator. */
	async #work(jobs: Generator<Job>): Promise<void> {
		for (const job of jobs) {
			if (this.#cancel.signal.aborted) return;
			try {
				await this.#search(job);
			} catch (error) {
				this.#fail(Failure.from(error));
			}
			await this.#tell();
		}
	}

	#fail(failure: Failure): void {
		if (this.#failure !== null || this.#options.signal?.aborted) return;
		this.#failure = failure;
		this.#cancel.abort();
	}

	async #search(job: Job): Promise<void> {
		const { point } = job;
		const id = idOf(job);
		const { spec } = this.#options;
		const own = typeof point !== 'string';
		const open = own ? (this.#searches.strategies.get(point.strategy) as OpenSearch) : this.#searches.samples;
		const { signal } = this.#cancel;
		const problem = await this.#posed(job, open);
		if (problem === null) return;
		const events: TreeEvent[] = [];
		let fault: string | null = null;
		const result = await open.run({
			id: `${id}/${job.problem}`,
			problem,
			signal,
			seed: Random.of(spec.seed, 'compare', id, job.problem).uint32(),
			...(own ? { budget: point.budget, spec: { params: { ...point.params } } } : this.#sampling(point, signal)),
			onEvent: (event) => {
				if (event.t === 'fault') fault = event.message;
				if (spec.trees) events.push(event);
			},
		}).result;
		if (result.outcome.stop === 'stopped') return;
		const kept = comparedResult(this.#contextOf(job, problem, result.tree, fault), result);
		if (spec.trees && kept.failed === undefined) {
			await this.#folder.writeTree(
				id,
				job.problem,
				events.map((event) => withVerdict(event, kept)),
			);
		}
		this.#add(kept);
	}

	/**
	 * Returns the problem in the form the search needs; null if its episodes cannot start, which still counts as a result.
	 */
	async #posed(job: Job, open: OpenSearch): Promise<SearchProblem | null> {
		const { prompt, answer, row } = this.#folder.problems[job.problem] as ComparedProblem;
		const problem = { prompt, answer, row };
		try {
			return await open.pose(problem);
		} catch (error) {
			if (!(error instanceof SearchStop)) throw error;
			if (!this.#cancel.signal.aborted) this.#add(unposedResult(idOf(job), job.problem, error.message));
			return null;
		}
	}

	#contextOf(job: Job, problem: SearchProblem, tree: SearchTree, fault: string | null): ResultContext {
		const names = this.#searches.scorers.map(({ name }) => name);
		return {
			point: idOf(job),
			problem: job.problem,
			episodes: this.#environment !== null,
			samples: typeof job.point === 'string' ? names : null,
			fault,
			judge: (node) => this.#judge(problem, tree, node),
		};
	}

	#add(kept: ComparisonResult): void {
		this.#folder.add(kept);
		if (this.#folder.failure !== null) throw this.#folder.failure;
		this.#count(kept);
	}

	#sampling(point: 'samples' | 'bands', signal: AbortSignal) {
		const bands = point === 'bands';
		const scorers = bands ? [] : this.#searches.scorers.map((scorer) => scorer.bind({ signal }));
		const tokens = Math.max(0, ...(bands ? [] : this.#searches.scorers.map((scorer) => scorer.tokens ?? 0)));
		const { sampling, bandSamples } = this.#options.spec;
		return {
			strategy: samplingStrategy(scorers),
			spec: {
				params: { n: bands ? bandSamples : this.#plan.samples },
				sampling: { ...sampling, tokens: Math.max(sampling.tokens, tokens) },
			},
		};
	}

	/** Counts consecutive failures, because a persistent cause affects every problem. */
	#count({ failed, stop }: ComparisonResult): void {
		if (failed === undefined) {
			this.#failuresInRow = 0;
			return;
		}
		if (++this.#failuresInRow < maxFailures + this.#options.spec.searches) return;
		const what = stop === 'scorer' ? 'a scorer' : stop === 'policy' ? 'the policy' : 'the environment';
		this.#fail(
			new Failure(
				'unavailable',
				`${formatCounted(this.#failuresInRow, 'search', 'searches')} in a row failed because ${what} failed: ${failed}`,
				retryLater,
			),
		);
	}

	async #tell(): Promise<void> {
		const { onProgress, summaryMs = 5000 } = this.#options;
		const { done, tokens } = this.#folder.table;
		onProgress?.({ done, total: this.#total, tokens, seconds: (performance.now() - this.#began) / 1000 });
		if (performance.now() - this.#summarized < summaryMs || this.#cancel.signal.aborted) return;
		this.#summarized = performance.now();
		await this.#summarize('running');
	}

	async #summarize(state: ComparisonSummary['state']): Promise<ComparisonSummary> {
		const { spec, onSummary } = this.#options;
		const { table, problems } = this.#folder;
		const failures = table.failures();
		const summary: ComparisonSummary = {
			format: comparisonFormat,
			name: spec.name,
			policy: this.#searches.policy,
			...(this.#environment === null ? {} : { environment: this.#environment }),
			done: table.done,
			total: this.#total,
			state,
			message: this.#failure?.toString() ?? null,
			failed: failures.total,
			failures: failures.groups(),
			problems: problems.length,
			samples: this.#plan.samples,
			seconds: (performance.now() - this.#began) / 1000,
			tokens: table.tokens,
			...summarizeComparison(spec, this.#plan, table),
		};
		await this.#folder.writeSummary(summary);
		onSummary?.(summary);
		this.#summarized = performance.now();
		return summary;
	}
}

const retryLater = 'Fix the cause, then run the comparison again. Failed searches are retried.';

/** Records in the end event whether the answer is correct, according to the comparison's own rule. */
function withVerdict(event: TreeEvent, { correct }: ComparisonResult): TreeEvent {
	return event.t === 'end' && correct !== null ? { ...event, correct: correct === 1 } : event;
}
