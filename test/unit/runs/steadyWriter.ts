// Writes a run continuously until it is killed: rollouts, metrics, and a checkpoint every fifth step.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RunWriter } from '../../../src/runs/runWriter.ts';
import { initialRecord, metricsLine, rollout } from './runFixtures.ts';

const writer = await RunWriter.create(process.argv[2] ?? '', initialRecord);
await writer.updateRecord({ status: 'running' });
console.log('writing');
for (let step = 1; ; step++) {
	await writer.writeRollouts(
		step,
		Array.from({ length: 20 }, (_, index) => rollout(step, index)),
	);
	await writer.appendMetrics(metricsLine(step));
	if (step % 5 !== 0) continue;
	await writeFile(join(await writer.beginCheckpoint(step), 'model.safetensors'), 'w'.repeat(100_000));
	await writer.commitCheckpoint(step);
}
