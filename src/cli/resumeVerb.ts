import { basename, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { runOfCheckpoint } from '../runs/prepareRun.ts';
import { stepOf } from '../runs/runFiles.ts';
import { branchRun, resumeRun } from '../runs/startRun.ts';
import { agreement, runCodeOption } from './agreement.ts';
import { findRun } from './findRun.ts';
import { foregroundRun } from './foregroundRun.ts';
import { flag, group, integer } from './options.ts';
import { changeOptions, recipeChanges } from './runVerb.ts';
import { defineVerb } from './verb.ts';

export const resumeVerb = defineVerb({
	name: 'resume',
	group: 'Train',
	arguments: [{ name: 'run', phrase: 'a run', type: 'path' }],
	summary: 'Resume a stopped, crashed, or paused run, or start a new run from one of its checkpoints.',
	options: {
		checkpoint: integer('STEP', 'Start a new run from the checkpoint at this step and keep the original run.'),
		...runCodeOption,
		detach: flag('Return as soon as the engine is running.'),
		summary: flag('Finish with one line of JSON, like the run command.'),
		...group('With --checkpoint', changeOptions),
	},
	async run({ values, positionals, output, engine }) {
		const named = positionals[0] as string;
		const run = await findRun(named);
		// Checkpoint folder names contain the step.
		const path = resolve(named);
		const step = values.checkpoint ?? (runOfCheckpoint(path) === path ? null : stepOf(basename(path)));
		const changes = recipeChanges(values);
		if (step === null && Object.keys(changes).length > 0) {
			throw new Failure(
				'invalid',
				'A run can only resume with its original recipe.',
				'To start a new run from a checkpoint, add --checkpoint STEP.',
			);
		}
		return foregroundRun({
			output,
			detach: values.detach ?? false,
			summary: values.summary ?? false,
			start: (given) => {
				const options = { engine, agree: agreement(output, values['run-code']), ...given };
				return step === null ? resumeRun(run, options) : branchRun(run, step, changes, options);
			},
		});
	},
});
