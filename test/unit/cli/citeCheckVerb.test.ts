import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeBatch, writeRun } from '../webview/rollouts/rolloutsFixture.ts';
import { objects, Workplace } from './cliFixtures.ts';

test('cite-check lists citations that do not resolve and numbers that the data does not support', async (context) => {
	const place = await Workplace.make(context);
	await writeRun(join(place.folder, 'runs/sums'), [1, 2], { groups: 2, size: 4 });
	const [line] = makeBatch({ step: 1, groups: 2, size: 4, skill: 0.25 + 0.6 / 2 });
	const reward = line?.reward as number;
	const completion = 'rl://sums/step/1/group/0/completion/0';
	const sound = [
		`The first completion earns [${reward}](${completion}).`,
		'Both steps have [2](rl://sums/step/1) groups; see also rl://sums.',
		'rl://sums/file/metrics.jsonl has no numbers to check, such as [7](rl://sums/file/metrics.jsonl).',
	].join('\n');
	await place.write('sound.md', sound);
	const good = await place.call('cite-check', 'sound.md');
	assert.deepEqual([good.status, good.stdout], [0, '5 citations, 0 problems\n']);
	const all = await place.call('cite-check', 'sound.md', '--all');
	assert.deepEqual(all.stdout.split('\n').slice(0, 2), [
		`sound.md:1:${31 + `${reward}`.length}: ${completion}: ok`,
		'sound.md:2:21: rl://sums/step/1: ok',
	]);

	// The file can be in a different folder from the runs.
	await mkdir(join(place.folder, 'reports'));
	const wrong = [
		`A reward of ${reward + 0.25} (${completion}), and \u001b[31mnothing\u001b[0m.`,
		'rl://sums/step/99, rl://gone and rl://sums/step/x',
	].join('\n');
	await writeFile(join(place.folder, 'reports/wrong.md'), wrong);
	const bad = await place.call('cite-check', 'reports/wrong.md');
	assert.equal(bad.status, 1);
	const lines = bad.stdout.trim().split('\n');
	assert.match(
		lines[0] ?? '',
		new RegExp(`^wrong\\.md:1:\\d+: ${completion}: ${reward + 0.25} does not match the data: `),
	);
	assert.match(lines[0] ?? '', new RegExp(`\\breward ${reward}\\b`));
	assert.match(lines[1] ?? '', /^wrong\.md:2:1: rl:\/\/sums\/step\/99: .*step 99/);
	assert.match(lines[2] ?? '', /^wrong\.md:2:20: rl:\/\/gone: Unknown run "gone"/);
	assert.match(lines[3] ?? '', /^wrong\.md:2:34: rl:\/\/sums\/step\/x: .*step must be a whole number/);
	assert.deepEqual(lines.slice(4), ['4 citations, 4 problems']);
	const json = objects((await place.call('cite-check', 'reports/wrong.md', '--json')).stdout);
	assert.deepEqual(
		json.map(({ kind, status }) => [kind, status]),
		[
			...['different', 'unresolved', 'unresolved', 'malformed'].map((status) => ['citation', status]),
			['checked', undefined],
		],
	);

	await place.write('rows.jsonl', '{"prompt":"1 + 1","answer":"2"}\n{"prompt":"2 + 3","answer":5,"weight":0.125}\n');
	const cited = [
		'Row 1 expects [5](rl:///dataset/rows.jsonl/row/1) at weight [0.13](rl:///dataset/rows.jsonl/row/1),',
		'and the first [2](rl:///dataset/rows.jsonl/row/0), of [2 rows](rl:///dataset/rows.jsonl).',
	];
	await place.write('rows.md', cited.join('\n'));
	assert.equal((await place.call('cite-check', 'rows.md')).stdout, '4 citations, 0 problems\n');
	const outside = 'rl:///dataset/rows.jsonl/row/2, rl:///dataset/gone.jsonl and [4](rl:///dataset/rows.jsonl/row/1)';
	await place.write('rows.md', outside);
	const { stdout } = await place.call('cite-check', 'rows.md');
	assert.match(stdout, /has only 2 rows, so row 2 does not exist/);
	assert.match(stdout, /gone\.jsonl was not found/);
	assert.match(stdout, /4 does not match the data: answer 5, weight 0\.125/);

	// Runs are found only below the given folders.
	const elsewhere = await place.call('cite-check', 'sound.md', '--folder', 'reports');
	assert.deepEqual([elsewhere.status, /Unknown run "sums"/.test(elsewhere.stdout)], [1, true]);
	for (const [args, message] of [
		[['gone.md'], /gone\.md/],
		[[], /a Markdown file/],
	] as const) {
		const { status, stderr } = await place.call('cite-check', ...args);
		assert.equal(status, 2);
		assert.match(stderr, message);
	}
});
