import { endingMs } from '../files/lockTimes.ts';
import { engineReleased } from '../runs/engineRelease.ts';
import { claimsLife, readRunState } from '../runs/runStatus.ts';
import { stopEngine } from '../runs/stopRun.ts';
import { endEngineNow } from './endEngine.ts';
import { findRun } from './findRun.ts';
import { flag } from './options.ts';
import { defineVerb } from './verb.ts';

export const stopVerb = defineVerb({
	name: 'stop',
	group: 'Train',
	arguments: [{ name: 'run', phrase: 'a run', type: 'path' }],
	summary: 'Save a checkpoint after the current batch, stop the run, and wait until it has stopped.',
	options: {
		'no-checkpoint': flag('Do not write a checkpoint. Resuming starts from the last checkpoint.'),
		now: flag('Kill the process immediately. Resuming starts from the last checkpoint.'),
	},
	async run({ values, positionals, output }) {
		const folder = await findRun(positionals[0] as string);
		const { record, status } = await readRunState(folder);
		if (!claimsLife({ status })) {
			// The engine might still be shutting down.
			await engineReleased(folder, record, { limitMs: values.now ? 0 : endingMs }).catch(async (error: unknown) => {
				if (!values.now) throw error;
				await endEngineNow(folder, record);
			});
			output.object({ folder, status, step: record.step });
			output.line(`${folder} is not running (status: ${status}).`);
			return 0;
		}
		if (values.now) await endEngineNow(folder, record);
		else await stopEngine(folder, record, !values['no-checkpoint']);
		const after = await readRunState(folder);
		output.object({ folder, status: after.status, step: after.record.step });
		output.line(`${folder} is ${after.status} at step ${after.record.step}.`);
		return 0;
	},
});
