import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { formatCounted, formatPercent } from '../../base/format.ts';
import { benchmarks } from '../../core/evaluation/benchmarks.ts';
import { type BenchmarkName, benchmarkNames } from '../../protocol/benchmarks.ts';
import { type CheckpointInfo, listCheckpoints } from '../../runs/runReader.ts';
import { showQuickPick } from '../quickInput.ts';
import { displayText, nameOf, type RunView } from '../runView.ts';

/** Evaluation settings, as command-line arguments. */
export interface EvaluationChoice {
	readonly checkpoint: string;
	readonly args: readonly string[];
}

/** Settings passed by the caller of the command to skip the prompts. */
export interface EvaluationAnswers {
	readonly step: number;
	/** Path of a JSONL file; if absent, the held-out problems of the run's own data are used. */
	readonly dataset?: string;
	readonly limit?: number;
	readonly samples?: number;
	readonly temperature?: number;
	readonly protocol?: 'r1';
}

/** Asks for the evaluation settings. Fails with `missing`. @returns undefined if the user canceled */
export async function evaluationChoice(
	view: RunView,
	answers: EvaluationAnswers | null,
): Promise<EvaluationChoice | undefined> {
	const checkpoints = await listCheckpoints(view.folder);
	if (checkpoints.length === 0) {
		throw new Failure(
			'missing',
			`${nameOf(view)} has no complete checkpoint.`,
			'Wait for the first checkpoint, or save one now.',
		);
	}
	if (answers !== null) {
		const checkpoint = checkpoints.find(({ step }) => step === answers.step);
		if (checkpoint === undefined) {
			throw new Failure('missing', `${nameOf(view)} has no complete checkpoint at step ${answers.step}.`);
		}
		return { checkpoint: checkpoint.path, args: argumentsOf(view, answers) };
	}
	const checkpoint = await askCheckpoint(view, checkpoints);
	const questions = checkpoint && (await askQuestions(view));
	// A benchmark defines its own number of samples.
	const sampling = questions && (questions.includes('--benchmark') ? [] : await askSampling());
	if (checkpoint === undefined || questions === undefined || sampling === undefined) return undefined;
	return { checkpoint: checkpoint.path, args: [...questions, ...sampling] };
}

function argumentsOf(view: RunView, answers: EvaluationAnswers): string[] {
	const { dataset, limit, samples, temperature, protocol } = answers;
	return [
		...(dataset === undefined ? ['--run', view.folder] : ['--dataset', dataset]),
		...(limit === undefined ? [] : ['--limit', String(limit)]),
		...(samples === undefined ? [] : ['--samples', String(samples)]),
		...(temperature === undefined ? [] : ['--temperature', String(temperature)]),
		...(protocol === undefined ? [] : ['--protocol', protocol]),
	];
}

async function askCheckpoint(view: RunView, checkpoints: CheckpointInfo[]): Promise<CheckpointInfo | undefined> {
	const items = checkpoints.reverse().map((checkpoint) => ({
		label: `Step ${checkpoint.step}`,
		description: [
			checkpoint.stage === null ? null : displayText(checkpoint.stage, 40),
			checkpoint.score === null ? null : `accuracy ${formatPercent(checkpoint.score)}`,
			checkpoint.best ? 'best' : null,
		]
			.filter((part) => part !== null)
			.join(' · '),
		checkpoint,
	}));
	const title = `Evaluate a checkpoint of ${nameOf(view)}`;
	const options = { title, placeHolder: 'Select a checkpoint' };
	return (await showQuickPick(items, options))?.checkpoint;
}

interface Questions {
	readonly file: boolean;
	readonly benchmark?: BenchmarkName;
}

async function askQuestions(view: RunView): Promise<string[] | undefined> {
	const items = [
		{ label: "$(database) The run's held-out problems", description: 'not used for training', file: false },
		{ label: '$(file) A file...', description: 'JSONL with "prompt" and "answer"', file: true },
		...benchmarkNames.map((name) => ({
			label: `$(beaker) ${name}...`,
			description: `JSONL file with ${benchmarks[name].title}, ${formatCounted(benchmarks[name].samples, 'sample')} per question`,
			file: true,
			benchmark: name,
		})),
	];
	const picked = await showQuickPick<vscode.QuickPickItem & Questions>(items, {
		title: 'Evaluate on',
		placeHolder: 'Select questions',
	});
	if (picked === undefined) return undefined;
	if (!picked.file) return ['--run', view.folder];
	const chosen = await vscode.window.showOpenDialog({
		title: 'Select evaluation questions',
		openLabel: 'Evaluate',
		filters: { 'JSON Lines': ['jsonl'] },
	});
	if (chosen?.[0] === undefined) return undefined;
	const { benchmark } = picked;
	return [...(benchmark === undefined ? [] : ['--benchmark', benchmark]), '--dataset', chosen[0].fsPath];
}

async function askSampling(): Promise<string[] | undefined> {
	const items = [
		{
			label: 'DeepSeek-R1 settings',
			description: 'temperature 0.6, top-p 0.95, 16 samples',
			args: ['--protocol', 'r1'],
		},
		{ label: 'Eight samples', description: 'temperature 1: pass@k, cons@k, and calibration', args: ['--samples', '8'] },
		{ label: 'One sample', description: 'temperature 1: quick', args: ['--samples', '1'] },
	];
	return (await showQuickPick(items, { title: 'Sampling', placeHolder: 'Select sampling settings' }))?.args;
}

/** Returns the settings passed with the command, or null if there are none. Fails with `invalid`. */
export function answersOf(value: unknown): EvaluationAnswers | null {
	if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
	const { step, dataset, limit, samples, temperature, protocol } = value as Record<string, unknown>;
	if (typeof step !== 'number') return null;
	const number = (name: string, one: unknown) => (typeof one === 'number' ? { [name]: one } : {});
	return {
		step,
		...(typeof dataset === 'string' ? { dataset } : {}),
		...number('limit', limit),
		...number('samples', samples),
		...number('temperature', temperature),
		...(protocol === 'r1' ? { protocol } : {}),
	};
}
