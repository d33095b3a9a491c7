import { engineReleased } from '../runs/engineRelease.ts';
import { endingMs } from '../runs/lockTimes.ts';
import { claimsLife, readRunState } from '../runs/runStatus.ts';
import { findRun } from './findRun.ts';
import { parseArguments } from './parseArguments.ts';
import { endEngineNow, stopEngine } from './stopEngine.ts';
import type { Verb } from './verb.ts';

export const stopVerb: Verb = {
	name: 'stop',
	usage: '<run>',
	summary: 'Stop a run after its batch, with a checkpoint, and wait until it has stopped.',
	options: [
		['--no-checkpoint', 'Do not write a checkpoint; a resume begins at the last one.'],
		['--now', 'End the process at once; a resume begins at the last checkpoint.'],
	],
	async run({ args, output }) {
		const { values, positionals } = parseArguments(
			'stop',
			args,
			{ 'no-checkpoint': { type: 'boolean' }, now: { type: 'boolean' } },
			{ names: ['a run'], least: 1, most: 1 },
		);
		const folder = await findRun(positionals[0] as string);
		const { record, status } = await readRunState(folder);
		if (!claimsLife({ status })) {
			// One that has ended its work may still be closing.
			await engineReleased(folder, record, { limitMs: values.now ? 0 : endingMs }).catch(async (error: unknown) => {
				if (!values.now) throw error;
				await endEngineNow(folder, record);
			});
			output.object({ folder, status, step: record.step });
			output.line(`${folder} does not run: it is ${status}.`);
			return 0;
		}
		if (values.now) await endEngineNow(folder, record);
		else await stopEngine(folder, record, !values['no-checkpoint']);
		const after = await readRunState(folder);
		output.object({ folder, status: after.status, step: after.record.step });
		output.line(`${folder} is ${after.status} at step ${after.record.step}.`);
		return 0;
	},
};
