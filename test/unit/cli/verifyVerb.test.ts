import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { decode } from '../../../src/protocol/decode.ts';
import { type Verification, verificationSchema } from '../../../src/protocol/verification.ts';
import { batch, jsonl, sums, VerifyProject } from '../rewards/verifyProject.ts';
import { objects, Workplace } from './cliFixtures.ts';

const limit = { timeout: 120_000 };

const brevity = `// @dataset ../data/train.jsonl
export const brevity = ({ completion, answer, trace }) => {
	if (trace.answer === null) return null;
	return trace.answer.trim() === answer ? 1 - completion.length / 1000 : 0;
};
`;
const right = `# @dataset ../data/train.jsonl
def right(completions, answer, **kwargs):
    return [1.0 if f"<answer>{gold}</answer>" in text else 0.0 for text, gold in zip(completions, answer)]
`;

async function project(
	context: TestContext,
	files: Record<string, unknown>,
): Promise<Workplace & { project: VerifyProject }> {
	const made = await VerifyProject.make(context, { 'data/train.jsonl': jsonl(sums), ...files });
	await mkdir(join(made.folder, 'rewards'), { recursive: true });
	return Object.assign(await Workplace.make(context, made.folder), { project: made });
}

test('a TypeScript reward is verified on its dataset and its cases', limit, async (context) => {
	const place = await project(context, { 'rewards/brevity.reward.ts': brevity });
	const good = '{"completion": "<answer>2</answer>", "row": {"answer": "2"}, "expect": {"min": 0.9}}\n';
	await place.project.write('rewards/brevity.cases.jsonl', good);
	const held = await place.run(context, 'verify', 'rewards/brevity.reward.ts');
	assert.equal(held.status, 0, held.stderr);
	assert.match(held.stdout, /^brevity: 0\.\d\d ± 0\.\d\d · gold 100% · 1 case · .*\/row\n/);
	assert.match(held.stdout, /on 40 problems of data\/train\.jsonl and 1 case of rewards\/brevity\.cases\.jsonl\n/);

	await place.project.write(
		'rewards/brevity.cases.jsonl',
		`${good}\n{"completion": "x", "expect": 1, "name": "no answer"}\n`,
	);
	const broke = await place.call('verify', 'rewards/brevity.reward.ts', '--rows', '20');
	assert.equal(broke.status, 1);
	assert.match(broke.stdout, /rewards\/brevity\.cases\.jsonl:3: no answer: brevity gives null, expected 1: x\n/);
	assert.match(broke.stdout, /^Failed: brevity\.$/m);

	const json = await place.call('verify', 'rewards/brevity.reward.ts', '--json', '--seed', '4');
	assert.equal(json.status, 1);
	const [found, ...others] = objects(json.stdout);
	assert.deepEqual(others, []);
	const decoded = decode(verificationSchema, found);
	assert.ok(decoded.ok, JSON.stringify(decoded));
	assert.equal(decoded.value.rows.length, 202);
	assert.deepEqual(decoded.value.statistics.agreement, { problems: 40, agreed: 40 });

	await place.project.write('rewards/brevity.cases.jsonl', `${good}no case\n`);
	const torn = await place.call('verify', 'rewards/brevity.reward.ts');
	assert.equal(torn.status, 1);
	assert.match(torn.stdout, /rewards\/brevity\.cases\.jsonl, line 2, is not valid JSON\./);
});

test('a Python reward is verified, and its errors show their line', limit, async (context) => {
	const place = await project(context, { 'rewards/right.reward.py': right });
	const held = await place.run(context, 'verify', 'rewards/right.reward.py', '--python', 'python3');
	assert.equal(held.status, 0, held.stderr);
	assert.match(held.stdout, /^right: 0\.20 ± 0\.40 · gold 100% · /);
	await place.project.write(
		'rewards/right.reward.py',
		`${right}\ndef rest(completions, level, **kwargs):\n    return [1 / (value - 2) for value in level]\n`,
	);
	const broke = await place.call('verify', 'rewards/right.reward.py');
	assert.equal(broke.status, 1);
	assert.match(broke.stdout, /^right: /m);
	assert.match(broke.stdout, /^rest: .* errors · /m);
	assert.match(
		broke.stdout,
		/rewards\/right\.reward\.py:6: threw: .*division by zero.* \(row \d+, correct answer; .* and \d+ more rows\)/,
	);
	assert.match(broke.stdout, /^Failed: rest\.$/m);
	const one = await place.call('verify', 'rewards/right.reward.py', '--reward', 'right', '--json');
	assert.equal(one.status, 0, 'the other function was not run');
	assert.deepEqual(
		objects(one.stdout).map(({ reward }) => reward),
		['right'],
	);
});

test('rewards are verified on recorded rollouts and on cases from any file', limit, async (context) => {
	const place = await project(context, { 'rewards/right.reward.py': right });
	const run = await place.project.run('sums-1', { 2: batch(2, 4, 4, (i) => ({ right: (i + 1) % 2 })) });
	const rollouts = await place.call('verify', 'rewards/right.reward.py', '--run', run, '--json');
	assert.equal(rollouts.status, 0, rollouts.stderr);
	const [found] = objects(rollouts.stdout) as unknown as Verification[];
	assert.deepEqual(found?.statistics.recorded, { same: 16, different: 0 });
	assert.deepEqual(found?.data, ['run sums-1, step 2']);
	const cases = await place.project.write(
		'more.jsonl',
		'{"completion": "<answer>2</answer>", "row": {"answer": 2}, "expect": 1}\n',
	);
	const cased = await place.call('verify', 'rewards/right.reward.py', '--cases', cases);
	assert.equal(cased.status, 0, cased.stdout);
	assert.match(cased.stdout, /on 1 case of more\.jsonl/);
});

test('a reward that cannot be loaded fails, which is distinct from invalid usage', limit, async (context) => {
	const place = await project(context, {
		'rewards/broken.reward.py': 'def broken(completions, **kwargs)\n    return []\n',
		'rewards/empty.reward.ts': 'export const answer = 42;\n',
		'rewards/fine.reward.ts': 'export const fine = () => 1;\n',
	});
	for (const [file, words] of [
		['broken.reward.py', /broken\.reward\.py:1/],
		['empty.reward.ts', /empty\.reward\.ts/],
	] as const) {
		const failed = await place.call('verify', `rewards/${file}`);
		assert.equal(failed.status, 1, failed.stderr);
		assert.match(failed.stderr, words);
	}
	const plain = await place.call('verify', 'rewards/fine.reward.ts');
	assert.equal(plain.status, 0);
	assert.match(plain.stdout, /^fine: no rows\n.*Add "\/\/ @dataset/s);
	const fine = 'rewards/fine.reward.ts';
	const usages: [string[], RegExp][] = [
		[[], /needs a reward file/],
		[['rewards/gone.reward.ts'], /does not exist/],
		[['data/train.jsonl'], /is not a reward file/],
		[[fine, '--rows', 'many'], /--rows/],
		[[fine, '--rows', '0'], /--rows/],
		[[fine, '--run', 'gone'], /Run gone not found/],
		[[fine, '--dataset', 'gone.jsonl'], /gone\.jsonl does not exist/],
		[[fine, '--cases', 'gone.jsonl'], /gone\.jsonl/],
		[[fine, '--cases', 'a', '--run', 'b'], /--run and --cases cannot be combined/],
		[[fine, '--reward', 'gone'], /no reward "gone"\. Available: fine/],
		[[fine, '--what'], /--what/],
	];
	await place.project.write('empty.jsonl', '\n');
	usages.push([[fine, '--dataset', 'empty.jsonl'], /empty\.jsonl has no rows to verify/]);
	for (const [args, words] of usages) {
		const refused = await place.call('verify', ...args);
		assert.equal(refused.status, 2, `${args.join(' ')}: ${refused.stdout}${refused.stderr}`);
		assert.match(refused.stderr, words);
	}
});
