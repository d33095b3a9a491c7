import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { Failure } from '../../../src/base/failure.ts';
import { resolveRecipe } from '../../../src/core/recipe/resolve.ts';
import { resolveTemplate } from '../../../src/core/text/template.ts';
import { comparisonSchema } from '../../../src/protocol/comparison.ts';
import { decodeOrThrow } from '../../../src/protocol/decode.ts';
import { recipeSchema } from '../../../src/protocol/recipeKeys/recipe.ts';
import type { RolloutLine } from '../../../src/protocol/rolloutLine.ts';
import { compareRewards } from '../../../src/rewards/compareRewards.ts';
import { copyRevision } from '../../../src/rewards/gitRevision.ts';
import { fixtureFolder } from '../runs/importers/foreignFixtures.ts';
import { contextOf, openHosts } from './audit/auditHosts.ts';
import { recipe, VerifyProject } from './verifyProject.ts';

const execute = promisify(execFile);
const git = (folder: string, ...args: string[]) =>
	execute('git', ['-C', folder, '-c', 'user.name=T', '-c', 'user.email=t@example.invalid', ...args]);
const context = contextOf(resolveTemplate('r1'));

function line(
	step: number,
	group: number,
	index: number,
	completion: string,
	rewards: RolloutLine['rewards'],
): RolloutLine {
	return {
		step,
		stage: 'grpo',
		group,
		index,
		prompt: `${group}+1=`,
		completion,
		answer: String(group + 1),
		rewards,
		reward: 0,
		advantage: 0,
		truncated: false,
	};
}

/** Groups of three: correct and well-formed, only correct, and incorrect. */
const rollouts = (step: number) =>
	[0, 1].flatMap((group) => [
		line(step, group, 0, `<think>t</think><answer>${group + 1}</answer>`, { accuracy: 1, format: 1 }),
		line(step, group, 1, `it is ${group + 1}`, { accuracy: 0, format: 0 }),
		line(step, group, 2, '<think>t</think><answer>nothing</answer>', { accuracy: 0, format: 1 }),
	]);

const resolved = (rewards: unknown) =>
	resolveRecipe(decodeOrThrow(recipeSchema, recipe({ rewards }), 'recipe'), {
		cores: 1,
		resolvePath: (path) => `/${path}`,
	});

const strict = `
import { textOf } from './lib/text.ts';
export const found = ({ completion, answer }) => (textOf(completion) === String(answer) ? 1 : 0);
`;
const library =
	"export const textOf = (completion: string) => /<answer>(.*?)<\\/answer>/.exec(completion)?.[1] ?? '';\n";
const loose = 'export const found = ({ completion, answer }) => (completion.includes(String(answer)) ? 1 : 0);\n';

async function makeProject(testContext: TestContext): Promise<{ project: VerifyProject; run: string }> {
	const project = await VerifyProject.make(testContext, {
		'rewards/found.reward.ts': strict,
		'rewards/lib/text.ts': library,
		'rewards/loose.reward.ts': loose,
	});
	const rewards = [{ use: 'accuracy' }, { use: 'format', weight: 0.2 }];
	const run = await project.run('one', { 1: rollouts(1), 2: rollouts(2) }, { recipe: resolved(rewards) });
	return { project, run };
}

const isFailure = (reason: string, text: RegExp) => (error: unknown) =>
	error instanceof Failure && error.reason === reason && text.test(error.message);

describe('reward comparison on recorded rollouts', () => {
	test('compares two files', async (testContext) => {
		const { project, run } = await makeProject(testContext);
		const hosts = await openHosts(testContext);
		const side = (name: string) => ({
			label: name,
			runner: hosts.open({ file: project.path(`rewards/${name}.reward.ts`), context }),
			reward: 'found',
		});
		const progress: number[] = [];
		const comparison = await compareRewards({
			run,
			before: side('found'),
			after: side('loose'),
			onProgress: (done, total) => progress.push(done / total),
		});
		assert.deepEqual(decodeOrThrow(comparisonSchema, comparison, 'it'), comparison);
		assert.deepEqual(comparison.steps, [1, 2]);
		assert.equal(comparison.rows.length, 12);
		assert.deepEqual(
			comparison.rows.slice(0, 3).map(({ before, after }) => [before, after]),
			[
				[1, 1],
				[0, 1],
				[0, 0],
			],
		);
		assert.equal(comparison.summary.flipped, 4);
		assert.equal(comparison.summary.advantageFlips, 4);
		assert.deepEqual([comparison.summary.gained, comparison.summary.lost], [0, 0]);
		assert.deepEqual(progress, [0.25, 0.5, 0.75, 1]);
		assert.deepEqual(comparison.remarks, []);
		const newest = await compareRewards({ run, before: side('found'), after: side('loose'), steps: 1 });
		assert.deepEqual(newest.steps, [2]);
	});

	test('reports the rows on which a side fails', async (testContext) => {
		const { project, run } = await makeProject(testContext);
		await project.write(
			'rewards/fails.reward.ts',
			"export const found = ({ completion }) => {\n\tif (completion.startsWith('it')) throw new Error('no tags');\n\treturn 1;\n};\n",
		);
		const hosts = await openHosts(testContext);
		const side = (name: string) => ({
			label: name,
			runner: hosts.open({ file: project.path(`rewards/${name}.reward.ts`), context }),
			reward: 'found',
		});
		const { rows, remarks, summary } = await compareRewards({ run, before: side('found'), after: side('fails') });
		assert.match(rows[1]?.error ?? '', /^fails: .*no tags/);
		assert.equal(rows[1]?.after, null);
		assert.equal(rows[0]?.error, undefined);
		assert.match(remarks.join(), /fails on 4 rows/);
		assert.equal(summary.flipped, 8);
	});

	test('does not count the steps of a run whose trainer records none', async () => {
		const run = fixtureFolder('verifiers-0.4');
		const { rows, groups, steps } = await compareRewards({ run, before: { weights: {} }, after: { weights: {} } });
		assert.ok(rows.length > 0 && groups.length > 0);
		assert.deepEqual([...new Set([...rows, ...groups].map(({ step }) => step)), ...steps], [null]);
	});

	test('compares weights without scoring anything', async (testContext) => {
		const { run } = await makeProject(testContext);
		const comparison = await compareRewards({ run, before: { weights: {} }, after: { weights: { format: 2 } } });
		assert.equal(comparison.before, 'weights accuracy 1, format 0.2');
		assert.equal(comparison.after, 'weights accuracy 1, format 2');
		assert.deepEqual(
			comparison.rows.slice(0, 3).map(({ before, after }) => [before, after]),
			[
				[1.2, 3],
				[0, 0],
				[0.2, 2],
			],
		);
		await assert.rejects(
			compareRewards({ run, before: { weights: {} }, after: { weights: { brevity: 1 } } }),
			isFailure('invalid', /has no recorded values for reward "brevity"/),
		);
	});

	test('supports external runs: message lists, groups of any size, no recipe', async (testContext) => {
		const { project } = await makeProject(testContext);
		const say = (content: string) => [{ role: 'assistant', content }];
		const lines = rollouts(7).map((one) => ({
			...one,
			prompt: [{ role: 'user', content: String(one.prompt) }],
			completion: say(String(one.completion)),
		}));
		const run = await project.run('foreign', { 7: [...lines.slice(0, 5), '{"torn'] });
		const hosts = await openHosts(testContext);
		const runner = hosts.open({ file: project.path('rewards/found.reward.ts'), context });
		const side = { label: 'found', runner, reward: 'found' };
		const comparison = await compareRewards({ run, before: side, after: { weights: { accuracy: 1, format: 0 } } });
		assert.equal(comparison.rows.length, 5);
		assert.equal(comparison.rows[0]?.prompt, '0+1=');
		assert.equal(comparison.summary.changed, 0);
		assert.equal(comparison.groups.length, 2);
		assert.match(comparison.remarks.join(' '), /Cannot read the run's recipe/);
		const empty = await project.run('empty', {});
		await assert.rejects(
			compareRewards({ run: empty, before: side, after: side }),
			isFailure('missing', /has no rollouts/),
		);
	});
});

describe('a reward file revision', () => {
	async function commit(project: VerifyProject): Promise<void> {
		await git(project.folder, 'init', '-q');
		await git(project.folder, 'add', 'rewards');
		await git(project.folder, 'commit', '-q', '-m', 'one');
	}
	const copies = async () => (await readdir(tmpdir())).filter((name) => name.startsWith('reasoning-lab-revision-'));

	test('is checked out with its original local imports, and removed on disposal', async (testContext) => {
		const { project, run } = await makeProject(testContext);
		await commit(project);
		const file = project.path('rewards/found.reward.ts');
		const unchanged = await copyRevision(file);
		assert.equal(unchanged.unchanged, true);
		await unchanged.dispose();
		await project.write('rewards/lib/text.ts', library.replace('answer>(', 'answer>\\s*('));
		await project.write('rewards/found.reward.ts', loose);
		// Environment variables must not redirect git to another repository.
		process.env.GIT_DIR = join(tmpdir(), 'nowhere');
		testContext.after(() => delete process.env.GIT_DIR);
		const copy = await copyRevision(file);
		delete process.env.GIT_DIR;
		assert.match(copy.label, /^HEAD \([0-9a-f]{7,}\)$/);
		assert.equal(copy.unchanged, false);
		const hosts = await openHosts(testContext);
		const comparison = await compareRewards({
			run,
			before: { label: copy.label, runner: hosts.open({ file: copy.file, context }), reward: 'found' },
			after: { label: 'working copy', runner: hosts.open({ file, context }), reward: 'found' },
		});
		assert.equal(comparison.summary.flipped, 4);
		assert.deepEqual(comparison.remarks, []);
		await copy.dispose();
		await assert.rejects(readdir(dirname(copy.file)));
	});

	test('uses the packages of the working copy', async (testContext) => {
		const { project } = await makeProject(testContext);
		await project.write(
			'rewards/found.reward.ts',
			`import { one } from 'some-package';\nexport const found = () => one;\n`,
		);
		await project.write('node_modules/some-package/package.json', { name: 'some-package', main: 'index.js' });
		await project.write('node_modules/some-package/index.js', 'exports.one = 0.5;\n');
		await commit(project);
		const copy = await copyRevision(project.path('rewards/found.reward.ts'));
		testContext.after(() => copy.dispose());
		const hosts = await openHosts(testContext);
		const runner = hosts.open({ file: copy.file, context });
		const row = { prompt: '', completion: '', answer: '', row: {}, truncated: false };
		assert.deepEqual((await runner.score('found', [row])).values, [0.5]);
	});

	test('can be a Python reward that imports the module next to it', async (testContext) => {
		const { project } = await makeProject(testContext);
		await project.write(
			'rewards/length.reward.py',
			'from measure import size\ndef length(completions, **kwargs):\n    return [size(c) for c in completions]\n',
		);
		await project.write('rewards/measure.py', 'def size(text):\n    return float(len(text))\n');
		await commit(project);
		await project.write('rewards/measure.py', 'def size(text):\n    return 0.0\n');
		const copy = await copyRevision(project.path('rewards/length.reward.py'));
		testContext.after(() => copy.dispose());
		const hosts = await openHosts(testContext);
		const runner = hosts.open({ file: copy.file, context });
		const row = { prompt: '', completion: 'four', answer: '', row: {}, truncated: false };
		assert.deepEqual((await runner.score('length', [row])).values, [4]);
	});

	test('fails with one sentence if it does not exist', async (testContext) => {
		const { project } = await makeProject(testContext);
		const file = project.path('rewards/found.reward.ts');
		await assert.rejects(copyRevision(file), isFailure('missing', /is not in a git repository/));
		await git(project.folder, 'init', '-q');
		await assert.rejects(copyRevision(file), isFailure('missing', /has no commits yet/));
		await commit(project);
		const other = await project.write('rewards/new.reward.ts', loose);
		await assert.rejects(copyRevision(other), isFailure('missing', /rewards\/new\.reward\.ts does not exist in HEAD/));
		await assert.rejects(copyRevision(file, { revision: 'v9' }), isFailure('missing', /no revision v9/));
		await assert.rejects(
			copyRevision(file, { revision: '--output=x' }),
			isFailure('invalid', /is not a valid revision/),
		);
		await assert.rejects(copyRevision(project.path('gone.reward.ts')), isFailure('missing', /gone\.reward\.ts/));
		const path = process.env.PATH;
		process.env.PATH = await mkdir(join(project.folder, 'empty')).then(() => join(project.folder, 'empty'));
		testContext.after(() => {
			process.env.PATH = path;
		});
		await assert.rejects(copyRevision(file), isFailure('unavailable', /git is not installed/));
		process.env.PATH = path;
		const before = await copies();
		const aborted = AbortSignal.abort();
		await assert.rejects(copyRevision(file, { signal: aborted }), isFailure('cancelled', /Canceled/));
		assert.deepEqual(await copies(), before);
	});

	test('runs no code from the repository and follows no links out of it', async (testContext) => {
		const { project } = await makeProject(testContext);
		await commit(project);
		const mark = project.path('mark');
		await git(project.folder, 'config', 'filter.evil.smudge', `sh -c 'touch ${mark}; cat'`);
		await git(project.folder, 'config', 'filter.evil.clean', `sh -c 'touch ${mark}; cat'`);
		await git(project.folder, 'config', 'core.fsmonitor', `touch ${mark}`);
		await writeFile(project.path('.gitattributes'), '*.ts filter=evil\n');
		const copy = await copyRevision(project.path('rewards/found.reward.ts'));
		await copy.dispose();
		await assert.rejects(readdir(mark), /ENOENT/);
		await rm(mark, { force: true });
	});
});
