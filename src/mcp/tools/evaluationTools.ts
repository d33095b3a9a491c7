import { basename } from 'node:path';
import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import { formatAddress } from '../../core/address/dataAddress.ts';
import { messageText } from '../../core/trace/messageText.ts';
import { readJson } from '../../files/safeFile.ts';
import { evaluationFiles } from '../../protocol/evaluationFolder.ts';
import { type ListedEvaluation, listEvaluations, readQuestions } from '../../runs/evaluationFiles.ts';
import { pageOf, quote } from '../answer.ts';
import * as input from '../inputs.ts';
import { defineTool } from '../tool.ts';

const only = v.optional(
	input.described(v.picklist(['all', 'correct', 'incorrect']), 'Which samples to return.'),
	'all',
);
const kept = (only: 'all' | 'correct' | 'incorrect') => (sample: { readonly correct: boolean }) =>
	only === 'all' || sample.correct === (only === 'correct');

export const listEvaluationsOfRun = defineTool({
	name: 'list_evaluations',
	title: 'List evaluations',
	description:
		'List the evaluations of a run: evaluations during training with accuracy and confidence interval, and checkpoint evaluations with pass@k and cons@k.',
	input: v.object({ run: input.run, limit: input.limit(50), cursor: input.cursor }),
	async run({ run: named, limit, cursor }, { runs }) {
		const { run, content } = await runs.open(named);
		const during = (await content.evaluations()).map((evaluation) => ({ ...evaluation, of: 'training' as const }));
		const later = (await listEvaluations(run.folder)).map((evaluation) => ({
			...evaluation,
			of: 'checkpoint' as const,
		}));
		const page = pageOf([...during, ...later], cursor, limit);
		const items = await Promise.all(
			page.items.map(async (one) => {
				if (one.of === 'checkpoint') return checkpointEvaluation(run.name, one);
				const { name, step } = one;
				return { ...one, address: formatAddress({ kind: 'evaluation', run: run.name, name, step }) };
			}),
		);
		return { run: run.name, ...page, items };
	},
});

async function checkpointEvaluation(run: string, { path, file, step }: ListedEvaluation) {
	// Written by Reasoning Lab, but the folder can come from someone else, so validate it.
	const report = await readJson(path, evaluationFiles.report).catch(() => null);
	return {
		of: 'checkpoint',
		evaluation: basename(path),
		address: formatAddress({ kind: 'evaluation', run, name: basename(path), step: null }),
		step,
		policy: file.policy.name,
		problems: { name: file.problems.name, count: file.problems.count },
		samples: file.spec.samples,
		report: report === null ? null : quote(JSON.stringify(report), 4000),
	};
}

export const readEvaluationSamples = defineTool({
	name: 'read_evaluation',
	title: 'Read an evaluation',
	description:
		'Read the samples of an evaluation page by page: prompt, completion, expected answer and whether it is correct. Pass name and step for an evaluation during training, or evaluation for a checkpoint evaluation.',
	input: v.object({
		run: input.run,
		name: v.optional(input.text('Name of an evaluation during training.', 200)),
		step: v.optional(input.step),
		evaluation: v.optional(input.text('Evaluation of a checkpoint, as returned by list_evaluations.', 300)),
		only,
		characters: input.characters,
		limit: input.limit(10),
		cursor: input.cursor,
	}),
	async run({ run: named, name, step, evaluation, only, characters, limit, cursor }, { runs }) {
		const { run, content } = await runs.open(named);
		const shown = (text: string) => quote(text, characters);
		if (evaluation !== undefined) {
			const found = (await listEvaluations(run.folder)).find(({ path }) => basename(path) === evaluation);
			if (found === undefined) throw unknownEvaluation(run.name, evaluation);
			const questions = await readQuestions(found.path, found.file.problems.count);
			const samples = [...questions.values()].flatMap((question) =>
				question.samples.map((one, sample) => ({ question, sample, correct: one.correct, one })),
			);
			const page = pageOf(samples.filter(kept(only)), cursor, limit);
			const items = page.items.map(({ question: { problem, prompt, answer }, sample, one }) => ({
				...{ problem, sample, correct: one.correct, truncated: one.truncated },
				...{ prompt: shown(prompt), completion: shown(one.completion) },
				answer: answer === null ? null : shown(answer),
			}));
			const address = formatAddress({ kind: 'evaluation', run: run.name, name: evaluation, step: null });
			return { run: run.name, evaluation, address, ...page, items };
		}
		if (name === undefined || step === undefined) {
			throw new Failure('invalid', 'No evaluation was specified.', 'Pass name and step, or evaluation.');
		}
		if (!(await content.evaluations()).some((one) => one.name === name && one.step === step)) {
			throw unknownEvaluation(run.name, `${name} at step ${step}`);
		}
		const lines = await content.evaluationLines(step, name);
		const page = pageOf(lines.filter(kept(only)), cursor, limit);
		return {
			run: run.name,
			address: formatAddress({ kind: 'evaluation', run: run.name, name, step }),
			samples_recorded: lines.length,
			...page,
			items: page.items.map(({ problem, sample, prompt, completion, answer, correct, truncated }) => ({
				...{
					problem,
					sample,
					correct,
					truncated,
					prompt: shown(messageText(prompt)),
					completion: shown(messageText(completion)),
				},
				answer: answer == null ? null : shown(String(answer)),
			})),
		};
	},
});

const unknownEvaluation = (run: string, what: string) =>
	new Failure('missing', `${run} has no evaluation ${what}.`, 'Call list_evaluations to list its evaluations.');
