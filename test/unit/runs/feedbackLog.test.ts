import assert from 'node:assert/strict';
import { appendFile, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Feedback } from '../../../src/protocol/feedback.ts';
import { annotationFolder } from '../../../src/runs/annotationFolder.ts';
import { exportFeedback } from '../../../src/runs/exportFeedback.ts';
import { FeedbackLog, feedbackFile } from '../../../src/runs/feedbackLog.ts';

async function run(context: TestContext) {
	const folder = await mkdtemp(join(tmpdir(), 'rl-feedback-'));
	context.after(() => rm(folder, { recursive: true, force: true }));
	return { folder, format: 'reasoning-lab' };
}

const rated = (index: number, value: 1 | 2 | 3 | 4 | 5 | null, rater = 'ada', step = 1): Feedback => ({
	...{ kind: 'rating', format: 1, time: 9, rater, prompt: '1+1=', split: 'train', step, group: 0, index },
	...{ completion: `text ${index} "of" a\nline`, reward: index, rating: value },
});

test('the last rating by a rater counts, even from another window', async (context) => {
	const of = await run(context);
	const [first, second] = [await FeedbackLog.of(of), await FeedbackLog.of(of)];
	assert.deepEqual(await first.all(), []);
	await first.save(rated(0, 2));
	await second.save(rated(0, 5));
	await second.save(rated(0, 1, 'bob'));
	await first.save(rated(1, 3));
	await first.save(rated(1, null));
	for (const log of [first, second]) {
		const all = await log.all();
		assert.deepEqual(
			all.map((one) => [one.rater, one.kind === 'rating' && one.rating]),
			[
				['ada', 5],
				['bob', 1],
			],
		);
	}
});

test('a comparison replaces an earlier one of the same pair in reverse order', async (context) => {
	const of = await run(context);
	const log = await FeedbackLog.of(of);
	const side = (index: number) => ({
		...({ split: 'train', step: 1, group: 0, completion: 'x', reward: null } as const),
		index,
	});
	const result = { kind: 'preference', format: 1, time: 9, rater: 'ada', prompt: 'p' } as const;
	await log.save({ ...result, a: side(0), b: side(1), choice: 'a' });
	await log.save({ ...result, a: side(1), b: side(0), choice: 'a' });
	const all = await log.all();
	assert.equal(all.length, 1);
	assert.ok(all[0]?.kind === 'preference' && all[0].a.index === 1);
});

test('partial and unknown lines are skipped and counted, and links are not written to', async (context) => {
	const of = await run(context);
	const log = await FeedbackLog.of(of);
	await log.save(rated(0, 4));
	const folder = await annotationFolder(of);
	await appendFile(join(folder, feedbackFile), '{"kind":"rating","format":1\n{"kind":"gift"}\n{"kind":"rat');
	await log.save(rated(1, 2));
	assert.equal((await log.all()).length, 2);
	assert.equal(log.unreadable, 3);

	const other = await run(context);
	const target = join(of.folder, 'target');
	await writeFile(target, '');
	const place = await annotationFolder(other);
	await (await FeedbackLog.of(other)).save(rated(0, 4));
	await rm(join(place, feedbackFile));
	await symlink(target, join(place, feedbackFile));
	await assert.rejects((await FeedbackLog.of(other)).save(rated(0, 5)), { reason: 'invalid' });
	assert.equal(await readFile(target, 'utf8'), '');
});

test('pairs are exported completely or not at all, with the reasons for skipped ones', async (context) => {
	const of = await run(context);
	const log = await FeedbackLog.of(of);
	const out = join(of.folder, 'pairs.jsonl');
	await assert.rejects(exportFeedback(of, {}, out, { replace: false }), {
		...{ reason: 'missing', action: /Rate completions of the same prompt/ },
	});
	for (const one of [rated(0, 5), rated(1, 4), rated(2, 1), rated(0, 5, 'ada', 2)]) await log.save(one);
	const summary = await exportFeedback(of, { selection: { steps: { from: 1, to: 1 } }, margin: 2 }, out, {
		replace: false,
	});
	assert.deepEqual(
		[summary.read, summary.written, summary.leftOut],
		[3, 2, [{ reason: 'whose ratings differ by less than the margin', count: 1 }]],
	);
	const lines = (await readFile(out, 'utf8'))
		.trim()
		.split('\n')
		.map((line) => JSON.parse(line));
	assert.deepEqual(
		lines.map(({ prompt, chosen, rejected }) => [prompt, chosen, rejected]),
		[
			['1+1=', 'text 0 "of" a\nline', 'text 2 "of" a\nline'],
			['1+1=', 'text 1 "of" a\nline', 'text 2 "of" a\nline'],
		],
	);
});
