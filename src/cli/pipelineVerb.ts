import { basename, join, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { pipelineFiles } from '../protocol/pipelineFiles.ts';
import { engineReleased } from '../runs/engineRelease.ts';
import { claimsRunning, readPipeline, readPipelineState } from '../runs/pipeline/pipelineFolder.ts';
import { viewPipeline } from '../runs/pipeline/pipelineView.ts';
import { readRounds } from '../runs/pipeline/readRounds.ts';
import { pipelinesOf, resumePipeline, stopPipeline } from '../runs/pipeline/startPipeline.ts';
import { isPipelineFolder } from '../runs/runFolders.ts';
import { agreement, runCodeOption } from './agreement.ts';
import { printable } from './cliOutput.ts';
import { knownRuns } from './findRun.ts';
import { foregroundPipeline } from './foregroundPipeline.ts';
import { flag, group, path } from './options.ts';
import { parallelOf, parallelOption } from './parallelOption.ts';
import { pipelineLines, roundLines } from './pipelineText.ts';
import { defineVerb, type VerbContext } from './verb.ts';

const actions = ['status', 'resume', 'stop'] as const;

export const pipelineVerb = defineVerb({
	name: 'pipeline',
	group: 'Train',
	arguments: [
		{ name: 'action', phrase: 'status, resume, or stop', type: actions },
		{ name: 'pipeline', phrase: 'a pipeline', type: 'path', optional: true },
	],
	summary: 'Show, resume, or stop a pipeline: a recipe with named stages (docs/pipelines.md).',
	options: group('resume', {
		recipe: path('FILE', 'Modified recipe: changed stages and all stages after them are rerun.'),
		'accept-changes': flag('Accept the current stage outputs, even if they have been edited.'),
		...runCodeOption,
		...parallelOption,
		detach: flag('Return as soon as the pipeline is running.'),
	}),
	async run({ values, positionals, ...context }) {
		const [action, named] = positionals as [string, string?];
		if (action !== 'resume' && Object.keys(values).length > 0) {
			throw new Failure(
				'invalid',
				`These options are only for pipeline resume, not pipeline ${action}.`,
				'See reasoning-lab help pipeline.',
			);
		}
		if (action === 'status') return showStatus(context, named);
		if (named === undefined) {
			throw new Failure(
				'invalid',
				`reasoning-lab pipeline ${action} requires a pipeline.`,
				'Specify its folder or name.',
			);
		}
		const folder = await findPipeline(named);
		if (action === 'stop') return stop(context, folder);
		return foregroundPipeline({
			output: context.output,
			detach: values.detach ?? false,
			start: (options) =>
				resumePipeline(
					folder,
					{
						...(values.recipe === undefined ? {} : { recipe: values.recipe }),
						acceptChanges: values['accept-changes'] ?? false,
					},
					{
						engine: context.engine,
						agree: agreement(context.output, values['run-code']),
						...parallelOf(values.parallel),
						...options,
					},
				),
		});
	},
});

async function showStatus({ output }: VerbContext, named: string | undefined): Promise<number> {
	const folders = named === undefined ? await knownPipelines() : [await findPipeline(named)];
	const views = [];
	for (const folder of folders) {
		try {
			views.push(await viewPipeline(folder));
		} catch (error) {
			if (named !== undefined) throw error;
			output.line(printable(Failure.from(error).message));
		}
	}
	const rounds = await Promise.all(views.map(({ folder, record }) => readRounds(folder, record)));
	output.object({
		pipelines: views.map(({ record, ...view }, i) => ({ ...view, rounds: rounds[i], error: record.error ?? null })),
	});
	if (views.length === 0) output.line('No pipelines found. To start one, run: reasoning-lab run NAME.recipe.json');
	for (const [i, view] of views.entries()) {
		if (i > 0) output.line('');
		for (const line of pipelineLines(view)) output.line(printable(line));
		for (const line of (rounds[i] ?? []).flatMap(roundLines)) output.line(printable(line));
	}
	return 0;
}

async function stop({ output }: VerbContext, folder: string): Promise<number> {
	const { record, status: before } = await readPipelineState(folder);
	if (!claimsRunning({ status: before })) {
		// The runner might still be shutting down.
		await engineReleased(folder, record, { lock: pipelineFiles.lock });
		output.object({ folder, status: before });
		output.line(`${folder} is not running (status: ${before}).`);
		return 0;
	}
	await stopPipeline(folder);
	const { status } = await readPipeline(folder);
	output.object({ folder, status });
	output.line(`${folder} is ${status}.`);
	return 0;
}

/** Returns all pipelines under `runs` in the current folder or next to a run in the user's registry. */
async function knownPipelines(): Promise<string[]> {
	return pipelinesOf([join(process.cwd(), 'runs'), process.cwd()], await knownRuns());
}

/** Returns the pipeline name: the folder name without its trailing timestamp and suffix. */
const nameOf = (folder: string): string => folder.replace(/-\d{8}-\d{6}-[0-9a-f]+$/, '');

/** Finds a pipeline by its folder, its folder name, or its name if unique. */
async function findPipeline(named: string): Promise<string> {
	const path = resolve(named);
	if (await isPipelineFolder(path)) return path;
	const known = await knownPipelines();
	const whole = known.filter((folder) => basename(folder) === named);
	const matches = whole.length > 0 ? whole : known.filter((folder) => nameOf(basename(folder)) === named);
	if (matches.length === 1) return matches[0] as string;
	if (matches.length > 1) {
		throw new Failure(
			'invalid',
			`Several pipelines are named ${named}: ${matches.join(', ')}.`,
			'Specify the pipeline folder instead.',
		);
	}
	throw new Failure('missing', `Pipeline ${named} not found.`, 'To list pipelines, use reasoning-lab pipeline status.');
}
