import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import { formatCounted, formatPercent } from '../../base/format.ts';
import { environmentName } from '../../core/episode/sameEnvironment.ts';
import { benchmarks } from '../../core/evaluation/benchmarks.ts';
import { type BenchmarkName, benchmarkNames } from '../../protocol/benchmarks.ts';
import type { SearchEnvironment } from '../../protocol/searchSpec.ts';
import { type CheckpointInfo, listCheckpoints } from '../../runs/runReader.ts';
import { trainedEnvironment } from '../../runs/trainedEnvironment.ts';
import { showQuickPick } from '../quickInput.ts';
import { displayText, nameOf, type RunView } from '../runView.ts';

/** Evaluation settings, as command-line arguments. */
export interface EvaluationChoice {
	readonly checkpoint: string;
	readonly args: readonly string[];
	/** The run's environment if episodes are played. */
	readonly environment: SearchEnvironment | null;
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
	/** Whether a policy that was trained on episodes plays them. Default: true. */
	readonly episodes?: boolean;
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
	const trained = await trainedEnvironment(view.folder).catch(() => null);
	if (answers !== null) {
		const checkpoint = checkpoints.find(({ step }) => step === answers.step);
		if (checkpoint === undefined) {
			throw new Failure('missing', `${nameOf(view)} has no complete checkpoint at step ${answers.step}.`);
		}
		const environment = answers.episodes === false ? null : trained;
		return { checkpoint: checkpoint.path, args: argumentsOf(view, answers, environment), environment };
	}
	const checkpoint = await askCheckpoint(view, checkpoints);
	const asked = checkpoint && (await askQuestions(view, trained));
	const questions = asked?.args;
	// A benchmark defines its own number of samples.
	const sampling = questions && (questions.includes('--benchmark') ? [] : await askSampling());
	if (checkpoint === undefined || asked === undefined || sampling === undefined) return undefined;
	return { checkpoint: checkpoint.path, args: [...asked.args, ...sampling], environment: asked.environment };
}

/** Returns the arguments for playing episodes; none without an environment. */
function episodeArguments(environment: SearchEnvironment | null): string[] {
	if (environment === null) return [];
	const { file, package: named, server, arguments: given, maxTurns, turnSeconds } = environment;
	return [
		...['--environment', file ?? named ?? server ?? '', '--turns', String(maxTurns), '--timeout', String(turnSeconds)],
		...(given === undefined ? [] : ['--arguments', JSON.stringify(given)]),
	];
}

function argumentsOf(view: RunView, answers: EvaluationAnswers, environment: SearchEnvironment | null): string[] {
	const { dataset, limit, samples, temperature, protocol } = answers;
	return [
		...(dataset === undefined ? ['--run', view.folder] : ['--dataset', dataset]),
		...(limit === undefined ? [] : ['--limit', String(limit)]),
		...(samples === undefined ? [] : ['--samples', String(samples)]),
		...(temperature === undefined ? [] : ['--temperature', String(temperature)]),
		...(protocol === undefined ? [] : ['--protocol', protocol]),
		...episodeArguments(environment),
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
	/** Whether the questions are rows for playing episodes. */
	readonly played?: boolean;
}

/**
 * Returns the questions that the run's policies can be evaluated on. A policy trained on episodes can also play them.
 */
export function questionChoices(trained: SearchEnvironment | null): (vscode.QuickPickItem & Questions)[] {
	const name = trained === null ? '' : displayText(environmentName(trained), 80);
	const own =
		trained === null
			? [{ label: "$(database) The run's held-out problems", description: 'not used for training', file: false }]
			: [
					{
						label: "$(play) Episodes on the run's held-out problems",
						description: `in ${name}, scored by its reward`,
						...{ file: false, played: true },
					},
					{
						label: '$(play) Episodes on rows of a file...',
						description: `JSONL with the columns of ${name}`,
						...filed,
					},
				];
	const first = trained === null ? '' : 'first turn only; ';
	return [
		...own,
		{ label: '$(file) A file...', description: `${first}JSONL with "prompt" and "answer"`, file: true },
		...benchmarkNames.map((benchmark) => ({
			label: `$(beaker) ${benchmark}...`,
			description: `${first}JSONL file with ${benchmarks[benchmark].title}, ${formatCounted(benchmarks[benchmark].samples, 'sample')} per question`,
			file: true,
			benchmark,
		})),
	];
}

const filed = { file: true, played: true } as const;

async function askQuestions(
	view: RunView,
	trained: SearchEnvironment | null,
): Promise<Pick<EvaluationChoice, 'args' | 'environment'> | undefined> {
	const picked = await showQuickPick<vscode.QuickPickItem & Questions>(questionChoices(trained), {
		title: 'Evaluate on',
		placeHolder: 'Select questions',
	});
	if (picked === undefined) return undefined;
	const { benchmark, played } = picked;
	const environment = played === true ? trained : null;
	const episodes = episodeArguments(environment);
	if (!picked.file) return { args: ['--run', view.folder, ...episodes], environment };
	const chosen = await vscode.window.showOpenDialog({
		title: 'Select evaluation questions',
		openLabel: 'Evaluate',
		filters: { 'JSON Lines': ['jsonl'] },
	});
	if (chosen?.[0] === undefined) return undefined;
	const asked = [...(benchmark === undefined ? [] : ['--benchmark', benchmark]), '--dataset', chosen[0].fsPath];
	return { args: [...asked, ...episodes], environment };
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
	const { step, dataset, limit, samples, temperature, protocol, episodes } = value as Record<string, unknown>;
	if (typeof step !== 'number') return null;
	const number = (name: string, one: unknown) => (typeof one === 'number' ? { [name]: one } : {});
	return {
		step,
		...(typeof dataset === 'string' ? { dataset } : {}),
		...number('limit', limit),
		...number('samples', samples),
		...number('temperature', temperature),
		...(protocol === 'r1' ? { protocol } : {}),
		...(typeof episodes === 'boolean' ? { episodes } : {}),
	};
}
