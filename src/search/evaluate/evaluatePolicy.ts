import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import { type FailureGroup, FailureTally } from '../../base/failureTally.ts';
import { formatCounted } from '../../base/format.ts';
import { Random } from '../../base/random.ts';
import type { Problem } from '../../core/dataset/problem.ts';
import {
	type EvaluatedSample,
	type EvaluationReport,
	evaluationReport,
} from '../../core/evaluation/evaluationReport.ts';
import { SearchStop } from '../../core/search/searchStop.ts';
import type { SearchTree } from '../../core/search/searchTree.ts';
import type { TreeNode } from '../../core/search/treeNode.ts';
import { r1Tags } from '../../core/trace/trace.ts';
import { firstTurnNotes } from '../../policies/firstTurnNotes.ts';
import type { ContaminationFile, EvaluatedQuestion, EvaluationSpec } from '../../protocol/evaluationFolder.ts';
import { searchSpecSchema } from '../../protocol/searchSpec.ts';
import type { SearchProblem } from '../../protocol/treeLog.ts';
import { samplingStrategy } from '../compare/sampling.ts';
import { specifiedRows } from '../episodes/episodeProblems.ts';
import { hashOfProblems, hashOfRows } from '../hashOfProblems.ts';
import { OpenSearch } from '../openSearch.ts';
import { openProblemSet, type ProblemFault } from '../problemSet.ts';
import { absoluteEnvironment, type SearchContext } from '../searchContext.ts';
import { type AnswerAgain, answersAgain } from './answerAgain.ts';
import { episodeSamples } from './episodeSamples.ts';
import { EvaluationFolder } from './evaluationFolder.ts';
import { findContamination } from './findContamination.ts';
import { type Judge, openJudge } from './openJudge.ts';

export interface EvaluationProgress {
	/** Number of finished questions, and the total. */
	readonly done: number;
	readonly total: number;
	readonly seconds: number;
	/** Fraction of correct samples so far. */
	readonly accuracy: number;
}

export interface EvaluateOptions {
	readonly spec: EvaluationSpec;
	/** Evaluation folder, created if missing; an existing evaluation is continued. */
	readonly folder: string;
	readonly context: SearchContext;
	/** Stops and keeps the results so far; the evaluation can be continued later. */
	readonly signal?: AbortSignal;
	readonly onProgress?: (progress: EvaluationProgress) => void;
	/** Called for each question that is skipped because it cannot be read or has no answer to compare with. */
	readonly onFault?: (fault: ProblemFault) => void;
	/** JSONL files that the policy was trained on; overlaps with the questions are detected and stored in the folder. */
	readonly training?: readonly string[];
}

export interface Evaluation {
	readonly policy: string;
	readonly model: string;
	readonly problems: string;
	/** Number of finished questions, and the total. */
	readonly done: number;
	readonly total: number;
	/** Why questions failed, most frequent reason first; restarting retries them. */
	readonly failures: readonly FailureGroup[];
	readonly report: EvaluationReport;
	readonly questions: readonly EvaluatedQuestion[];
	/** Overlaps with the training files; null if no training file is known. */
	readonly contamination: ContaminationFile | null;
	/** Notes about the result, one sentence each. */
	readonly notes: readonly string[];
}

/** A question, or a row for which episodes are played. */
type Question = Pick<Problem, 'key' | 'prompt' | 'answer' | 'row'>;

/** Number of consecutive questions without a completion after which the policy is considered unavailable. */
const maxFailures = 8;

/**
 * Samples completions for every question and grades them with the built-in accuracy reward. Finished work is stored in
 * a folder, so that starting again continues with the same samples. Fails with `invalid` if the questions have no
 * answers, with `unavailable` if the policy fails repeatedly, and with the same errors as `OpenSearch.open` and
 * `EvaluationFolder.open`. When the signal fires, the promise resolves with the results so far, or rejects with
 * `cancelled` if there are none.
 */
export async function evaluatePolicy(options: EvaluateOptions): Promise<Evaluation> {
	const { spec, context, signal, folder: path } = options;
	const set = await openProblemSet(spec.problems, context.policies.folder);
	const kind = set.judge ?? 'math';
	const onFault = options.onFault ?? (() => undefined);
	const played = spec.environment !== undefined;
	const problems: readonly Question[] = played
		? await specifiedRows(spec.problems, context.policies.folder, onFault)
		: await judgeable(set.problems(onFault), set.name, kind === 'code', onFault);
	const { policy, sampling, tags, concurrency, seed, samples, environment } = spec;
	if (played && spec.judge !== undefined) {
		throw new Failure('invalid', "Episodes are judged by their environment's reward.", 'Remove the judge.');
	}
	if (spec.perturb !== undefined && (played || spec.judge !== undefined)) {
		const what = played ? 'Episodes' : 'Questions whose answers a scorer judges';
		throw new Failure('invalid', `${what} cannot be answered again with perturbed thinking.`, 'Remove "perturb".');
	}
	const values = played ? ({ use: 'environment' } as const) : (spec.judge ?? null);
	const search = await OpenSearch.open(
		v.parse(searchSpecSchema, {
			...{ policy, sampling, concurrency: Math.min(256, concurrency), seed },
			...(tags === undefined ? {} : { tags }),
			...(environment === undefined ? {} : { environment: absoluteEnvironment(environment, context.policies.folder) }),
			strategy: 'self-consistency',
			params: { n: samples },
			judge: values,
			split: 'completion',
		}),
		context,
		signal,
	);
	try {
		if (search.environment?.ownsReward === false) {
			throw new Failure(
				'unsupported',
				`${search.environment.name} has no get_reward, so its episodes cannot be judged.`,
				'Add the method to the environment.',
			);
		}
		const { name, model } = search.policy;
		const folder = await EvaluationFolder.open(path, {
			spec,
			created: Math.floor(Date.now() / 1000),
			problems: {
				name: set.name,
				count: problems.length,
				hash: played ? hashOfRows(problems) : hashOfProblems(problems),
			},
			policy: { name, model },
		});
		try {
			const training = options.training ?? [];
			const contamination = training.length === 0 ? null : await findContamination(problems, training, signal);
			if (contamination !== null) await folder.writeContamination(contamination);
			const traceTags = tags ?? search.policy.tags ?? r1Tags;
			const judge = await openJudge(kind, traceTags, set.task, path);
			const again = answersAgain(search.policy, spec, traceTags);
			const failures = await new Sampling(options, problems, search, judge, again, folder).run();
			const questions = [...folder.questions.values()].sort((a, b) => a.problem - b.problem);
			if (questions.length === 0) {
				if (failures.total === 0)
					throw new Failure('cancelled', 'The evaluation was canceled before any question was answered.');
				const all = failures.total === 1 ? 'The only question failed' : `All ${failures.total} questions failed`;
				throw new Failure('unavailable', `${all}: ${failures}`, retryLater);
			}
			const report = evaluationReport(samplesOf(questions));
			await folder.writeReport(report);
			return {
				policy: name,
				model,
				problems: set.name,
				done: questions.length,
				total: problems.length,
				failures: failures.groups(),
				report,
				questions,
				contamination,
				notes: played ? [] : firstTurnNotes(search.policy.environment),
			};
		} finally {
			await folder.close();
		}
	} finally {
		search.dispose();
	}
}

/** Returns the questions' samples in the form that reports use. */
export function samplesOf(questions: readonly EvaluatedQuestion[]): EvaluatedSample[] {
	return questions.flatMap(({ problem, category, samples }) =>
		samples.map(({ correct, answer, tokens, truncated, logprob, score }) => ({
			problem,
			category,
			correct,
			answer,
			tokens,
			truncated,
			logprob: logprob ?? null,
			score: score ?? null,
		})),
	);
}

async function judgeable(
	all: AsyncIterable<Problem>,
	name: string,
	/** Whether rows contain tests instead of an answer. */
	tested: boolean,
	onFault: (fault: ProblemFault) => void,
): Promise<Problem[]> {
	const problems: Problem[] = [];
	let read = 0;
	for await (const problem of all) {
		read++;
		if (tested || problem.answer !== null) problems.push(problem);
		else onFault({ line: read, message: 'has no answer to compare with' });
	}
	if (problems.length > 0) return problems;
	throw new Failure(
		'invalid',
		read === 0 ? `${name} has no questions.` : `No question in ${name} has an answer to compare with.`,
		'Set the answer column with --answer.',
	);
}

const retryLater = 'Fix the cause, then start the evaluation again. Failed questions are retried.';

const judgeFailed = (questions: number, message: string | null) =>
	new Failure(
		'unavailable',
		`The judge failed for ${formatCounted(questions, 'question')} in a row: ${message ?? 'it returned no value'}`,
		retryLater,
	);

class Sampling {
	readonly #options: EvaluateOptions;
	readonly #problems: readonly Question[];
	readonly #search: OpenSearch;
	readonly #judge: Judge;
	/** null if no thinking is perturbed. */
	readonly #again: AnswerAgain | null;
	readonly #folder: EvaluationFolder;
	readonly #began = performance.now();
	#failed = 0;
	readonly #failures = new FailureTally();
	#right = 0;
	#samples = 0;
	#failure: Failure | null = null;

	constructor(
		options: EvaluateOptions,
		problems: readonly Question[],
		search: OpenSearch,
		judge: Judge,
		again: AnswerAgain | null,
		folder: EvaluationFolder,
	) {
		this.#options = options;
		this.#problems = problems;
		this.#search = search;
		this.#judge = judge;
		this.#again = again;
		this.#folder = folder;
		for (const question of folder.questions.values()) this.#count(question);
	}

	/** @returns why questions have no completion */
	async run(): Promise<FailureTally> {
		const waiting = this.#problems.flatMap((_, i) => (this.#folder.questions.has(i) ? [] : [i])).values();
		this.#tell();
		const workers = Math.min(this.#options.spec.concurrency, this.#problems.length);
		await Promise.all(Array.from({ length: workers }, () => this.#work(waiting)));
		if (this.#failure !== null) throw this.#failure;
		return this.#failures;
	}

	/** Processes questions one at a time; all workers share the iterator. */
	async #work(waiting: Iterator<number>): Promise<void> {
		for (let next = waiting.next(); next.done !== true; next = waiting.next()) {
			if (this.#failure !== null || this.#options.signal?.aborted) return;
			try {
				await this.#sample(next.value);
			} catch (error) {
				this.#failure ??= Failure.from(error);
			}
		}
	}

	async #sample(number: number): Promise<void> {
		const { spec, signal } = this.#options;
		const { prompt, answer, row, key } = this.#problems[number] as Question;
		const problem = { prompt, answer, row: { ...row } };
		const posed = await this.#posed(problem);
		if (posed === null) return;
		const { outcome, tree, message } = await this.#search.run({
			problem: posed,
			strategy: samplingStrategy(this.#search.judge === null ? [] : 'judge'),
			seed: Random.of(spec.seed, 'evaluate', number).uint32(),
			...(signal === undefined ? {} : { signal }),
		}).result;
		if (outcome.stop === 'stopped') return;
		// Do not store a sample without a value, because it would never be retried.
		if (outcome.stop === 'policy' || outcome.stop === 'scorer' || outcome.stop === 'environment') {
			this.#failures.add(message ?? `The ${outcome.stop} failed.`);
			if (++this.#failed >= maxFailures) {
				if (outcome.stop === 'scorer') throw judgeFailed(this.#failed, message);
				const why = message ?? 'the policy returned no text';
				throw new Failure('unavailable', `${this.#failed} questions in a row have no completion: ${why}`, retryLater);
			}
			return;
		}
		this.#failed = 0;
		const category = spec.category === null ? null : row[spec.category];
		const { environment } = this.#search;
		const samples =
			environment === null ? await this.#judged(number, problem, tree) : episodeSamples(tree, environment);
		if (samples instanceof Failure) {
			this.#failures.add(samples.message);
			return;
		}
		if (samples.length === 0) {
			this.#failures.add('All episodes failed.');
			return;
		}
		const question: EvaluatedQuestion = {
			problem: number,
			key,
			prompt,
			answer,
			category: category === null || category === undefined ? null : String(category).slice(0, 200),
			samples,
		};
		await this.#folder.add(question);
		this.#count(question);
		this.#tell();
	}

	/** Returns null if the environment rejects the row. */
	async #posed(problem: SearchProblem): Promise<SearchProblem | null> {
		try {
			return await this.#search.pose(problem);
		} catch (error) {
			if (!(error instanceof SearchStop)) throw error;
			this.#failures.add(error.message);
			return null;
		}
	}

	/**
	 * Returns the failure if the policy could not answer again from a completion, because a question needs all of its
	 * samples.
	 */
	async #judged(
		number: number,
		problem: SearchProblem,
		tree: SearchTree,
	): Promise<EvaluatedQuestion['samples'] | Failure> {
		const nodes = tree.nodes.filter(({ parents }) => parents[0] === 0);
		const judged = await Promise.all(nodes.map((node, i) => this.#judgedNode([number, i], problem, tree, node)));
		const samples: EvaluatedQuestion['samples'] = [];
		for (const one of judged) {
			if (one instanceof Failure) return one;
			samples.push(one);
		}
		return samples;
	}

	async #judgedNode(
		stream: readonly number[],
		problem: SearchProblem,
		tree: SearchTree,
		node: TreeNode,
	): Promise<EvaluatedQuestion['samples'][number] | Failure> {
		const { signal } = this.#options;
		const text = tree.textOf(node.id);
		const again = this.#again === null ? null : await this.#again(problem.prompt, text, stream, signal);
		if (again instanceof Failure) return again;
		const verdict = await this.#judge(problem, again?.completion ?? text, signal);
		return {
			completion: node.text,
			answer: node.answer,
			tokens: node.tokens ?? 0,
			truncated: node.finish === null ? null : node.finish === 'length',
			// The log-probability belongs to the completion before its thinking was perturbed.
			...(node.logprob === null || again !== null ? {} : { logprob: node.logprob }),
			...(node.score === null ? {} : { score: node.score }),
			...again,
			correct: verdict === 1,
			...(this.#again === null ? {} : { perturbed: again !== null }),
		};
	}

	#count({ samples }: EvaluatedQuestion): void {
		this.#samples += samples.length;
		this.#right += samples.filter(({ correct }) => correct).length;
	}

	#tell(): void {
		this.#options.onProgress?.({
			done: this.#folder.questions.size,
			total: this.#problems.length,
			seconds: (performance.now() - this.#began) / 1000,
			accuracy: this.#samples === 0 ? Number.NaN : this.#right / this.#samples,
		});
	}
}
