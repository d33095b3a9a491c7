/**
 * Trains the checkpoint used by the trainer's tests with the embedded engine, and writes the values the engine computes
 * with it.
 */
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { listCheckpoints } from '../../src/runs/runReader.ts';
import { labCheckpoint, labLogprobs, labScores } from '../support/labCheckpoint.ts';
import { Workplace } from '../unit/engines/embedded/engineProcess.ts';

await using place = await Workplace.make();
const run = await place.prepare({
	name: 'lab',
	seed: 7,
	workers: 1,
	device: 'cpu',
	whenBusy: 'share',
	dataset: { task: 'addition', digits: 1 },
	model: { layers: 2, width: 16, heads: 2 },
	stages: [{ type: 'sft', steps: 40, learning_rate: 1e-2, batch_size: 16 }],
	evaluate: { every: 40, problems: 8 },
	checkpoint: { every: 40 },
});
const exit = await place.run('--run', run);
if (exit.code !== 0) throw new Error(exit.stderr);
rmSync(labCheckpoint, { recursive: true, force: true });
cpSync((await listCheckpoints(run))[0]?.path as string, labCheckpoint, { recursive: true });
writeFileSync(labLogprobs, `${JSON.stringify(await labScores(), null, '\t')}\n`);
