/** Trains a tiny vision-language model on images through the real driver and its reward hosts. */
// @reaches driver trainer
import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { rolloutPicture } from '../../src/protocol/rolloutPicture.ts';
import { readPicture } from '../../src/runs/pictureFile.ts';
import { readEvaluationLines, readMetrics, readRecord, readRollouts } from '../../src/runs/runReader.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { forkingPython, runPython } from '../support/loadedPython.ts';
import { withOneThread } from '../support/oneThread.ts';
import { builtProgram } from '../support/programs.ts';
import { Workplace } from '../unit/engines/embedded/engineProcess.ts';

const found = await findTestPython(console.log);
const skip = 'missing' in found && process.env.CI === undefined ? found.missing : false;
const driver = builtProgram('dist/driver.js');
const script = fileURLToPath(new URL('python/tiny_vision_model.py', import.meta.url));

describe('training with images', { skip, timeout: 280_000 }, async () => {
	const place = await Workplace.make(driver);
	after(() => place[Symbol.asyncDispose]());
	const python = 'python' in found ? found.python : '';
	place.environment.REASONING_LAB_TORCH_PYTHON = forkingPython(python);

	before(() => runPython({ python, script, args: [place.folder] }));

	const recipeOf = (dataset: string) => ({
		name: 'squares',
		engine: 'pytorch',
		device: 'cpu',
		seed: 5,
		whenBusy: 'share',
		dataset: { path: join(place.folder, dataset), image: 'picture', heldOutShare: 0.5 },
		model: { path: join(place.folder, 'model') },
		template: { prompt: '{prompt}', chat: true, think: null, answer: null },
		rewards: [{ use: 'iou', column: 'boxes' }, { use: 'classification' }],
		pytorch: { precision: 'float32' },
		stages: [
			{
				type: 'grpo',
				...{ steps: 2, prompts_per_step: 2, num_generations: 2, max_completion_length: 8, learning_rate: 1e-3 },
			},
		],
		evaluate: { every: 2, problems: 2 },
		checkpoint: { every: 2 },
	});

	it('records pictures, rewards for boxes, and evaluations', async () => {
		const run = await place.prepare(recipeOf('squares.jsonl'));
		const exit = await place.run('--run', await withOneThread(run));
		assert.equal(exit.code, 0, `${exit.stderr} ${JSON.stringify((await readRecord(run)).error)}`);
		assert.deepEqual(
			(await readMetrics(run)).filter(({ step }) => step > 0).map(({ values }) => values['rewards/iou/mean']),
			[0, 0],
		);
		const files = new Set<string>();
		for (const step of [1, 2]) {
			const rollouts = await readRollouts(run, step);
			assert.equal(rollouts.length, 4);
			for (const { extra, prompt, row, rewards } of rollouts) {
				const picture = rolloutPicture(extra);
				assert.ok(picture !== null);
				assert.deepEqual([picture.width, picture.height], [32, 32]);
				assert.equal((await readPicture(run, picture.file)).type, 'image/png');
				assert.equal((prompt[0] as { content: string }).content, (row as { prompt: string }).prompt);
				assert.deepEqual(rewards, { iou: 0, classification: 0 });
				files.add(picture.file);
			}
		}
		assert.deepEqual(new Set(await readdir(join(run, 'pictures'))), files);
		const evaluated = await readEvaluationLines(run, 2, 'heldout');
		assert.deepEqual(
			evaluated.map(({ problem, correct }) => [problem, correct]),
			[
				[0, false],
				[1, false],
			],
		);
		assert.ok(evaluated.every(({ prompt }) => /^<image>where is square \d+\?$/.test(String(prompt))));
	});

	it('finds a missing picture before the first step', async () => {
		const rows = (await readFile(join(place.folder, 'squares.jsonl'), 'utf8')).trim().split('\n');
		const lost = rows.map((row, i) => (i === 7 ? row.replace('"7.png"', '"lost.png"') : row));
		assert.notDeepEqual(lost, rows);
		await writeFile(join(place.folder, 'lost.jsonl'), lost.join('\n'));
		const run = await place.prepare(recipeOf('lost.jsonl'));
		const exit = await place.run('--run', await withOneThread(run));
		assert.notEqual(exit.code, 0);
		const { error } = await readRecord(run);
		assert.equal(error?.message, 'The image in column "picture" (lost.png) does not exist.');
		assert.deepEqual(await readMetrics(run), []);
	});
});
