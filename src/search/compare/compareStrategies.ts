import { Failure } from '../../base/failure.ts';
import { formatCounted } from '../../base/format.ts';
import { Random } from '../../base/random.ts';
import { AnswerClasses } from '../../core/search/answerClasses.ts';
import {
	type ComparisonPlan,
	type ComparisonPoint,
	planComparison,
} from '../../core/search/comparison/comparisonPlan.ts';
import { summarizeComparison } from '../../core/search/comparison/summarizeComparison.ts';
import type { SearchResult } from '../../core/search/searchRun.ts';
import type { TreeNode } from '../../core/search/treeNode.ts';
import {
	type ComparedProblem,
	type ComparisonResult,
	type ComparisonSummary,
	comparisonFormat,
	type SampleResult,
} from '../../protocol/strategyComparison.ts';
import type { TreeEvent } from '../../protocol/treeLog.ts';
import type { OpenSearch } from '../openSearch.ts';
import { openProblemSet } from '../problemSet.ts';
import { createVerdict, type Verdict } from '../verdicts.ts';
import { type CompareOptions, openSearches, type Searches } from './comparedSearches.ts';
import { ComparisonFolder } from './comparisonFolder.ts';
import { samplingStrategy } from './sampling.ts';

/** Number of consecutive failures, per concurrent search, after which the policy or the scorer is considered gone. */
const maxFailures = 8;

/**
 * Compares search strategies on problems. Finished work is stored in a folder, so that starting the comparison again
 * continues it. Fails with `invalid` for an invalid specification, with the same errors as `OpenSearch.open` and
 * `ComparisonFolder.open`, and with `unavailable` if the policy or a scorer fails repeatedly. When the signal fires,
 * resolves with a summary in state `stopped`.
 */
export async function compareStrategies(options: CompareOptions): Promise<ComparisonSummary> {
	const { spec, context, folder: path, signal } = options;
	const plan = planComparison(spec);
	const set = await openProblemSet(spec.problems, context.policies.folder);
	const folder = await ComparisonFolder.open(
		path,
		spec,
		async () => {
			const problems: ComparedProblem[] = [];
			for await (const { key, prompt, answer, row } of set.problems(options.onFault ?? (() => undefined))) {
				problems.push({ key, prompt, answer, row: { ...row } });
			}
			if (problems.length === 0) throw new Failure('invalid', `${set.name} has no problems.`);
			return problems;
		},
		Math.floor(Date.now() / 1000),
	);
	try {
		const searches = await openSearches(options, plan);
		try {
			const verdict = await createVerdict(searches.tags, set.task, path);
			return await new Comparison(options, plan, folder, searches, verdict).run();
		} finally {
			searches.dispose();
		}
	} catch (error) {
		if (signal?.aborted && Failure.from(error).reason === 'cancelled') {
			throw new Failure('cancelled', 'The comparison was canceled before it started.');
		}
		throw error;
	} finally {
		await folder.close();
	}
}

/** A search to run. */
interface Job {
	readonly point: ComparisonPoint | 'samples' | 'bands';
	readonly problem: number;
}

const idOf = ({ point }: Job): string => (typeof point === 'string' ? point : point.id);

class Comparison {
	readonly #options: CompareOptions;
	readonly #plan: ComparisonPlan;
	readonly #folder: ComparisonFolder;
	readonly #searches: Searches;
	readonly #verdict: Verdict;
	readonly #places: readonly Job['point'][];
	readonly #cancel = new AbortController();
	readonly #began = performance.now();
	#failuresInRow = 0;
	#failure: Failure | null = null;
	#summarized = performance.now();

	constructor(
		options: CompareOptions,
		plan: ComparisonPlan,
		folder: ComparisonFolder,
		searches: Searches,
		verdict: Verdict,
	) {
		this.#options = options;
		this.#plan = plan;
		this.#folder = folder;
		this.#searches = searches;
		this.#verdict = verdict;
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

	/** Returns a failure if every search at every compared point failed, or null if some point has a result. */
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

	/** Completes all points for one problem before the next, so that partial results cover the same problems. */
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
		const given = this.#folder.problems[job.problem] as ComparedProblem;
		const problem = { prompt: given.prompt, answer: given.answer, row: given.row };
		const events: TreeEvent[] = [];
		const own = typeof point !== 'string';
		const open = own ? (this.#searches.strategies.get(point.strategy) as OpenSearch) : this.#searches.samples;
		const { signal } = this.#cancel;
		const result = await open.run({
			id: `${id}/${job.problem}`,
			problem,
			signal,
			seed: Random.of(spec.seed, 'compare', id, job.problem).uint32(),
			...(own ? { budget: point.budget, spec: { params: { ...point.params } } } : this.#sampling(point, signal)),
			onEvent: (event) => {
				if (spec.trees) events.push(event);
			},
		}).result;
		if (result.outcome.stop === 'stopped') return;
		const kept = this.#resultOf(job, result);
		if (spec.trees && kept.failed === undefined) {
			await this.#folder.writeTree(
				id,
				job.problem,
				events.map((event) => withVerdict(event, kept)),
			);
		}
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

	#resultOf(job: Job, { outcome, totals, tree, message }: SearchResult): ComparisonResult {
		const given = this.#folder.problems[job.problem] as ComparedProblem;
		const problem = { prompt: given.prompt, answer: given.answer, row: given.row };
		const judged = (node: TreeNode | undefined): 0 | 1 | null =>
			node === undefined ? this.#verdict(problem, '') : this.#verdict(problem, tree.textOf(node.id));
		const end = outcome.best?.at(-1);
		const finals = tree.nodes.filter(({ final, pruned }) => final && pruned === null);
		const { tokens, promptTokens, nodes, simulations, seconds, cost } = totals;
		const rights = finals.map(judged);
		const failed = outcome.stop === 'policy' || outcome.stop === 'scorer';
		return {
			point: idOf(job),
			problem: job.problem,
			correct: judged(end === undefined ? undefined : tree.node(end)),
			answer: outcome.answer,
			any: rights.includes(1) ? 1 : judged(undefined),
			value: outcome.value,
			stop: outcome.stop,
			...{ tokens, promptTokens, nodes, simulations, seconds, cost },
			...(failed ? { failed: message ?? `The ${outcome.stop} failed.` } : {}),
			...(typeof job.point === 'string' ? { samples: this.#samplesOf(tree.nodes, judged) } : {}),
		};
	}

	#samplesOf(nodes: readonly TreeNode[], judged: (node: TreeNode) => 0 | 1 | null): SampleResult[] {
		const classes = new AnswerClasses();
		const names = this.#searches.scorers.map(({ name }) => name);
		return nodes
			.filter(({ parents }) => parents[0] === 0)
			.map((node) => ({
				correct: judged(node),
				class: node.answer === null ? null : classes.of(node.answer),
				final: node.final,
				tokens: node.tokens ?? 0,
				...(names.length === 0 ? {} : { scores: names.map((name) => node.scores.get(name) ?? null) }),
			}));
	}

	/** Counts consecutive failures, because whatever fails repeatedly would fail for every problem. */
	#count({ failed, stop }: ComparisonResult): void {
		if (failed === undefined) {
			this.#failuresInRow = 0;
			return;
		}
		if (++this.#failuresInRow < maxFailures + this.#options.spec.searches) return;
		const what = stop === 'scorer' ? 'a scorer' : 'the policy';
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

/** Adds to the end event whether the answer is correct, according to the comparison's own rule. */
function withVerdict(event: TreeEvent, { correct }: ComparisonResult): TreeEvent {
	return event.t === 'end' && correct !== null ? { ...event, correct: correct === 1 } : event;
}
