import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import type { AuditReport } from '../../../src/protocol/audit.ts';
import { auditReportSchema } from '../../../src/protocol/audit.ts';
import type { Comparison } from '../../../src/protocol/comparison.ts';
import { decodeOrThrow } from '../../../src/protocol/decode.ts';
import { objects, tinyRecipe, Workplace } from './cliFixtures.ts';

const contains = (test: string) => `# @dataset train.jsonl
def right(prompts, completions, answer, **kwargs):
    return [1.0 if ${test} else 0.0 for text, gold in zip(completions, answer)]
`;
const strict = `import re
# @dataset train.jsonl
def right(prompts, completions, answer, **kwargs):
    def score(text, gold):
        if not gold or not re.fullmatch(r"\\d+", gold, re.ASCII):
            return None
        found = re.fullmatch(r"<think>[^<]*</think><answer>([^<]*)</answer>", text)
        return 1.0 if found and found.group(1) == gold else 0.0
    return [score(*pair) for pair in zip(completions, answer)]
`;
const train = [
	{ prompt: 'What is 17 plus 25?', answer: '42' },
	{ prompt: '35+49=', answer: '84' },
	{ prompt: 'Which is larger, 12 or 9?', answer: '12' },
];

async function makeWorkplace(context: TestContext): Promise<Workplace> {
	const place = await Workplace.make(context);
	await place.write('train.jsonl', train.map((row) => `${JSON.stringify(row)}\n`).join(''));
	await place.write('strict.reward.py', strict);
	await place.write('loose.reward.py', contains('gold in text'));
	return place;
}

describe('reasoning-lab audit', () => {
	test('exits with 1 and findings for a hackable reward, and with 0 once it is fixed', async (context) => {
		const place = await makeWorkplace(context);
		const hacked = await place.run(context, 'audit', 'loose.reward.py');
		assert.equal(hacked.status, 1, hacked.stderr);
		assert.match(
			hacked.stdout,
			/^right: \d+ of \d+ probes score as high as a genuinely correct answer \(1\.000 on 3 rows\)$/m,
		);
		assert.match(hacked.stdout, /^ {2}high: List of every candidate \(every-candidate\), on 3 of 3 rows$/m);
		assert.match(hacked.stdout, /^ {4}fix {9}Compare the entire answer/m);
		// One finding with an example for each cause, and a line for each of the others.
		const causes = hacked.stdout.match(/^ {2}\S.* \(\d+ findings?\)$/gm) ?? [];
		const findings = hacked.stdout.match(/^ {2}(?:high|medium|low): /gm) ?? [];
		assert.ok(causes.length > 3 && causes.length < findings.length, hacked.stdout);
		assert.equal(hacked.stdout.match(/^ {4}fix {9}/gm)?.length, causes.length);
		assert.match(hacked.stdout, /^ {2}Rewards lists of candidate answers \(\d+ findings\)\n {2}high: /m);
		await place.write('loose.reward.py', strict);
		const fixed = await place.call('audit', 'loose.reward.py', '--json');
		assert.equal(fixed.status, 0, fixed.stdout + fixed.stderr);
		const [report] = objects(fixed.stdout);
		const decoded: AuditReport = decodeOrThrow(auditReportSchema, report, 'the report');
		assert.deepEqual([decoded.findings, decoded.rows, decoded.honest], [[], 3, 1]);
		assert.deepEqual(decoded.data, ['3 problems from train.jsonl']);
	});

	test('exits with 1 if a probe makes the reward fail, or if nothing could be tried', async (context) => {
		const place = await makeWorkplace(context);
		await place.write('fails.reward.py', contains('text.index("<answer>" + gold + "</answer>") >= 0'));
		const failing = await place.call('audit', 'fails.reward.py', '--probe', 'empty');
		assert.equal(failing.status, 1);
		assert.match(failing.stdout, /has no value|fails on ordinary completions/);
		await place.write('parses.reward.py', contains('int(text.split("<answer>")[1].split("<")[0]) == int(gold)'));
		const parsing = await place.call('audit', 'parses.reward.py', '--probe', 'empty', '--json');
		assert.equal(parsing.status, 1);
		const [report] = objects(parsing.stdout) as unknown as AuditReport[];
		assert.deepEqual(
			report?.probes.map(({ probe, outcome, error }) => [probe, outcome, error?.kind]),
			[['empty', 'error', 'threw']],
		);
	});

	test('reports invalid arguments', async (context) => {
		const place = await makeWorkplace(context);
		const cases = [
			[['audit'], 2, /needs a reward file/],
			[['audit', 'strict.reward.py', '--reward', 'other'], 2, /does not define a reward "other".*Use one of: right/],
			[['audit', 'strict.reward.py', '--probe', 'nonsense'], 2, /Unknown audit probe "nonsense"/],
			[['audit', 'strict.reward.py', '--rows', '0'], 2, /--rows is 0/],
			[['audit', 'gone.reward.py'], 1, /gone\.reward\.py/],
			[['compare', 'strict.reward.py'], 2, /requires a run/],
			[['compare', '--run', 'x'], 2, /Nothing to compare/],
			[['compare', '--run', 'x', '--weights', 'a'], 2, /"a" is not a valid weight/],
			[['compare', 'strict.reward.py', '--run', 'x', '--weights', 'a=1'], 2, /cannot be combined/],
		] as const;
		for (const [args, status, text] of cases) {
			const ended = await place.call(...args);
			assert.equal(ended.status, status, `${args.join(' ')}: ${ended.stderr}`);
			assert.match(ended.stderr, text);
		}
		const list = await place.call('audit', '--list', '--json');
		assert.equal(list.status, 0);
		assert.ok((objects(list.stdout)[0] as { probes: unknown[] }).probes.length >= 30);
	});
});

describe('reasoning-lab compare', () => {
	test('compares weights, files and the committed version on the rollouts of a run', async (context) => {
		const place = await makeWorkplace(context);
		await place.write('tiny.recipe.json', tinyRecipe);
		const run = await place.train('tiny.recipe.json');
		const compare = async (...args: string[]) => {
			const ended = await place.call('compare', ...args, '--run', run, '--json');
			assert.equal(ended.status, 0, ended.stdout + ended.stderr);
			return objects(ended.stdout)[0] as unknown as Comparison;
		};

		const weights = await compare('--weights', 'format=1', '--against', 'accuracy=1,format=0');
		assert.equal(weights.before, 'weights accuracy 1, format 0');
		assert.equal(weights.after, 'weights accuracy 1, format 1');
		assert.ok(weights.rows.length >= 32, `${weights.rows.length}`);

		await place.write('loose.reward.py', contains('True'));
		const files = await compare('strict.reward.py', 'loose.reward.py');
		assert.deepEqual([files.before, files.after], ['strict.reward.py', 'loose.reward.py']);
		assert.equal(files.summary.meanAfter, 1);
		assert.equal(files.summary.gained, 0);

		const git = (...args: string[]) =>
			promisify(execFile)('git', [
				'-C',
				place.folder,
				'-c',
				'user.name=T',
				'-c',
				'user.email=t@example.invalid',
				...args,
			]);
		await git('init', '-q');
		await git('add', 'strict.reward.py');
		await git('commit', '-q', '-m', 'one');
		await place.write('strict.reward.py', contains('True').replace('1.0', '0.5'));
		const head = await compare('strict.reward.py');
		assert.match(head.before, /^HEAD \([0-9a-f]+\)$/);
		assert.equal(head.after, 'working copy');
		assert.equal(head.summary.meanAfter, 0.5);
		assert.equal(head.summary.meanBefore, files.summary.meanBefore);
		const text = await place.call('compare', 'strict.reward.py', '--run', run);
		assert.match(text.stdout, /^HEAD \([0-9a-f]+\) {2}-> {2}working copy$/m);
		assert.match(text.stdout, /^changed {11}\d+ rollouts/m);
	});
});
