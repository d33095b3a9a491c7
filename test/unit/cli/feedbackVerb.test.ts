import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { FeedbackLog } from '../../../src/runs/feedbackLog.ts';
import { foreignFeedback } from '../../../src/runs/foreignFeedback.ts';
import { readRollouts } from '../../../src/runs/runReader.ts';
import { writeExploredRun } from '../webview/rollouts/exploredRunFixture.ts';
import { objects, Workplace } from './cliFixtures.ts';

test('feedback shows who rated, how well raters agree, and whether the reward agrees with them', async (context) => {
	const place = await Workplace.make(context);
	const cli = (...args: string[]) => place.run(context, ...args);
	const run = join(place.folder, 'bakery');
	await writeExploredRun(run, 2);
	const empty = await cli('feedback', run);
	assert.equal(empty.status, 0);
	assert.match(empty.stdout, /This run has no ratings yet/);
	const log = await FeedbackLog.of({ folder: run, format: 'reasoning-lab' });
	const rate = (rater: string, index: number, reward: number, rating: 1 | 2 | 3 | 4 | 5) =>
		log.save({
			...{ kind: 'rating', format: 1, time: 1, rater, prompt: 'p', split: 'train', step: 1, group: 0, index },
			...{ completion: `text ${index}`, reward, rating },
		});
	for (const rater of ['ada', 'bob']) {
		await rate(rater, 0, 1, 5);
		await rate(rater, 1, 0, 1);
	}
	const [first] = await readRollouts(run, 1);
	await log.save({
		...{ kind: 'rating', format: 1, time: 1, rater: 'cyd', prompt: String(first?.prompt), split: 'train' },
		...{ step: 1, group: 0, index: 0, completion: String(first?.completion), reward: 1, rating: 3 },
	});
	assert.equal(
		await foreignFeedback(run, await log.all()),
		1,
		'a completion that differs from the one at its location is foreign',
	);
	await log.save({
		...{ kind: 'rating', format: 1, time: 2, rater: 'cyd', prompt: String(first?.prompt), split: 'train' },
		...{ step: 1, group: 0, index: 0, completion: String(first?.completion), reward: 1, rating: null },
	});
	const result = await cli('feedback', run);
	assert.match(
		result.stdout,
		/2 of the rated completions are not in this run's rollouts\. The ratings file may belong to another run\./,
	);
	assert.match(result.stdout, /ada: 2 rated, 0 compared\nbob: 2 rated/);
	assert.match(result.stdout, /alpha 1\.00 on 2 completions/);
	assert.match(result.stdout, /agrees with raters on 1\.00 \[0\.17, 1\.00\] of the 1 pair/);
	const json = objects((await cli('feedback', run, '--json')).stdout)[0] as {
		alpha: number;
		pairs: number;
		reward: { pairs: number };
	};
	assert.deepEqual([json.alpha, json.pairs, json.reward.pairs], [1, 1, 1]);
	const exported = await cli('export', run, '--as', 'preferences', '--out', 'pairs.jsonl');
	assert.equal(exported.status, 0, exported.stderr);
});
