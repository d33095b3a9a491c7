import * as v from 'valibot';
import { Failure } from '../../base/failure.ts';
import { formatAddress } from '../../core/address/dataAddress.ts';
import type { RunRecord } from '../../protocol/runRecord.ts';
import { readPipelineFile } from '../../runs/pipeline/startPipeline.ts';
import { parseOverride } from '../../runs/recipeOverrides.ts';
import { connectRun } from '../../runs/runControl.ts';
import { claimsLife, readRunState } from '../../runs/runStatus.ts';
import { resumeRun, startRun } from '../../runs/startRun.ts';
import { stopEngine } from '../../runs/stopRun.ts';
import { quoteAll } from '../answer.ts';
import * as input from '../inputs.ts';
import type { KnownRun } from '../runs.ts';
import { defineAction } from '../tool.ts';

const stateOf = (
	{ name, folder }: KnownRun,
	{ status, step, stage }: Pick<RunRecord, 'status' | 'step' | 'stage'>,
) => ({
	...{ run: name, folder, address: formatAddress({ kind: 'run', run: name }), status, step },
	stage: stage === null ? null : quoteAll(stage),
});

/** Arguments of the tools that start a recipe. */
export const recipeInput = {
	recipe: input.text('Recipe file: absolute path, or relative to a server folder.'),
	seed: v.optional(input.described(input.whole(0, 2 ** 32 - 1), "Random seed; overrides the recipe's.")),
	set: v.optional(
		input.described(
			v.pipe(v.array(v.pipe(v.string(), v.maxLength(2000))), v.maxLength(50)),
			'Recipe keys to override, such as stages.1.steps=50.',
		),
		[],
	),
};

/** Returns the recipe overrides. Fails with `invalid` for a malformed override. */
export const changesOf = ({ seed, set }: { readonly seed?: number | undefined; readonly set: readonly string[] }) => ({
	...(seed === undefined ? {} : { seed }),
	...(set.length === 0 ? {} : { set: set.map(parseOverride) }),
});

export const startRunTool = defineAction({
	name: 'start_run',
	title: 'Start a run',
	description:
		'Start a training run from a recipe file inside the server folders and return as soon as its engine is running. Uses the device, takes up disk space, and runs the code of the reward files in the recipe.',
	effect: 'control',
	input: v.object(recipeInput),
	async run({ recipe, ...given }, { runs, signal, actions }) {
		const file = await runs.fileWithin(recipe);
		const changes = changesOf(given);
		if ((await readPipelineFile(file, changes)) !== null) {
			throw new Failure('unsupported', `${recipe} is a pipeline.`, 'Start it with start_pipeline.');
		}
		const { folder, record } = await startRun(file, changes, { engine: actions.engine, signal });
		return stateOf(await runs.added(folder), record);
	},
});

export const resumeRunTool = defineAction({
	name: 'resume_run',
	title: 'Resume a run',
	description:
		'Resume a stopped or crashed run from its newest checkpoint, or continue a paused one. Fails for runs that contain code and were not started by this user.',
	effect: 'control',
	input: v.object({ run: input.run }),
	async run({ run: named }, { runs, signal, actions }) {
		const run = await runs.find(named);
		const { record } = await resumeRun(run.folder, { engine: actions.engine, signal });
		return stateOf(run, record);
	},
});

export const pauseRunTool = defineAction({
	name: 'pause_run',
	title: 'Pause a run',
	description: 'Pause a running run after its current step. resume_run continues it.',
	effect: 'control',
	input: v.object({ run: input.run }),
	async run({ run: named }, { runs, signal }) {
		const run = await runs.find(named);
		const { record } = await running(run);
		const client = await connectRun(run.folder, record, 'reasoning-lab mcp');
		try {
			return stateOf(run, await client.request('run/pause', {}, signal));
		} catch (error) {
			// Cancel the pause as well, so that it does not take effect later.
			if (signal.aborted) await client.request('run/continue', {}).catch(() => undefined);
			throw error;
		} finally {
			client.dispose();
		}
	},
});

export const stopRunTool = defineAction({
	name: 'stop_run',
	title: 'Stop a run',
	description: 'Stop a running or paused run after its current step, with a checkpoint from which it can be resumed.',
	effect: 'control',
	destructive: true,
	input: v.object({ run: input.run }),
	async run({ run: named }, { runs }) {
		const run = await runs.find(named);
		const { record } = await running(run);
		await stopEngine(run.folder, record, true);
		return stateOf(run, (await readRunState(run.folder)).record);
	},
});

/** Reads the state of a run with a running engine. Fails with `invalid` if it has none. */
async function running({ name, folder }: KnownRun) {
	const state = await readRunState(folder);
	if (claimsLife(state)) return state;
	throw new Failure('invalid', `${name} is not running (status: ${state.status}).`, 'Call describe_run for its state.');
}
