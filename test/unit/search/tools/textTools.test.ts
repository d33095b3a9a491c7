import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { Failure } from '../../../../src/base/failure.ts';
import { datasetLimits, datasetTool } from '../../../../src/search/tools/datasetTool.ts';
import { textQuery } from '../../../../src/search/tools/textQuery.ts';
import { workspaceLimits, workspaceTool } from '../../../../src/search/tools/workspaceTool.ts';

const never = new AbortController().signal;
let outside = '';
let root = '';

const files: Readonly<Record<string, string>> = {
	'docs/grpo.md': 'Intro.\n\nGRPO takes the mean reward of the group as its baseline.\nThere is no value model.\n',
	'docs/ppo.md': 'PPO learns a value model beside the policy.\nIts advantages are GAE(lambda).\n',
	'src/learning_rate.py': 'learning_rate = 0.0004\n# the group size is 8\n',
	'node_modules/pkg/readme.md': 'baseline baseline baseline GRPO\n',
	'.env': 'SECRET_BASELINE=hunter2 baseline\n',
	'.git/config': 'baseline\n',
	'many.txt': Array.from({ length: 300 }, (_, i) => `line ${i} about zebras\n\n\n\n\n\n`).join(''),
};

before(async () => {
	outside = await mkdtemp(join(tmpdir(), 'agent-tools-'));
	root = join(outside, 'work');
	for (const [name, text] of Object.entries(files)) {
		await mkdir(dirname(join(root, name)), { recursive: true });
		await writeFile(join(root, name), text);
	}
	await writeFile(join(outside, 'secret.txt'), 'the baseline of secrets');
	await writeFile(join(root, 'binary.bin'), Buffer.from('baseline\0baseline'));
	await writeFile(join(root, 'huge.txt'), 'baseline '.repeat(400_000));
	if (process.platform !== 'win32') {
		await symlink(join(outside, 'secret.txt'), join(root, 'docs/link.md'));
		await symlink(outside, join(root, 'up'));
		await promisify(execFile)('mkfifo', [join(root, 'docs/pipe.md')]);
	}
});
after(() => rm(outside, { recursive: true, force: true }));

const sourcesOf = async (query: string) =>
	(await workspaceTool('workspace', root, never).run(query)).sources.map(({ source }) => source);
const fails = (reason: Failure['reason'], words: RegExp) => (error: unknown) => {
	assert.ok(error instanceof Failure, String(error));
	assert.deepEqual([error.reason, words.test(error.message)], [reason, true], error.message);
	return true;
};

describe('workspace search', () => {
	it('finds passages by words, rare words first, and reports how many are left', async () => {
		const { sources, note } = await workspaceTool('workspace', root, never).run('What is the baseline of GRPO?');
		assert.equal(sources[0]?.source, 'docs/grpo.md:3');
		assert.match(sources[0]?.text ?? '', /mean reward of the group as its baseline\.\nThere is no value model\./);
		assert.equal(note, undefined);
		assert.deepEqual(await sourcesOf('learning_rate'), ['src/learning_rate.py:1']);
		assert.deepEqual(await sourcesOf('"value model beside"'), ['docs/ppo.md:1']);
		const zebras = await workspaceTool('workspace', root, never).run('zebras');
		assert.equal(zebras.sources.length, 2);
		assert.equal(zebras.note, '298 more locations contain some of these words.');
		const none = await workspaceTool('workspace', root, never).run('xylophone');
		assert.deepEqual(
			[none.sources.length, /^None of the \d+ files contains any of these words\.$/.test(none.note ?? '')],
			[0, true],
		);
	});

	it('skips hidden, linked, binary and large files, and packages', async () => {
		assert.deepEqual(await sourcesOf('baseline'), ['docs/grpo.md:3']);
		assert.deepEqual(await sourcesOf('hunter2'), []);
		assert.deepEqual(await sourcesOf('secrets'), []);
	});

	it('treats a query as plain words rather than a pattern, however long', async () => {
		for (const query of ['(a+)+$ '.repeat(200), '.*', '[', `${'x '.repeat(100_000)}grpo`, '\\', '"".""']) {
			await workspaceTool('workspace', root, never)
				.run(query)
				.catch(fails('invalid', /no searchable words/));
		}
		assert.ok(
			textQuery('word '.repeat(1000) + Array.from({ length: 99 }, (_, i) => `name${i}`).join(' ')).terms.length <= 24,
		);
	});

	it('reads lines only from files in the workspace', async () => {
		const tool = workspaceTool('workspace', root, never);
		const { sources, note } = await tool.run('read docs/grpo.md:3-4');
		assert.deepEqual(sources[0], {
			source: 'docs/grpo.md:3',
			title: null,
			text: 'GRPO takes the mean reward of the group as its baseline.\nThere is no value model.',
		});
		assert.equal(note, 'Lines 3 to 4 of 5.');
		assert.equal((await tool.run('READ ./docs/grpo.md')).sources[0]?.source, 'docs/grpo.md:1');
		for (const path of [
			'../secret.txt',
			'docs/../../secret.txt',
			'.env',
			'.git/config',
			'docs/.hidden.md',
			'node_modules/pkg/readme.md',
			'..\\secret.txt',
		]) {
			await assert.rejects(tool.run(`read ${path}`), fails('denied', /hidden or outside/), path);
		}
		for (const path of [join(outside, 'secret.txt'), '/etc/passwd', 'docs//grpo.md']) {
			await assert.rejects(tool.run(`read ${path}`), fails('invalid', /is not a readable file/), path);
		}
		await assert.rejects(tool.run('read docs/none.md'), fails('missing', /has no file docs\/none\.md/));
		await assert.rejects(tool.run('read huge.txt'), fails('unsupported', /too large or not a text file/));
		await assert.rejects(tool.run('read docs/grpo.md:900'), fails('missing', /has 5 lines/));
		if (process.platform === 'win32') return;
		for (const path of ['docs/link.md', 'up/secret.txt', 'docs/pipe.md']) {
			await assert.rejects(tool.run(`read ${path}`), fails('invalid', /is not a readable file/), path);
		}
	});

	it('ends at its limits and when canceled', async () => {
		const few = workspaceTool('workspace', root, never, { ...workspaceLimits, files: 1 });
		const { note } = await few.run('grpo');
		assert.match(note ?? '', /Not searched: .*the first 1 files/);
		const shallow = workspaceTool('workspace', root, never, { ...workspaceLimits, depth: 0 });
		assert.match((await shallow.run('grpo')).note ?? '', /Not searched: deeply nested folders/);
		await assert.rejects(workspaceTool('workspace', root, AbortSignal.abort()).run('grpo'), fails('cancelled', /./));
	});
});

describe('dataset lookup', () => {
	const rows = [
		{ question: 'Tom has 3 apples and buys 4.', answer: '7' },
		{ question: 'A train drives 60 km in an hour.', answer: 60, tags: ['speed'] },
		{ question: 'Anna has 12 apples.', answer: '12' },
	];
	const written = async (text: string) => {
		const path = join(outside, 'rows.jsonl');
		await writeFile(path, text);
		return path;
	};

	it('finds rows by words and by line number', async () => {
		const path = await written(`${rows.map((row) => JSON.stringify(row)).join('\n')}`);
		const tool = datasetTool('dataset', path, never);
		const { sources } = await tool.run('Anna apples');
		assert.deepEqual(
			sources.map(({ source }) => source),
			['rows.jsonl:3'],
		);
		assert.equal((await tool.run('apples')).sources.length, 2);
		assert.equal(
			(await tool.run('row 2')).sources[0]?.text,
			'question: A train drives 60 km in an hour.\nanswer: 60\ntags: ["speed"]',
		);
		assert.match((await tool.run('zebra')).note ?? '', /None of the 3 rows contains any of these words/);
		await assert.rejects(tool.run('row 9'), fails('missing', /has no row 9; it has 3 rows/));
		await assert.rejects(tool.run('of the'), fails('invalid', /no searchable words/));
	});

	it('skips invalid rows, and reads no more than its limit', async () => {
		const path = await written(`noise\n[1]\n\n${JSON.stringify(rows[0])}\n{"torn": `);
		const tool = datasetTool('dataset', path, never);
		const { sources, note } = await tool.run('apples');
		assert.deepEqual([sources[0]?.source, note], ['rows.jsonl:4', '3 lines are not JSON objects.']);
		const long = await written(
			`${JSON.stringify({ a: 'apples '.repeat(2000) })}\n${JSON.stringify(rows[0])}\n`.repeat(400),
		);
		const bounded = datasetTool('dataset', long, never, { ...datasetLimits, lineBytes: 1000, bytes: 1 << 20 });
		const cut = await bounded.run('apples');
		assert.match(cut.note ?? '', /Only the first \d+ rows were read\. \d+ lines are not JSON objects\./);
		assert.ok(cut.sources.every(({ text }) => text.length <= 1500));
		await assert.rejects(datasetTool('dataset', join(outside, 'none'), never).run('apples'), fails('missing', /./));
		await assert.rejects(datasetTool('dataset', path, AbortSignal.abort()).run('apples'), fails('cancelled', /./));
	});
});
