import { lstat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { formatCount, formatCounted } from '../base/format.ts';
import { benchmarks } from '../core/evaluation/benchmarks.ts';
import { comparePaired, countProblems, pairProblems } from '../core/evaluation/pairProblems.ts';
import { publishedResults } from '../core/evaluation/publishedResults.ts';
import { requireInside } from '../files/ownFolder.ts';
import { benchmarkNames } from '../protocol/benchmarks.ts';
import { decodeOrThrow } from '../protocol/decode.ts';
import {
	type EvaluatedQuestion,
	type EvaluationSpec,
	evaluationFiles,
	evaluationSpecSchema,
} from '../protocol/evaluationFolder.ts';
import type { PolicySpec } from '../protocol/policySpec.ts';
import { runOfCheckpoint } from '../runs/prepareRun.ts';
import { trainingFileOf } from '../runs/trainingFile.ts';
import type { Evaluation, EvaluationProgress } from '../search/evaluate/evaluatePolicy.ts';
import { printable } from './cliOutput.ts';
import { cliSearchContext } from './cliSearchContext.ts';
import { environmentOf, episodeOptions } from './episodeSearchArguments.ts';
import { againstLines, evaluationLines, publishedLines } from './evaluationText.ts';
import { onInterrupt } from './interrupts.ts';
import { choice, group, integer, number, type Options, type OptionValues, path, repeatable, text } from './options.ts';
import { problemOptions, problemsOf } from './problemArguments.ts';
import { policyOf, policyOptions } from './searchArguments.ts';
import { defineVerb } from './verb.ts';
import { WorkProgress } from './workProgress.ts';

/** DeepSeek-R1 (Guo et al. 2025, section 3): temperature 0.6, top-p 0.95; pass@1 averaged over several samples. */
const protocols = { r1: { temperature: 0.6, topP: 0.95, samples: 16 } } as const;

/** Significance level of the paired test for a drop in accuracy against the baseline. */
const maxForFell = 0.05;

const options = {
	samples: integer('K', 'Completions per question (default: 1).'),
	benchmark: choice(
		benchmarkNames,
		'NAME',
		'Read, score, and sample the rows of --dataset the way this benchmark does.',
	),
	protocol: choice(['r1'], 'NAME', 'Use the DeepSeek-R1 evaluation settings: temperature 0.6, top-p 0.95, 16 samples.'),
	category: text('NAME', 'Category column, for results per category.'),
	out: path(
		'DIR',
		'Evaluation folder (default: in the run, else evaluations/). If it exists, the evaluation continues where it left off.',
	),
	baseline: path('DIR', 'Earlier evaluation on the same questions. Exits with status 1 if accuracy fell (p < 0.05).'),
	against: text('OTHER', 'Another evaluation, or a policy to evaluate the same way, for a per-question comparison.'),
	train: repeatable(path('FILE', 'JSONL the policy was trained on, checked for overlap with the questions.')),
	concurrency: integer('N', 'Concurrent questions (default: 16).'),
	seed: integer('S', 'Random seed (default: 0).'),
	...group('Sampling', {
		temperature: number('T', 'Sampling temperature (default: 1).'),
		'top-p': number('P', 'Nucleus sampling threshold (default: 1).'),
		'max-tokens': integer('N', 'Max tokens per completion.'),
	}),
	...policyOptions,
	...problemOptions('held-out'),
	...episodeOptions,
} as const satisfies Options;

type Values = OptionValues<typeof options>;

export const evaluateVerb = defineVerb({
	name: 'evaluate',
	group: 'Search and evaluate',
	usage: '--policy P --dataset FILE [options]',
	summary:
		'Evaluate a policy on a set of questions: pass@1, pass@k, and cons@k with confidence intervals (docs/evaluation.md).',
	options,
	async run({ values, output, engine, args }) {
		const spec = await specOf(values);
		const folder = values.out === undefined ? await folderOf(spec) : resolve(values.out);
		const { evaluatePolicy } = await import('../search/evaluate/evaluatePolicy.ts');
		// Read the baseline first so that an invalid one fails before any evaluation work.
		const baseline = values.baseline === undefined ? null : await readBaseline(resolve(values.baseline));
		const other = values.against === undefined ? null : await otherOf(values.against, values, spec);
		const training = await trainingFiles(values.train ?? [], spec);
		const context = cliSearchContext(engine, args, values.python);
		const interrupt = new AbortController();
		const release = onInterrupt(() => interrupt.abort());
		const measure = async (one: EvaluationSpec, path: string): Promise<Evaluation> => {
			const display = new WorkProgress<EvaluationProgress>(
				output,
				'question',
				(progress) => progress,
				({ done, total, accuracy }) =>
					`${formatCount(done)} of ${formatCounted(total, 'question')}${Number.isNaN(accuracy) ? '' : `, accuracy ${accuracy.toFixed(3)}`}`,
			);
			const evaluation = await evaluatePolicy({
				...{ spec: one, folder: path, context, signal: interrupt.signal, training },
				...{ onFault: display.fault, onProgress: display.progress },
			});
			display.end();
			return evaluation;
		};
		try {
			// Evaluate the other policy first; the comparison needs both results.
			const first = other === null || 'questions' in other ? other : await measure(other.spec, other.folder);
			const evaluation = await measure(spec, folder);
			const { questions, notes, ...rest } = evaluation;
			const summary = { ...rest, ...(notes.length === 0 ? {} : { notes }) };
			const benchmark = spec.problems.from === 'file' ? spec.problems.benchmark : undefined;
			const published = benchmark === undefined ? [] : publishedResults(benchmark);
			const against = first === null ? null : compared(first.questions, questions);
			const guard = baseline === null ? null : compared(baseline, questions);
			output.object({
				...{ kind: 'evaluation', folder, ...summary },
				...(published.length === 0 ? {} : { published }),
				...(against === null ? {} : { against: { name: values.against, ...against } }),
				...(guard === null ? {} : { baseline: guard }),
			});
			for (const line of [...evaluationLines(evaluation), ...publishedLines(published)]) output.line(printable(line));
			for (const note of notes) output.line(printable(`Note: ${note} Add --environment to play episodes.`));
			if (against !== null) for (const line of againstLines('against', against)) output.line(printable(line));
			const fell = guard !== null && guard.test !== 'none' && guard.difference.mean < 0 && guard.p < maxForFell;
			if (guard !== null) for (const line of againstLines('baseline', guard)) output.line(printable(line));
			if (fell) output.line(`Accuracy fell (p < ${maxForFell}).`);
			output.line(printable(folder));
			return evaluation.done < evaluation.total || fell ? 1 : 0;
		} finally {
			release();
			context.pool.dispose();
		}
	},
});

/** Resolves `--against`: an existing evaluation, or a policy to evaluate with the same settings. */
async function otherOf(
	named: string,
	values: Values,
	spec: EvaluationSpec,
): Promise<{ readonly questions: EvaluatedQuestion[] } | { readonly spec: EvaluationSpec; readonly folder: string }> {
	const path = resolve(named);
	if (await lstat(join(path, evaluationFiles.evaluation)).catch(() => null))
		return { questions: await readBaseline(path) };
	const policy = await policyOf({ ...values, policy: named });
	const other = { ...spec, policy, name: nameOf(policy, spec.problems) };
	const folder = await folderOf(other);
	if (folder !== (values.out === undefined ? await folderOf(spec) : resolve(values.out)))
		return { spec: other, folder };
	throw new Failure(
		'invalid',
		'--against specifies the policy that is already being evaluated.',
		'Choose another checkpoint.',
	);
}

/**
 * Returns the given training files, plus the run's own training file when a checkpoint answers questions from another
 * file.
 */
async function trainingFiles(named: readonly string[], { policy, problems }: EvaluationSpec): Promise<string[]> {
	const files = named.map((path) => resolve(path));
	const run = runOf(policy);
	if (run === null || problems.from !== 'file') return files;
	const known = await trainingFileOf(run);
	return known === null || files.includes(known) ? files : [...files, known];
}

function compared(baseline: readonly EvaluatedQuestion[], now: readonly EvaluatedQuestion[]) {
	const counts = (questions: readonly EvaluatedQuestion[]) =>
		countProblems(questions.flatMap(({ key, samples }) => samples.map(({ correct }) => ({ problem: key, correct }))));
	return comparePaired(pairProblems(counts(baseline), counts(now)));
}

async function readBaseline(path: string): Promise<EvaluatedQuestion[]> {
	const { readEvaluation, readQuestions } = await import('../runs/evaluationFiles.ts');
	const file = await readEvaluation(path);
	if (file === null) {
		throw new Failure(
			'missing',
			`${path} does not contain an evaluation.`,
			'Specify the --out folder of another evaluation.',
		);
	}
	const questions = [...(await readQuestions(path, file.problems.count)).values()];
	if (questions.length > 0) return questions;
	throw new Failure(
		'invalid',
		`The evaluation in ${path} has no finished questions.`,
		'Wait until at least one question is finished.',
	);
}

/** Returns the output folder: inside the run of the evaluated checkpoint, or under the working directory. */
async function folderOf({ policy, name }: EvaluationSpec): Promise<string> {
	const safe = name.replace(/[^\w.-]+/g, '-');
	const run = runOf(policy);
	return run === null
		? requireInside(process.cwd(), 'evaluations', safe)
		: requireInside(run, 'annotations', 'evaluations', safe);
}

function runOf(policy: PolicySpec): string | null {
	if (policy.kind === 'engine') return policy.run;
	if (policy.kind !== 'checkpoint') return null;
	const run = runOfCheckpoint(policy.folder);
	return run === policy.folder ? null : run;
}

async function specOf(values: Values): Promise<EvaluationSpec> {
	const { protocol, category, out } = values;
	const benchmark = values.benchmark ?? null;
	// Settings used for the published results, except for the sample count, which depends on the benchmark size.
	const preset =
		benchmark !== null
			? { ...protocols.r1, samples: benchmarks[benchmark].samples }
			: protocol === undefined
				? null
				: protocols[protocol];
	const named = await problemsOf(values, 'held-out', values.environment !== undefined);
	if (benchmark !== null && named?.from !== 'file') {
		throw new Failure('invalid', `--benchmark ${benchmark} requires a dataset file.`, 'Use --dataset FILE (JSONL).');
	}
	const problems = benchmark !== null && named?.from === 'file' ? { ...named, benchmark } : named;
	if (problems === undefined) {
		throw new Failure('invalid', 'No questions specified.', 'Use --dataset FILE, --task NAME, or --run RUN.');
	}
	const policy = await policyOf(values);
	const environment = await environmentOf(values);
	const { concurrency, 'max-tokens': maxTokens } = values;
	return decodeOrThrow(
		evaluationSpecSchema,
		{
			name: out === undefined ? nameOf(policy, problems) : basename(resolve(out)),
			policy,
			problems,
			samples: values.samples ?? preset?.samples ?? 1,
			sampling: {
				temperature: values.temperature ?? preset?.temperature ?? 1,
				topP: values['top-p'] ?? preset?.topP ?? 1,
				...(maxTokens === undefined ? {} : { maxTokens }),
			},
			...(environment === null ? {} : { environment }),
			category: category ?? (benchmark === null ? null : benchmarks[benchmark].category),
			...(concurrency === undefined ? {} : { concurrency }),
			seed: values.seed ?? 0,
		},
		'The evaluation',
	);
}

/** Builds a name from the questions and the checkpoint, because a run can have several evaluations. */
function nameOf(policy: PolicySpec, problems: EvaluationSpec['problems']): string {
	const of =
		problems.from === 'file'
			? (problems.benchmark ?? basename(problems.path).replace(/\.\w+$/, ''))
			: `${problems.part}-${problems.from}`;
	if (policy.kind === 'checkpoint') return `${of}-${basename(policy.folder)}`;
	if (policy.kind === 'scripted') return `${of}-${basename(policy.file).replace(/\.\w+$/, '')}`;
	return policy.kind === 'openai' ? `${of}-${policy.model}` : of;
}
