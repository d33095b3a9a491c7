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
			output.object({ folder, status, step: record.step });
			output.line(`${folder} does not run: it is ${status}.`);
			return 0;
		}
		if (values.now) await endEngineNow(folder, record);
		else await stopEngine(folder, record, !values['no-checkpoint']);
		const after = await settled(folder);
		output.object({ folder, status: after.status, step: after.step });
		output.line(`${folder} is ${after.status} at step ${after.step}.`);
		return 0;
	},
};

/** The engine answers when it has stopped; its process, and a killed one, end a moment later. */
async function settled(folder: string): Promise<{ status: string; step: number }> {
	for (let attempt = 0; ; attempt++) {
		const { record, status } = await readRunState(folder);
		if (!claimsLife({ status }) || attempt >= 100) return { status, step: record.step };
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
}
