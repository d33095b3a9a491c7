import { basename, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { runOfCheckpoint } from '../runs/prepareRun.ts';
import { stepOf } from '../runs/runFiles.ts';
import { branchRun, resumeRun } from '../runs/startRun.ts';
import { agreement, runCodeHelp, runCodeOption } from './agreement.ts';
import { findRun } from './findRun.ts';
import { foregroundRun } from './foregroundRun.ts';
import { parseArguments, wholeNumber } from './parseArguments.ts';
import { changeHelp, changeOptions, recipeChanges } from './runVerb.ts';
import type { Verb } from './verb.ts';

export const resumeVerb: Verb = {
	name: 'resume',
	usage: '<run>',
	summary: 'Continue a stopped, crashed or paused run, or start a new run from one of its checkpoints.',
	options: [
		['--checkpoint STEP', 'Start a new run, beside the old one, from the checkpoint of this step.'],
		...changeHelp.map(([option, text]) => [option, `With --checkpoint: ${text}`] as const),
		runCodeHelp,
		['--detach', 'Return as soon as the engine works.'],
		['--summary', 'End with one line of JSON, as of run.'],
	],
	async run({ args, output, engine }) {
		const { values, positionals } = parseArguments(
			'resume',
			args,
			{
				...changeOptions,
				...runCodeOption,
				checkpoint: { type: 'string' },
				detach: { type: 'boolean' },
				summary: { type: 'boolean' },
			},
			{ names: ['a run'], least: 1, most: 1 },
		);
		const named = positionals[0] as string;
		const run = await findRun(named);
		// The folder of a checkpoint names its step.
		const path = resolve(named);
		const step =
			wholeNumber(values.checkpoint, '--checkpoint') ??
			(runOfCheckpoint(path) === path ? null : stepOf(basename(path)));
		const changes = recipeChanges(values);
		if (step === null && Object.keys(changes).length > 0) {
			throw new Failure(
				'invalid',
				'A run resumes with the recipe that it began with, so nothing of it can be changed.',
				'Add --checkpoint STEP to start a new run from a checkpoint.',
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
};
