import { realpath } from 'node:fs/promises';
import { basename, join } from 'node:path';
import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import { formatAddress } from '../../core/address/dataAddress.ts';
import { claimsRunning, readPipelineState } from '../../runs/pipeline/pipelineFolder.ts';
import { viewPipeline } from '../../runs/pipeline/pipelineView.ts';
import { readRounds } from '../../runs/pipeline/readRounds.ts';
import { pipelinesOf, resumePipeline, startPipeline, stopPipeline } from '../../runs/pipeline/startPipeline.ts';
import { pageOf, quote, quoteAll } from '../answer.ts';
import * as input from '../inputs.ts';
import type { Runs } from '../runs.ts';
import { defineAction, defineTool } from '../tool.ts';
import { changesOf, recipeInput } from './controlTools.ts';

const pipeline = input.text('Pipeline, as returned by list_pipelines.');
const parallel = v.optional(
	input.described(
		input.whole(1, 64),
		'Maximum number of stages that run at the same time. Default: the value from the last attempt, or 1.',
	),
);

/** Returns the folders of all pipelines that are in the server's folders or contain known runs. */
async function knownPipelines(runs: Runs): Promise<string[]> {
	const folders = await Promise.all(runs.folders.map((folder) => realpath(folder).catch(() => null)));
	const places = folders.flatMap((folder) => (folder === null ? [] : [folder, join(folder, 'runs')]));
	return pipelinesOf(
		places,
		(await runs.list()).map(({ folder }) => folder),
	);
}

/** Finds a known pipeline by its folder, or by its folder name if that is unique. Does not open other folders. */
async function findPipeline(runs: Runs, named: string): Promise<string> {
	const known = await knownPipelines(runs);
	const found = known.includes(named) ? [named] : known.filter((folder) => basename(folder) === named);
	const [only] = found;
	if (only === undefined) {
		throw new Failure(
			'missing',
			`Unknown pipeline "${named.slice(0, 200)}".`,
			'Call list_pipelines to list pipelines.',
		);
	}
	if (found.length === 1) return only;
	throw new Failure('invalid', `${found.length} pipelines are named ${named}.`, 'Pass the folder.');
}

/** State of a pipeline, without its stages. */
async function stateOf(folder: string) {
	const { record, status } = await readPipelineState(folder);
	const { name, attempt, created, stages, error } = record;
	return {
		...{ pipeline: basename(folder), folder, name: quote(name, 200), status, attempt },
		created: new Date(created * 1000).toISOString(),
		stages: stages.length,
		finished_stages: stages.filter((stage) => stage.status === 'finished').length,
		...(error === undefined ? {} : { error: quote(error.message) }),
	};
}

export const listPipelines = defineTool({
	name: 'list_pipelines',
	title: 'List pipelines',
	description:
		'List pipelines (recipes whose named stages run one after another): name, status, number of stages, and number of finished stages.',
	input: v.object({ limit: input.limit(30), cursor: input.cursor }),
	async run({ limit, cursor }, { runs }) {
		const page = pageOf(await knownPipelines(runs), cursor, limit);
		const items = await Promise.all(
			page.items.map((folder) =>
				stateOf(folder).catch((error: unknown) => ({
					...{ pipeline: basename(folder), folder, status: 'unreadable' },
					problem: quote(Failure.from(error).toString()),
				})),
			),
		);
		return { ...page, items };
	},
});

export const readPipeline = defineTool({
	name: 'read_pipeline',
	title: 'Read a pipeline',
	description:
		"Read the state of a pipeline and of its stages, page by page: status, progress, accuracy, active seconds, tokens, cost of paid requests, why a stage is waiting or has failed, and the stage's run with its address.",
	input: v.object({ pipeline, limit: input.limit(50), cursor: input.cursor }),
	async run({ pipeline: named, limit, cursor }, { runs }) {
		const folder = await findPipeline(runs, named);
		const [view, state] = await Promise.all([viewPipeline(folder), stateOf(folder)]);
		const known = new Map((await runs.list()).map((run) => [run.folder, run.name]));
		const page = pageOf(view.stages, cursor, limit);
		return {
			...state,
			rounds: await readRounds(folder, view.record),
			...page,
			items: page.items.map(({ folder: path, why, partial, kept, name, device, costs, ...stage }) => {
				const run = known.get(path);
				return {
					stage: name,
					...stage,
					...(device === null ? {} : { device: quote(device, 100) }),
					...(costs.length === 0 ? {} : { costs: quoteAll(costs) }),
					...(why === null ? {} : { why: quote(why, 1000) }),
					...(partial === null ? {} : { partial: quote(partial, 1000) }),
					...(run === undefined ? {} : { run, address: formatAddress({ kind: 'run', run }) }),
				};
			}),
		};
	},
});

export const startPipelineTool = defineAction({
	name: 'start_pipeline',
	title: 'Start a pipeline',
	description:
		'Start a pipeline from a recipe file that has named stages and is inside the server folders, and return as soon as the pipeline is running. Uses the device, takes up disk space, and runs the code in the files specified by the recipe.',
	effect: 'control',
	input: v.object({ ...recipeInput, parallel }),
	async run({ recipe, parallel, ...changes }, { runs, signal, actions }) {
		const file = await runs.fileWithin(recipe);
		const options = { engine: actions.engine, signal, ...(parallel === undefined ? {} : { parallel }) };
		const { folder } = await startPipeline(file, changesOf(changes), options);
		return stateOf(await realpath(folder));
	},
});

export const resumePipelineTool = defineAction({
	name: 'resume_pipeline',
	title: 'Resume a pipeline',
	description:
		"Continue a stopped or failed pipeline. Finished stages are not repeated. Fails for pipelines that contain code and were not started by this user, and if a stage's outputs have been edited.",
	effect: 'control',
	input: v.object({ pipeline, parallel }),
	async run({ pipeline: named, parallel }, { runs, signal, actions }) {
		const folder = await findPipeline(runs, named);
		const options = { engine: actions.engine, signal, ...(parallel === undefined ? {} : { parallel }) };
		await resumePipeline(folder, {}, options);
		return stateOf(folder);
	},
});

export const stopPipelineTool = defineAction({
	name: 'stop_pipeline',
	title: 'Stop a pipeline',
	description:
		'Stop a running pipeline. Its current stages save a checkpoint before they stop, and resume_pipeline continues them.',
	effect: 'control',
	destructive: true,
	input: v.object({ pipeline }),
	async run({ pipeline: named }, { runs, signal }) {
		const folder = await findPipeline(runs, named);
		const { status } = await readPipelineState(folder);
		if (!claimsRunning({ status })) {
			const message = `${basename(folder)} is not running (status: ${status}).`;
			throw new Failure('invalid', message, 'Call read_pipeline for its state.');
		}
		await stopPipeline(folder, signal);
		return stateOf(folder);
	},
});
