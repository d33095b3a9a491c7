import './vscodeHook.ts';
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { RunView } from '../../../src/host/runView.ts';

const { RunStarter } = await import('../../../src/host/runStarter.ts');

test('without trust nothing is started, whichever way it is asked for', async () => {
	const touched = new Proxy({} as never, {
		get: (_, name) => assert.fail(`${String(name)} is used although the workspace is not trusted`),
	});
	const starter = new RunStarter(touched);
	const view = { folder: '/nowhere' } as RunView;
	for (const attempt of [
		async () => starter.start({ fsPath: '/nowhere/a.recipe.json' } as never),
		async () => starter.resume(view),
		async () => starter.branch(view, null),
	]) {
		await assert.rejects(attempt, { reason: 'denied' });
	}
});

test('without trust no reward is run: no process, and none of its environment is looked for', async () => {
	const { VerifierPool } = await import('../../../src/host/rewards/verifierPool.ts');
	const touched = new Proxy({} as never, {
		get: (_, name) => assert.fail(`${String(name)} is used although the workspace is not trusted`),
	});
	const pool = new VerifierPool(touched, '/nowhere');
	await assert.rejects(pool.of('/nowhere/a.reward.py'), { reason: 'denied' });
	await assert.rejects(pool.hosts('/nowhere/a.reward.py'), { reason: 'denied' });
	pool.dispose();
});

test('without trust no policy is run and no key is looked for; trees are read', async () => {
	const { WindowSearches } = await import('../../../src/host/search/windowSearches.ts');
	const secret = () => assert.fail('keys are looked for although the workspace is not trusted');
	const uri = { fsPath: '/nowhere' } as never;
	const searches = new WindowSearches({
		...{ extension: uri, storage: uri, client: 'test', log: () => undefined, keys: secret, environment: secret },
	});
	const spec = { policy: { kind: 'scripted', file: '/nowhere/script.json' }, strategy: 'mcts' } as const;
	const problem = { prompt: 'p' };
	await assert.rejects(searches.start({ spec, problem, log: '/nowhere/a.jsonl' }), { reason: 'denied' });
	await assert.rejects(searches.request('probe', { policy: spec.policy }), { reason: 'denied' });
	await assert.rejects(searches.request('prune', { log: '/nowhere/a.jsonl', node: 1, restore: false }), {
		reason: 'denied',
	});
	assert.equal(searches.pid, null);
	assert.match(searches.forbidden() ?? '', /not trusted/);
	searches.dispose();
});

test('without trust no environment of the PyTorch engine is looked for, and no run asks for one', async () => {
	const { LazyPytorch } = await import('../../../src/host/pytorch/lazyPytorch.ts');
	const pytorch = new LazyPytorch(() => assert.fail('it is loaded although the workspace is not trusted'));
	await assert.rejects(async () => pytorch.get(), { reason: 'denied' });
	await assert.rejects(
		pytorch.forRun('pytorch', () => undefined),
		{ reason: 'denied' },
	);
	await assert.rejects(pytorch.ifThere(), { reason: 'denied' });
	assert.deepEqual(await pytorch.forRun('embedded', () => undefined), {});
	pytorch.dispose();
});

/** Who starts processes in the host. Each asks for trust itself, or is reached through one that does. */
const known = [
	'cliProcess.ts', // by rewards/sandboxCommands.ts and pytorch/doctorCommand.ts
	'playground/playgroundPanel.ts', // It asks before it opens hosts and policies.
	'pytorch/interpreterChooser.ts', // These by pytorch/lazyPytorch.ts, which asks for trust before it loads them.
	'pytorch/setUpCommand.ts',
	'pytorch/setupQuestions.ts',
	'pytorch/windowTorchPython.ts',
	'rewardTests/rewardDebugger.ts', // by rewardTests.ts and by VerifyCommands.debugRow
	'rewards/verifierPool.ts',
	'runStarter.ts',
	'workerClient.ts', // Our own programs; those that run what others made ask for trust: lab/windowLab.ts reads, search/windowSearches.ts asks.
];

test('nobody else in the host starts engines, reward hosts or other processes', () => {
	const host = join(import.meta.dirname, '../../../src/host');
	const starters = readdirSync(host, { recursive: true, encoding: 'utf8' })
		.filter((name) => name.endsWith('.ts'))
		.filter((name) => {
			const text = readFileSync(join(host, name), 'utf8');
			// Types start nothing.
			const imports = [...text.matchAll(/import(?! type)[^;]*?\(?'([^']+)'/g)].map(([, from]) => from ?? '');
			return imports.some((from) =>
				/\/(startRun|launchEngine|rewardHosts|torchPython|findPythons|probePython|doctor|setUpEnvironment)\.ts$|child_process$/.test(
					from,
				),
			);
		});
	assert.deepEqual(starters.sort(), known);
});
