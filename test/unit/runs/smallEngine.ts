// An engine that trains nothing; the file `course` in the run folder tells it what to do after it has created run.json.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RunWriter } from '../../../src/runs/runWriter.ts';
import { initialRecord } from './runFixtures.ts';

const run = process.argv[process.argv.indexOf('--run') + 1] ?? '';
const course = await readFile(join(run, 'course'), 'utf8');
if (course === 'dies') {
	console.error('something\nlast words');
	process.exit(3);
}
const writer = process.argv.includes('--resume')
	? await RunWriter.reopen(run)
	: await RunWriter.create(run, initialRecord);
if (course === 'refuses') {
	const error = { reason: 'missing', message: 'The dataset is gone.', action: 'Put it back.' } as const;
	await writer.updateRecord({ status: 'crashed', error });
	await writer.close();
	process.exit(2);
}
if (course === 'finishes') {
	await writer.updateRecord({ status: 'finished' });
	await writer.close();
	process.exit(0);
}
if (course === 'works') {
	const seen = {
		telemetry: process.env.ORT_DISABLE_TELEMETRY,
		options: process.env.NODE_OPTIONS ?? null,
		checkpoint: process.argv[process.argv.indexOf('--parent-checkpoint') + 1],
	};
	console.log('a line for the log');
	await writer.updateRecord({ status: 'running', seen });
}
setInterval(() => {}, 1000);
