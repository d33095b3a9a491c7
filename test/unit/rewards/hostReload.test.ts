import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { before, describe, it } from 'node:test';
import type { RewardHosts } from '../../../src/rewards/rewardHosts.ts';
import { builtHostFolder } from '../../support/programs.ts';
import { context, openHosts, openReward, processesWith, rewardFolder, rowsOf, until } from './hostFixtures.ts';

const languages = {
	python: {
		name: 'r.reward.py',
		text: (n: number) => `from other import m\ndef f(completions, **k): return [${n} + m] * len(completions)\n`,
		other: 'other.py',
		otherText: (n: number) => `m = ${n}\n`,
		broken: 'def f(\n',
		wait: 'import time\ndef f(completions, **k):\n    time.sleep(600)\ndef g(completions, **k): return [1] * len(completions)\n',
		busy: 'def f(completions, **k):\n    while True: pass\ndef g(completions, **k): return [1] * len(completions)\n',
	},
	node: {
		name: 'r.reward.ts',
		text: (n: number) => `import { m } from './other.ts';\nexport const f = () => ${n} + m;\n`,
		other: 'other.ts',
		otherText: (n: number) => `export const m: number = ${n};\n`,
		broken: 'export const f = (\n',
		wait: 'export const f = () => new Promise(() => {});\nexport const g = () => 1;\n',
		busy: 'export const f = () => { for (;;); };\nexport const g = () => 1;\n',
	},
};

for (const [language, given] of Object.entries(languages)) {
	describe(`a changing ${language} reward file`, () => {
		let editor: RewardHosts;
		let training: RewardHosts;
		let folder: string;
		before(async () => {
			editor = await openHosts({ spares: true, reloadOnChange: true });
			training = await openHosts();
			folder = await rewardFolder();
		});
		const open = (hosts: RewardHosts) =>
			openReward(hosts, folder, given.name, given.text(1), {}, { [given.other]: given.otherText(10) });
		const rows = rowsOf(2);

		it('is reloaded in the editor, as are the files that it imports', async () => {
			const runner = await open(editor);
			const other = join(dirname(runner.file), given.other);
			const values = async () => (await runner.score('f', rows)).values;
			assert.deepEqual(await values(), [11, 11]);
			// Same length and most likely the same second.
			await writeFile(runner.file, given.text(2));
			assert.deepEqual(await values(), [12, 12]);
			await writeFile(other, given.otherText(20));
			assert.deepEqual(await values(), [22, 22]);
			await writeFile(runner.file, given.broken);
			await assert.rejects(values(), { name: 'Failure', reason: 'invalid' });
			await assert.rejects(runner.describe(), { reason: 'invalid' });
			await rm(runner.file);
			await assert.rejects(values(), { reason: 'missing' });
			await writeFile(runner.file, given.text(3));
			assert.deepEqual(await values(), [23, 23]);
		});

		it('keeps its process while nothing changes', async () => {
			const runner = await open(editor);
			await runner.score('f', rows);
			const before = editor.processes;
			for (let i = 0; i < 5; i++) await runner.score('f', rows);
			for (const pid of before) assert.ok(editor.processes.includes(pid));
		});

		it('is not reloaded in training until requested', async () => {
			const runner = await open(training);
			assert.deepEqual((await runner.score('f', rows)).values, [11, 11]);
			await writeFile(runner.file, given.text(2));
			assert.deepEqual((await runner.score('f', rows)).values, [11, 11]);
			runner.reload();
			assert.deepEqual((await runner.score('f', rows)).values, [12, 12]);
		});

		it('can be scored again soon after a cancellation, even if the code does not respond to it', async () => {
			for (const text of [given.wait, given.busy]) {
				const runner = await openReward(training, folder, given.name, text);
				await runner.describe();
				const cancel = new AbortController();
				const pending = runner.score('f', rows, { signal: cancel.signal });
				const queued = runner.score('g', rows);
				await new Promise((resolve) => setTimeout(resolve, 50));
				cancel.abort();
				await assert.rejects(pending, { reason: 'cancelled' });
				assert.deepEqual((await queued).values, [1, 1]);
				await assert.rejects(runner.score('g', rows, { signal: AbortSignal.abort() }), { reason: 'cancelled' });
				await assert.rejects(runner.describe(AbortSignal.abort()), { reason: 'cancelled' });
			}
		});
	});
}

describe('reward hosts of a window', () => {
	it('keep one spare process per language in use, and use it', async () => {
		const folder = await rewardFolder();
		const hosts = await openHosts({ spares: true });
		assert.equal(hosts.processes.length, 0);
		const runner = await openReward(hosts, folder, 'a.reward.py', 'def f(completions, **k): return [1]\n');
		await until(() => hosts.processes.length === 1);
		const [spare] = hosts.processes;
		await runner.describe();
		assert.ok(hosts.processes.includes(spare as number));
		await until(() => hosts.processes.length === 2);
		const small = hosts.open({ file: runner.file, context: runner.source.context }, { memoryMb: 100 });
		await small.describe();
		// The spare is in use, and its replacement starts a little later.
		await until(() => hosts.processes.length === 3);
		small.dispose();
		runner.dispose();
		await until(() => hosts.processes.length === 0);
		await assert.rejects(runner.describe(), { reason: 'cancelled' });
	});

	it('restart a program even if its copy was deleted', async () => {
		const folder = await rewardFolder();
		const hosts = await openHosts();
		const runner = await openReward(hosts, folder, 'a.reward.py', 'def f(completions, **k): return [1]\n');
		await runner.describe();
		await rm(join(process.env.XDG_RUNTIME_DIR as string, 'reasoning-lab'), { recursive: true });
		runner.reload();
		assert.deepEqual((await runner.score('f', rowsOf(1))).values, [1]);
	});

	it('do not keep an idle parent process alive', async () => {
		const { execFile } = await import('node:child_process');
		const { promisify } = await import('node:util');
		const folder = await rewardFolder();
		const hosts = await openHosts();
		const { file, source } = await openReward(hosts, folder, 'a.reward.py', 'def f(completions, **k): return [1]\n');
		const marker = `idle-${Math.random().toString(36).slice(2)}`;
		const rewards = new URL('../../../src/rewards/', import.meta.url).href;
		const program = `
			import { RewardHosts } from '${rewards}rewardHosts.ts';
			import { findRewardPrograms } from '${rewards}rewardPrograms.ts';
			const hosts = new RewardHosts(await findRewardPrograms(), { folder: ${JSON.stringify(builtHostFolder())}, spares: true });
			const runner = hosts.open(${JSON.stringify({ ...source, file })});
			console.log((await runner.score('f', ${JSON.stringify(rowsOf(1))})).values[0]);`;
		const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
			env: { ...process.env, IDLE_MARKER: marker },
			timeout: 60_000,
		});
		assert.equal(stdout, '1\n');
		await until(async () => (await processesWith(marker)).length === 0);
	});
});

it('a batch running while its file changes is scored to the end', async () => {
	const folder = await rewardFolder();
	const hosts = await openHosts({ reloadOnChange: true });
	const text = (n: number) =>
		`import time\ndef f(completions, **k):\n    time.sleep(0.5)\n    return [${n}] * len(completions)\n`;
	const runner = await openReward(hosts, folder, 'a.reward.py', text(1));
	await runner.describe();
	const [first] = hosts.processes;
	const scored = runner.score('f', rowsOf(2));
	await new Promise((resolve) => setTimeout(resolve, 100));
	await writeFile(runner.file, text(2));
	await runner.describe();
	assert.deepEqual(await scored.then(({ values, isolated }) => [values, isolated]), [[1, 1], undefined]);
	assert.deepEqual((await runner.score('f', rowsOf(1))).values, [2]);
	await until(() => !hosts.processes.includes(first as number));
});

it('an empty batch returns an empty result', async () => {
	const hosts = await openHosts();
	const runner = await openReward(
		hosts,
		await rewardFolder(),
		'a.reward.py',
		'def f(completions, **k): return 1 / 0\n',
	);
	const { values, errors } = await runner.score('f', []);
	assert.deepEqual([values, errors], [[], []]);
});

it('built-in rewards keep their process, with or without coverage', async () => {
	const hosts = await openHosts({ reloadOnChange: true, coverage: true });
	const runner = hosts.open({ builtIns: [{ use: 'tag-count', name: 'tags' }], context });
	await runner.score('tags', rowsOf(2));
	const { processes } = hosts;
	assert.equal(processes.length, 1);
	const { values } = await runner.score('tags', rowsOf(2), { coverage: true });
	assert.equal(values.length, 2);
	assert.deepEqual(hosts.processes, processes);
});
