import assert from 'node:assert/strict';
import { appendFile, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { parseSteps } from '../../../src/cli/rescoreVerb.ts';
import { runsIn } from '../../../src/runs/runFolders.ts';
import { readEvents, readRecord } from '../../../src/runs/runReader.ts';
import { objects, tinyRecipe, Workplace } from './cliFixtures.ts';

const limit = { timeout: 180_000 };

async function until<T>(look: () => Promise<T | null | undefined | false>): Promise<T> {
	for (;;) {
		const found = await look().catch(() => null);
		if (found) return found;
		await new Promise((resolve) => setTimeout(resolve, 50));
	}
}

const brevity = 'export const brevity = ({ completion }: { completion: string }) => 1 / (3 + completion.length);\n';

async function trained(context: TestContext): Promise<{ place: Workplace; run: string }> {
	const place = await Workplace.make(context);
	await place.write('brevity.reward.ts', brevity);
	await place.write('tiny.recipe.json', {
		...tinyRecipe,
		rewards: [{ use: 'accuracy' }, { file: 'brevity.reward.ts' }],
	});
	return { place, run: await place.train('tiny.recipe.json') };
}

test('a run is rescored: equal values pass, and a difference from the record exits with 1', limit, async (context) => {
	const { place, run } = await trained(context);
	// The source file may have been deleted.
	await rm(join(place.folder, 'brevity.reward.ts'));
	const plain = await place.run(context, 'rescore', run);
	assert.equal(plain.status, 0, plain.stderr);
	assert.match(plain.stdout, /^32 rollouts from 2 generation batches\n/);
	assert.match(plain.stdout, /brevity +100% equal, 0 different/);
	assert.match(plain.stdout, /All values match the recorded values\.\n$/);

	const file = join(run, 'rollouts', 'step_000004.jsonl');
	const text = await readFile(file, 'utf8');
	const lines = text.trimEnd().split('\n');
	const line = JSON.parse(lines[3] as string) as { rewards: Record<string, number>; group: number; index: number };
	line.rewards.brevity = 0.5;
	lines[3] = JSON.stringify(line);
	await writeFile(file, `${lines.join('\n')}\n`);
	const changed = await place.call('rescore', run);
	assert.equal(changed.status, 1, changed.stderr);
	assert.match(changed.stdout, /brevity +96\.9% equal, 1 different/);
	assert.match(changed.stdout, /step 4, group 0, completion 3: brevity was 0\.5, is now 0\.0\d+\n/);
	const others = await place.call('rescore', run, '--steps', '6-9', '--json');
	assert.equal(others.status, 0, others.stderr);
	const [result] = objects(others.stdout);
	assert.deepEqual([result?.equal, result?.rows], [true, 16]);
	const [one] = objects((await place.call('rescore', run, '--steps', '4', '--json')).stdout);
	assert.equal((one?.differences as unknown[] | undefined)?.length, 1);
	assert.deepEqual(one?.steps, [4]);
	const none = await place.call('rescore', run, '--steps', '100-200');
	assert.equal(none.status, 2);
	assert.match(none.stderr, /has no rollouts for steps 100 to 200/);
	// The same run on another machine: its reward files do not run without permission.
	const elsewhere = await Workplace.make(context, place.folder);
	const asked = await elsewhere.call('rescore', run);
	assert.equal(asked.status, 2);
	assert.match(asked.stderr, /You have not started .* on this machine.*brevity\.reward\.ts.*--run-code/s);
	for (const more of [[], ['--checkpoint', '2']]) {
		const resumed = await elsewhere.call('resume', run, ...more);
		assert.equal(resumed.status, 2);
		assert.match(resumed.stderr, more.length === 0 ? /has finished/ : /You have not started .*--run-code/s);
	}
	const rescored = await elsewhere.call('rescore', run, '--run-code', '--steps', '4');
	assert.equal(rescored.status, 1, rescored.stderr);
	await appendFile(join(run, 'rewards/brevity.reward.ts'), '\n');
	const refused = await place.call('rescore', run);
	assert.equal(refused.status, 2);
	assert.match(refused.stderr, /brevity\.reward\.ts has changed since the run started/);
});

test('a range of steps is parsed or rejected', () => {
	assert.deepEqual(parseSteps('3-7'), { first: 3, last: 7 });
	assert.deepEqual(parseSteps('12'), { first: 12, last: 12 });
	assert.equal(parseSteps(undefined), undefined);
	for (const text of ['', '7-3', 'a-b', '-3', '3-', '1.5']) {
		assert.throws(() => parseSteps(text), { reason: 'invalid' }, text);
	}
});

test('a run paused by a reward shows the reason, and resumes', limit, async (context) => {
	const place = await Workplace.make(context);
	const down = await place.write('down', '');
	await place.write(
		'x.reward.py',
		`import os\ndef f(completions, **kwargs):\n    assert not os.path.exists(${JSON.stringify(down)}), "the service is down"\n    return [1.0 / (3 + len(c)) for c in completions]\n`,
	);
	await place.write('tiny.recipe.json', { ...tinyRecipe, rewards: [{ use: 'accuracy' }, { file: 'x.reward.py' }] });
	const first = place.start(context, 'run', 'tiny.recipe.json');
	const run = await until(async () => (await runsIn(join(place.folder, 'runs')))[0]);
	await until(async () => (await readRecord(run)).status === 'paused');
	await rm(down);
	const resumed = await place.call('resume', run);
	assert.equal(resumed.status, 0, resumed.stderr);
	const { status, stdout } = await first.ended;
	assert.equal(status, 0);
	assert.match(stdout, /error: Reward "f" \(rewards\/x\.reward\.py, line 3\) failed on 16 of 16 rows.*service is down/);
	assert.match(stdout, /paused at step 3: use reasoning-lab resume to continue/);
	assert.match(stdout, /continued at step 3/);
	assert.match(resumed.stdout, /Finished after 7 steps/);
	assert.equal((await readRecord(run)).attempt, 1);
	assert.ok((await readEvents(run)).some(({ type }) => type === 'continued'));
});
