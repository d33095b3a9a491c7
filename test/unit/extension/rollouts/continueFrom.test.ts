import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { ContinueFrom } from '../../../../src/extension/rollouts/continueFrom.ts';
import { connectRun, connectServed } from '../../../../src/runs/runControl.ts';
import { listCheckpoints, readRecord, readRollouts } from '../../../../src/runs/runReader.ts';
import { builtProgram } from '../../../support/programs.ts';
import { eventually, shortRecipe, tinyRecipe, Workplace } from '../../engines/embedded/engineProcess.ts';
import { runHere } from '../../engines/embedded/runHere.ts';

const engine = builtProgram('dist/engine.js');
const programs = async () => ({ engine, node: process.execPath });
const own = (folder: string) => ({ run: { folder, format: 'reasoning-lab' }, programs, name: 'test' });

/** Returns whether an engine is serving a checkpoint. */
async function served(path: string): Promise<boolean> {
	const client = await connectServed(path, 'test').catch(() => null);
	client?.dispose();
	return client !== null;
}

test('a rollout is continued from any token by the nearest checkpoint, whose engine exits when unused', async () => {
	await using place = await Workplace.make();
	const run = await place.prepare(shortRecipe);
	assert.equal((await runHere(place, run)).code, 0);
	const steps = (await listCheckpoints(run)).map(({ step }) => step);
	assert.ok(steps.length >= 3, String(steps));
	const [rollout] = await readRollouts(run, 10);
	assert.ok(rollout !== undefined && typeof rollout.prompt === 'string' && typeof rollout.completion === 'string');
	const continuing = new ContinueFrom({ ...own(run), idleMs: 300 });

	const policy = await continuing.policy(10);
	assert.equal(policy.ready, true);
	assert.match(policy.message, /checkpoint at step 9\b/);
	assert.equal(policy.temperature, 1);

	const tokens = rollout.tokens?.text ?? [];
	const prefix = tokens.slice(0, 2).join('');
	const heard: string[] = [];
	const request = { step: 10, prompt: rollout.prompt, prefix, maxTokens: 40, temperature: 0 };
	const first = await continuing.generate(request, (text) => heard.push(text));
	assert.equal(heard.join(''), first.text);
	assert.ok(first.text.length > 0);
	const path = (await listCheckpoints(run)).find(({ step }) => step === 9)?.path as string;
	assert.ok(await served(path));

	// Greedy chunks must equal a single request, with nothing lost or repeated at chunk boundaries.
	const client = await connectServed(path, 'test');
	const whole = await client.request('policy/generate', {
		prompts: [rollout.prompt + prefix],
		maxTokens: 40,
		temperature: 0,
	});
	assert.deepEqual(first, {
		text: whole.completions[0]?.[0]?.text,
		ended: whole.completions[0]?.[0]?.truncated === false,
	});
	client.dispose();

	// An edited thinking section is continued as edited, and characters missing from the vocabulary are reported.
	const edited = await continuing.generate(
		{ ...request, prefix: '<think>9', temperature: 1, seed: 3 },
		() => undefined,
	);
	assert.deepEqual(
		await continuing.generate({ ...request, prefix: '<think>9', temperature: 1, seed: 3 }, () => undefined),
		edited,
	);
	await assert.rejects(
		continuing.generate({ ...request, prefix: '1ä' }, () => undefined),
		/"ä".*not in the vocabulary/s,
	);
	await assert.rejects(
		continuing.generate({ ...request, prefix: '1'.repeat(5000) }, () => undefined),
		/exceeds the context/,
	);
	// At the context limit, generation stops with finish reason length.
	const full = await continuing.generate({ ...request, temperature: 1, maxTokens: 100_000 }, () => undefined);
	assert.equal(typeof full.ended, 'boolean');

	await eventually(async () => !(await served(path)), 'the idle engine has ended');
	continuing.dispose();
	await assert.rejects(
		continuing.generate(request, () => undefined),
		{ reason: 'cancelled' },
	);
});

test('the live engine continues rollouts while the run trains, and waiting for it can be canceled', async () => {
	await using place = await Workplace.make();
	const stages = [{ type: 'grpo', steps: 100_000, num_generations: 4, prompts_per_step: 4, learning_rate: 1e-3 }];
	const run = await place.prepare({ ...tinyRecipe, stages, checkpoint: { every: 1000 } });
	place.start('--run', run);
	const record = await eventually(async () => {
		const found = await readRecord(run).catch(() => null);
		return found?.status === 'running' && found.step > 0 ? found : null;
	}, 'the run is training');
	const continuing = new ContinueFrom(own(run));
	const { ready, message } = await continuing.policy(1);
	assert.ok(ready);
	assert.match(message, /running engine, at step \d+/);
	const request = { step: 1, prompt: '1+2=', prefix: '<think>', maxTokens: 20, temperature: 1 };
	let text = '';
	const end = await continuing.generate(request, (part) => {
		text += part;
	});
	assert.equal(end.text, text);
	const cancel = new AbortController();
	const waiting = continuing.generate(request, () => undefined, cancel.signal);
	cancel.abort();
	await assert.rejects(waiting, { reason: 'cancelled' });
	continuing.dispose();
	const client = await connectRun(run, record, 'test');
	assert.ok((await client.request('run/status', {})).step > record.step, 'training continued');
	client.dispose();
});

test('runs that cannot continue rollouts explain why', async () => {
	await using place = await Workplace.make();
	const run = await place.prepare(tinyRecipe);
	const request = { step: 1, prompt: '1+2=', prefix: '', maxTokens: 20, temperature: 1 };
	const none = new ContinueFrom(own(run));
	assert.deepEqual(
		[(await none.policy(null)).ready, (await none.policy(null)).action],
		[false, 'Resume the run, or wait until it has saved a checkpoint.'],
	);
	await assert.rejects(
		none.generate(request, () => undefined),
		{ reason: 'unavailable' },
	);
	none.dispose();
	const foreign = new ContinueFrom({ ...own(run), run: { folder: run, format: 'trl' } });
	assert.match((await foreign.policy(1)).message, /created by another trainer/);
	await assert.rejects(
		foreign.generate(request, () => undefined),
		{ reason: 'unsupported' },
	);
	foreign.dispose();
});

test('an engine that serves a window exits when the window is killed', async () => {
	await using place = await Workplace.make();
	const run = await place.prepare(shortRecipe);
	assert.equal((await runHere(place, run)).code, 0);
	const path = (await listCheckpoints(run)).at(-1)?.path as string;
	const window = join(import.meta.dirname, 'servingWindow.ts');
	// The window kills itself once the checkpoint responds.
	await assert.rejects(promisify(execFile)(process.execPath, [window, engine, path]), { signal: 'SIGKILL' });
	await eventually(async () => !(await served(path)), 'the engine has ended');
});
