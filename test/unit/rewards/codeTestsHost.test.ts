import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import * as esbuild from 'esbuild';
import { bundles } from '../../../esbuild.mjs';
import type { ScoreRow } from '../../../src/protocol/scorer.ts';
import { cache } from '../../scripts/paths.ts';
import { context, openHosts } from './hostFixtures.ts';
import { testSandbox } from './sandboxFixture.ts';

const { skip } = await testSandbox();
/** Installed bundles; the host runs from a copy elsewhere. */
const dist = join(cache, `codeTestsHost-${process.pid}`);

before(async () => {
	await esbuild.build({ ...bundles({ dist }).rewardHost, write: true });
});
after(() => rmSync(dist, { recursive: true, force: true }));

const rowOf = (code: string, row: Record<string, unknown> = { tests: ['assert f(2) == 4'] }): ScoreRow => ({
	prompt: 'Write f.',
	completion: `<think>t</think><answer>\`\`\`python\n${code}\n\`\`\`</answer>`,
	answer: null,
	row,
	truncated: false,
});
const entry = { use: 'code-tests', name: 'tests', timeoutSeconds: 2 };
const right = 'def f(x):\n    return x * x';

describe('code tests in a bundled host process', () => {
	it('return values whatever the code does, and the host survives', { skip }, async () => {
		const hosts = await openHosts({ folder: dist });
		const runner = hosts.open({ builtIns: [entry], context });
		const rows = [
			rowOf(right),
			rowOf('def f(x):\n    return 5'),
			rowOf(right, {}),
			rowOf('while True: pass'),
			rowOf('import os\nfor _ in range(100): os.fork()\nimport time; time.sleep(5)'),
			rowOf('import os\nfor _ in range(100): os.fork()\nimport time; time.sleep(5)'),
			rowOf('x = [0] * 10**9'),
			rowOf('x = [0] * 10**9'),
			rowOf('while True: print("Content-Length: 2\\r\\n\\r\\n{}")'),
			rowOf('import os, signal\nos.kill(os.getppid(), signal.SIGKILL); os.kill(-1, signal.SIGKILL)'),
			rowOf(right),
		];
		const { values, errors } = await runner.score('tests', rows);
		assert.deepEqual(errors, []);
		assert.deepEqual(values, [1, 0, null, 0, 0, 0, 0, 0, 0, 0, 1]);
		assert.deepEqual((await runner.score('tests', rows.slice(0, 3))).values, [1, 0, null]);
	});

	it('without a sandbox return row errors with an action', async () => {
		const hosts = await openHosts({
			folder: dist,
			environment: { ...process.env, REASONING_LAB_SANDBOX: 'container:no/such-image' },
		});
		const runner = hosts.open({ builtIns: [entry], context });
		const { values, errors } = await runner.score('tests', [rowOf(right), rowOf(right, {})]);
		assert.deepEqual(values, [null, null]);
		assert.deepEqual(
			errors.map(({ index }) => index),
			[0],
		);
		assert.match(errors[0]?.message ?? '', /Model-written code is not run without a sandbox: .+\. \S.+/);
	});
});
