import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import * as esbuild from 'esbuild';
import { bundles } from '../../../esbuild.mjs';
import { root } from '../../scripts/paths.ts';
import { context, openHosts, openReward, rewardFolder, rowsOf } from './hostFixtures.ts';

const execute = promisify(execFile);

const files = {
	'a.reward.py':
		'def f(completions, answer, **k):\n    print("seen")\n    if len(answer) > 1: raise ValueError(answer)\n    return [float(a) for a in answer]\n',
	'a.reward.ts':
		'export const f = ({ trace }: { trace: { answer: string } }) => {\n\tconsole.log("seen");\n\tif (trace.answer === "2") throw new Error("two");\n\treturn Number(trace.answer);\n};\n',
};

describe('bundled reward hosts', () => {
	let dist: string;
	before(async () => {
		dist = join(await rewardFolder(), 'dist');
		const { rewardHost, rewardPython } = bundles({ production: true, dist });
		for (const options of [rewardHost, rewardPython]) await esbuild.build({ ...options, absWorkingDir: root });
		await writeFile(join(dist, 'package.json'), '{"type":"module"}');
	});

	it('score one batch for a debugger, printing to its console', async () => {
		const folder = await rewardFolder();
		for (const [name, text] of Object.entries(files)) {
			const file = join(folder, name);
			await writeFile(file, text);
			const [request, reply] = [join(folder, 'request.json'), join(folder, 'reply.json')];
			const python = name.endsWith('.py');
			const program = python ? 'python3' : process.execPath;
			const host = join(dist, python ? 'python/reward_host.py' : 'rewardHost.js');
			const score = async (reward: string, rows: object[]) => {
				const load = { file, builtIns: [], context };
				await writeFile(request, JSON.stringify({ load, score: { reward, rows, timeoutMs: 1000, coverage: false } }));
				const { stdout } = await execute(program, [host, '--once', request, reply]);
				return { stdout, reply: JSON.parse(await readFile(reply, 'utf8')) };
			};
			const good = await score('f', rowsOf(1));
			assert.equal(good.stdout, 'seen\n');
			assert.deepEqual(good.reply.reply.values, [0]);
			const bad = await score('f', rowsOf(3));
			assert.equal(bad.reply.reply.errors[0].line, 3);
			assert.equal((await score('g', [])).reply.failure.reason, 'missing');
		}
	});

	it('start again in both languages after their original folder is deleted', async () => {
		const hosts = await openHosts({ folder: dist });
		const folder = await rewardFolder();
		const runners = [];
		for (const [name, text] of Object.entries(files)) runners.push(await openReward(hosts, folder, name, text));
		const builtIn = hosts.open({ builtIns: [{ use: 'format', name: 'f' }], context });
		for (const runner of [...runners, builtIn]) await runner.describe();
		await rm(dist, { recursive: true });
		for (const runner of runners) {
			runner.reload();
			const { values, errors } = await runner.score('f', rowsOf(3));
			// In Python the batch failed as a whole, without individual row errors.
			const python = runner.file.endsWith('.py');
			assert.deepEqual(values, python ? [0, 1, 2] : [0, 1, null]);
			assert.deepEqual(
				errors.map(({ message, line }) => [message, line]),
				python ? [] : [['Error: two', 3]],
			);
		}
		builtIn.reload();
		assert.deepEqual((await builtIn.score('f', rowsOf(2))).values, [1, 1]);
	});
});
