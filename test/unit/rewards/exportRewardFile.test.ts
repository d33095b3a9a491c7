import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { ExportFinding } from '../../../src/core/reward/export/exportLint.ts';
import { type ExportTarget, exportTargets } from '../../../src/core/reward/export/exportTarget.ts';
import { adapterPath, exportRewardFile, writeAdapter } from '../../../src/rewards/exportRewardFile.ts';
import { findRewardPrograms } from '../../../src/rewards/rewardPrograms.ts';
import { builtHostFolder } from '../../support/programs.ts';

const { python } = await findRewardPrograms();
let folder: string;
before(async () => {
	folder = await mkdtemp(join(tmpdir(), 'export-'));
});
after(() => rm(folder, { recursive: true, force: true }));

async function lint(source: string, target: ExportTarget): Promise<readonly ExportFinding[]> {
	const file = join(folder, 'sample.reward.py');
	await writeFile(file, source);
	return (await exportRewardFile({ file, target, python, folder: builtHostFolder() })).findings;
}
const brief = (findings: readonly ExportFinding[]) => findings.map(({ rule, line }) => `${rule} ${line}`);

test('a plain reward is exported for every target without findings', async () => {
	const source = 'def plain(prompts, completions, answer, **kwargs):\n    return [1.0 for _ in completions]\n';
	for (const target of exportTargets) assert.deepEqual(brief(await lint(source, target)), [], target);
});

test('incompatible code is reported at its line', async () => {
	const source = `import threading
from .shared import helper

LOCK = threading.Lock()
shorter = lambda text: text[:9]


def compute_score():
    pass


async def fussy(completions, level, trainer_state, hint="", **kwargs):
    longest = max(len(completion) for completion in completions)
    if not hint:
        return [None] * len(completions)
    return [None if c[0]["content"] == "" else len(c) / longest for c in completions]


fussy.batch_only = True
`;
	assert.deepEqual(brief(await lint(source, 'verl')), [
		'names 1',
		'imports 2',
		'pickling 4',
		'pickling 5',
		'columns 12',
		'trainer-arguments 12',
		'async 12',
		'batch 13',
		'none 15',
		'none 16',
		'messages 16',
	]);
	assert.deepEqual(brief(await lint(source, 'trl')), ['imports 2', 'pickling 4', 'pickling 5']);
	const openrlhf = await lint(source, 'openrlhf');
	const columns = openrlhf.find(({ rule }) => rule === 'columns');
	assert.equal(columns?.severity, 'error');
	assert.match(columns?.message ?? '', /"level"/);
});

test('column names and tags cannot inject code into an adapter', async () => {
	const file = join(folder, 'names.reward.py');
	await writeFile(file, 'def own(completions, **kwargs):\n    return [0.5 for _ in completions]\n');
	const { execFileSync } = await import('node:child_process');
	for (const target of exportTargets) {
		for (const answer of ['class', 'data_source', 'answer']) {
			const think = ['<"{quit()}\\', "'\n</"] as const;
			const { text } = await exportRewardFile({ file, target, python, folder: builtHostFolder(), answer, think });
			execFileSync(python, ['-c', 'import ast, sys; ast.parse(sys.stdin.read())'], { input: text });
			assert.doesNotMatch(text, /\{quit\(\)\}\{/);
		}
	}
});

test('a file that cannot be exported is rejected with one sentence', async () => {
	const request = { target: 'verl', python, folder: builtHostFolder() } as const;
	const refused = async (name: string, source: string, pattern: RegExp, extra = {}) => {
		const file = join(folder, name);
		await writeFile(file, source);
		await assert.rejects(exportRewardFile({ ...request, file, ...extra }), pattern);
	};
	await refused('a.reward.py', 'def broken(:\n', /a\.reward\.py:1: /);
	await refused('b.reward.py', 'x = 1\n', /has no rewards:/);
	await refused('c.reward.py', 'def one(completions):\n    return []\n', /does not define "two"/, { names: ['two'] });
	await refused('d.reward.ts', 'export const a = 1;\n', /is not a Python file/);
	await refused('e.reward.py', 'def one(completions):\n    return []\n', /Cannot find Python "\/nowhere\/python"/, {
		python: '/nowhere/python',
	});
	await assert.rejects(exportRewardFile({ ...request, file: join(folder, 'none.reward.py') }), /Cannot read/);
});

test('an adapter replaces only an earlier adapter', async () => {
	const file = join(folder, 'my-own 2.reward.py');
	const path = adapterPath(file, 'verl');
	assert.equal(path, join(folder, 'my_own_2_verl.py'));
	await writeFile(file, 'def own(completions, **kwargs):\n    return [0.5 for _ in completions]\n');
	const { text } = await exportRewardFile({ file, target: 'verl', python, folder: builtHostFolder() });
	await writeAdapter(path, text);
	await writeAdapter(path, text);
	assert.equal(await readFile(path, 'utf8'), text);
	// First line as written by version 0.1.
	await writeFile(path, text.replace('# Generated from', '# Made from'));
	await writeAdapter(path, text);
	assert.equal(await readFile(path, 'utf8'), text);
	await writeFile(path, 'mine');
	await assert.rejects(writeAdapter(path, text), /is not an adapter/);
	assert.equal(await readFile(path, 'utf8'), 'mine');
});
