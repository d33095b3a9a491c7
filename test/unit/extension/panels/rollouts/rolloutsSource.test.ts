import assert from 'node:assert/strict';
import { appendFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Failure, type Reason } from '../../../../../src/base/failure.ts';
import { RolloutsSource } from '../../../../../src/extension/panels/rollouts/rolloutsSource.ts';
import { formatLine } from '../../../../../src/files/jsonLines.ts';
import { decode } from '../../../../../src/protocol/decode.ts';
import { rolloutsRequests } from '../../../../../src/protocol/rolloutsMessages.ts';
import { rolloutPath } from '../../../../../src/runs/runFiles.ts';
import { pictureName, pngOf } from '../../../../support/pictures.ts';
import { makeBatch, runRecord, writeRecord, writeRollouts } from '../../../webview/rollouts/rolloutsFixture.ts';

let root = '';
let runs = 0;
before(async () => {
	root = await mkdtemp(join(tmpdir(), 'rollouts-source-'));
});
after(() => rm(root, { recursive: true, force: true }));

async function newRun(): Promise<string> {
	const run = join(root, `run-${++runs}`);
	await writeRecord(run, runRecord());
	return run;
}

const failsWith = (reason: Reason, words: RegExp) => (error: unknown) => {
	assert.ok(error instanceof Failure, String(error));
	assert.equal(error.reason, reason);
	assert.match(error.toString(), words);
	return true;
};

const line = (changes: object) => ({
	step: 1,
	stage: 'grpo',
	group: 0,
	index: 0,
	prompt: 'p',
	completion: 'c',
	rewards: {},
	reward: null,
	advantage: null,
	truncated: false,
	...changes,
});

test('a step is read as the engine wrote it', async () => {
	const run = await newRun();
	const lines = makeBatch({ step: 3, groups: 20, size: 3 });
	await writeRollouts(run, 3, lines);
	const content = await new RolloutsSource(run).step(3);
	assert.ok(decode(rolloutsRequests.loadStep.result, content).ok);
	assert.deepEqual(content.faults, { unreadable: 0, examples: [] });
	assert.equal(content.lengthUnit, 'tokens');
	assert.deepEqual(
		content.groups.map((group) => group.group),
		Array.from({ length: 20 }, (_, i) => i),
	);
	for (const group of content.groups) {
		const own = lines.filter((entry) => entry.group === group.group);
		assert.deepEqual(
			group.reward,
			own.map((entry) => entry.reward),
		);
		assert.deepEqual(
			group.advantage,
			own.map((entry) => entry.advantage),
		);
		assert.deepEqual(
			group.length,
			own.map((entry) => entry.tokens?.text.length),
		);
		assert.deepEqual(
			group.correct,
			own.map((entry) => entry.rewards.accuracy === 1),
		);
		assert.equal(group.dead, new Set(own.map((entry) => entry.reward)).size === 1);
		const mean = own.reduce((sum, entry) => sum + (entry.reward ?? 0), 0) / own.length;
		assert.ok(Math.abs((group.mean ?? Number.NaN) - mean) < 1e-12);
	}
	assert.ok(content.groups.some((group) => group.dead && group.std === 0));
});

test('a group includes its completions, and a single rollout its tokens and its line', async () => {
	const run = await newRun();
	const lines = makeBatch({ step: 1, groups: 3, size: 4 });
	await writeRollouts(run, 1, lines);
	const source = new RolloutsSource(run);
	const group = await source.group(1, 2);
	assert.ok(decode(rolloutsRequests.loadGroup.result, group).ok);
	const own = lines.filter((entry) => entry.group === 2);
	assert.equal(group.prompt, own[0]?.prompt);
	assert.equal(group.answer, own[0]?.answer);
	assert.deepEqual(
		group.rollouts.map((entry) => entry.completion),
		own.map((entry) => entry.completion),
	);
	assert.deepEqual(group.rollouts[1]?.rewards, Object.entries(own[1]?.rewards ?? {}));
	const tokens = await source.tokens(1, 2, 3);
	assert.deepEqual(tokens.text, own[3]?.tokens?.text);
	assert.deepEqual(tokens.entropy, own[3]?.tokens?.entropy);
	assert.equal(tokens.refLogprob, null);
	assert.deepEqual(await source.rollout(1, 2, 3), own[3]);
	await assert.rejects(source.group(1, 9), failsWith('missing', /no group 9/));
	await assert.rejects(source.rollout(1, 2, 99), failsWith('missing', /no rollout 99/));
});

test('unreadable lines are counted and listed, and the others are shown', async () => {
	const run = await newRun();
	const good = [line({ index: 0 }), line({ index: 1 })].map(formatLine);
	const text = [
		good[0],
		'{"step":1,"torn\n',
		'[1,2,3]\n',
		'\n',
		formatLine(line({ index: 2, reward: 'high' })),
		formatLine(line({ index: 0 })),
		good[1],
		'{"step": 1, "no end',
	].join('');
	await writeFile(rolloutPath(run, 1), text);
	const { faults, groups } = await new RolloutsSource(run).step(1);
	assert.deepEqual(groups[0]?.index, [0, 1]);
	assert.equal(faults.unreadable, 5);
	assert.deepEqual(faults.examples, [
		'line 2: invalid JSON',
		'line 3: step is not valid',
		'line 5: reward is not valid',
		'line 6: repeats rollout 0 of group 0',
		'line 8: truncated JSON',
	]);
});

test('hostile values are sanitized', async () => {
	const run = await newRun();
	const text = [
		`{"step":1,"stage":"grpo","group":0,"index":0,"prompt":[{"role":"user","content":"a"},{"role":"<b>","content":null}],`,
		`"completion":[{"role":"assistant","content":"done"}],"rewards":{"__proto__":1,"accuracy":1e999,"x":null},`,
		`"reward":1e999,"advantage":-1e999,"truncated":true,"answer":{"a":[1]},"extra":{"__proto__":{"polluted":true}}}\n`,
	].join('');
	await writeFile(rolloutPath(run, 1), text);
	const source = new RolloutsSource(run);
	const { groups } = await source.step(1);
	assert.deepEqual([groups[0]?.reward, groups[0]?.advantage, groups[0]?.mean], [[null], [null], null]);
	const group = await source.group(1, 0);
	assert.equal(group.prompt, 'user:\na\n\n<b>:\n');
	assert.equal(group.rollouts[0]?.completion, 'done');
	assert.equal(group.answer, '{"a":[1]}');
	assert.ok(group.rollouts[0]?.rewards.every(([, value]) => value === null || Number.isFinite(value)));
	assert.equal(({} as { polluted?: boolean }).polluted, undefined);
});

test('a step file that is missing or not a regular file is rejected with a message', async () => {
	const run = await newRun();
	const source = new RolloutsSource(run);
	await assert.rejects(source.step(4), failsWith('missing', /rollouts for step 4 are missing.*another step/s));
	for (const step of [-1, 1.5, 1e300, Number.POSITIVE_INFINITY])
		await assert.rejects(source.step(step), failsWith('missing', /are missing/));
	await writeRollouts(run, 5, makeBatch({ step: 5 }));
	await source.step(5);
	await rm(rolloutPath(run, 5));
	await assert.rejects(source.step(5), failsWith('missing', /step 5/));
	const secret = join(root, 'secret.jsonl');
	await writeFile(secret, formatLine(line({ completion: 'secret' })));
	await symlink(secret, rolloutPath(run, 6));
	await assert.rejects(source.step(6), failsWith('invalid', /not a regular file/));
});

test('a file that grew or was replaced is reread', async () => {
	const run = await newRun();
	await writeRollouts(run, 1, makeBatch({ step: 1, groups: 2, size: 2 }));
	const source = new RolloutsSource(run);
	assert.equal((await source.step(1)).groups.length, 2);
	await appendFile(rolloutPath(run, 1), formatLine(line({ group: 9, completion: 'new' })));
	assert.equal((await source.step(1)).groups.length, 3);
	assert.equal((await source.group(1, 9)).rollouts[0]?.completion, 'new');
	await writeRollouts(run, 1, makeBatch({ step: 1, groups: 1, size: 2, seed: 2 }));
	assert.equal((await source.step(1)).groups.length, 1);
});

test('more steps than the cache holds can be read in any order', async () => {
	const run = await newRun();
	for (let step = 1; step <= 9; step++) await writeRollouts(run, step, makeBatch({ step, groups: step, size: 2 }));
	const source = new RolloutsSource(run);
	for (const step of [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 9, 2]) {
		assert.equal((await source.step(step)).groups.length, step);
		assert.equal((await source.group(step, step - 1)).rollouts.length, 2);
	}
});

test('text search covers all completions of a step but not the prompts', async () => {
	const run = await newRun();
	await writeRollouts(run, 1, [
		line({ index: 0, prompt: 'wait', completion: 'Wait, wait' }),
		line({ index: 1, completion: 'none' }),
		line({ index: 2, group: 4, completion: 'WAIT' }),
	]);
	const found = await new RolloutsSource(run).search(1, 'wait');
	assert.deepEqual(found, { group: [0, 4], index: [0, 2], count: [2, 1] });
});

test('completions over the budget are loaded on request, and an overlong line is reported', async () => {
	const run = await newRun();
	const large = 'z'.repeat(1_200_000);
	await writeRollouts(
		run,
		1,
		[0, 1, 2].map((index) => line({ index, completion: index === 2 ? 'short' : large })),
	);
	const source = new RolloutsSource(run);
	const { rollouts } = await source.group(1, 0);
	assert.deepEqual(
		rollouts.map(({ completion }) => completion?.length ?? null),
		[1_200_000, null, 5],
	);
	assert.deepEqual(
		rollouts.map(({ size }) => size),
		[1_200_000, 1_200_000, 5],
	);
	assert.equal((await source.rollout(1, 0, 1)).completion, large);
	await writeFile(
		rolloutPath(run, 2),
		`${formatLine(line({}))}{"completion":"${'z'.repeat(64 << 20)}"}\n${formatLine(line({ index: 1 }))}`,
	);
	const { faults, groups } = await source.step(2);
	assert.deepEqual(groups[0]?.index, [0, 1]);
	assert.deepEqual(faults.examples, ['line 2: longer than 64 MiB']);
});

test('without token logs, the length is in characters', async () => {
	const run = await newRun();
	await writeRollouts(run, 1, [
		line({ completion: 'four' }),
		line({ index: 1, completion: 'sixsix', tokens: { text: ['a'], logprob: [null] } }),
	]);
	const { lengthUnit, groups } = await new RolloutsSource(run).step(1);
	assert.equal(lengthUnit, 'characters');
	assert.deepEqual(groups[0]?.length, [4, 6]);
	await writeRollouts(run, 2, [line({ extra: { length: 7 } })]);
	const result = await new RolloutsSource(run).step(2);
	assert.deepEqual([result.lengthUnit, result.groups[0]?.length], ['tokens', [7]]);
	await assert.rejects(
		new RolloutsSource(run).tokens(1, 0, 0),
		failsWith('missing', /tokens of this rollout were not logged/),
	);
});

test('reading stops when canceled', async () => {
	const run = await newRun();
	await writeRollouts(run, 1, makeBatch({ step: 1, groups: 40 }));
	await assert.rejects(new RolloutsSource(run).step(1, { aborted: true }), failsWith('cancelled', /Canceled/));
});

test('a large step is indexed with memory that does not grow with its completions', async () => {
	const run = await newRun();
	const rows = Array.from({ length: 1000 }, (_, i) =>
		line({ group: i % 10, index: Math.floor(i / 10), completion: 'q'.repeat(20_000) }),
	);
	await writeRollouts(run, 1, rows);
	const source = new RolloutsSource(run);
	const content = await source.step(1);
	assert.equal(
		content.groups.reduce((sum, group) => sum + group.index.length, 0),
		1000,
	);
	assert.ok(JSON.stringify(content).length < 200_000);
});

test('a group includes the picture in its prompt, and the boxes in its answers', async () => {
	const run = await newRun();
	const content = pngOf(20, 10);
	const picture = { file: pictureName(content), width: 20, height: 10 };
	await mkdir(join(run, 'pictures'));
	await writeFile(join(run, 'pictures', picture.file), content);
	const completion = [{ role: 'assistant', content: '<answer>[0, 0, 10, 10]</answer>' }];
	const row = { boxes: [[0, 0, 10, 10]] };
	await mkdir(join(run, 'rollouts'), { recursive: true });
	await writeFile(
		rolloutPath(run, 1),
		[
			line({ completion, row, extra: { picture } }),
			line({ group: 1, completion, row, extra: { picture: { ...picture, file: '../run.json' } } }),
			line({ group: 2, completion, row }),
		]
			.map(formatLine)
			.join(''),
	);
	const boxes = { column: 'boxes', threshold: 0.5, unit: 'pixels' } as const;
	const source = new RolloutsSource(run, () => ({ think: null, answer: ['<answer>', '</answer>'], boxes }));
	const group = await source.group(1, 0);
	assert.ok(decode(rolloutsRequests.loadGroup.result, group).ok);
	assert.deepEqual(group.picture, picture);
	assert.deepEqual(
		group.rollouts[0]?.boxes?.map(({ kind, width, iou }) => [kind, width, iou]),
		[
			['gold', 0.5, null],
			['matched', 0.5, 1],
		],
	);
	assert.deepEqual(await source.picture(picture.file), { type: 'image/png', content: content.toString('base64') });
	for (const other of [1, 2]) {
		const without = await source.group(1, other);
		assert.deepEqual([without.picture, without.rollouts[0]?.boxes], [undefined, undefined]);
	}
	// Without a reward for boxes, only the picture is shown.
	const plain = await new RolloutsSource(run).group(1, 0);
	assert.deepEqual([plain.picture, plain.rollouts[0]?.boxes], [picture, undefined]);
});
