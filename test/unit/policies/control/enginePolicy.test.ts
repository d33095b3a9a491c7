import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import type { Generated, GenerateRequest, Generation } from '../../../../src/core/search/policy.ts';
import { ContextOverflow } from '../../../../src/policies/contextOverflow.ts';
import { EnginePolicy } from '../../../../src/policies/control/enginePolicy.ts';
import type { PolicyContext } from '../../../../src/policies/openedPolicy.ts';
import { openPolicy } from '../../../../src/policies/openPolicy.ts';
import { probePolicy } from '../../../../src/policies/probePolicy.ts';
import type { ControlRequest } from '../../../../src/protocol/control.ts';
import { ControlClient } from '../../../../src/rpc/controlClient.ts';
import { ControlServer } from '../../../../src/rpc/controlServer.ts';
import { connectServed } from '../../../../src/runs/runControl.ts';
import { listCheckpoints } from '../../../../src/runs/runReader.ts';
import { builtProgram } from '../../../support/programs.ts';
import { eventually, tinyRecipe, Workplace } from '../../engines/embedded/engineProcess.ts';
import { runHere } from '../../engines/embedded/runHere.ts';

const engine = builtProgram('dist/engine.js');
const never = new AbortController().signal;
const context: PolicyContext = { engine, client: 'test', folder: '/' };

function ask(prompt: string, more: Partial<GenerateRequest> = {}): GenerateRequest {
	return {
		messages: [{ role: 'user', content: prompt }],
		prefix: '',
		n: 1,
		temperature: 1,
		topP: 1,
		maxTokens: 12,
		stop: [],
		seed: 1,
		tokens: 0,
		...more,
	};
}

function fine(made: Generated | undefined): readonly Generation[] {
	assert.ok(made !== undefined && !(made instanceof Failure), String(made));
	return made;
}

let place: Workplace;
let run: string;
let checkpoint: string;

before(async () => {
	place = await Workplace.make();
	run = await place.prepare(tinyRecipe);
	assert.equal((await runHere(place, run)).code, 0);
	checkpoint = (await listCheckpoints(run)).at(-1)?.path as string;
});
after(async () => {
	await place[Symbol.asyncDispose]();
});

test('a checkpoint is served for as long as any search uses it', async () => {
	const [first, second] = await Promise.all([
		openPolicy({ kind: 'checkpoint', folder: checkpoint }, context),
		openPolicy({ kind: 'checkpoint', folder: checkpoint }, context),
	]);
	assert.match(first.name, /^tiny, step \d+$/);
	assert.deepEqual(first.tags, { think: ['<think>', '</think>'], answer: ['<answer>', '</answer>'] });
	assert.ok((first.context ?? 0) > 8);
	first.dispose();
	const policy = second.bind({ signal: never });

	const [greedy] = fine((await policy.generate([ask('1+2=', { temperature: 0, maxTokens: 40, tokens: 3 })]))[0]);
	assert.ok(greedy !== undefined);
	assert.match(greedy.text, /^<think>/);
	assert.equal(greedy.detail?.text.join(''), greedy.text);
	assert.ok(greedy.detail?.top?.every((top) => top.length === 3 && (top[0]?.[1] ?? 1) <= 0));
	assert.ok(greedy.detail?.varentropy?.every((value) => value !== null && value >= 0));
	const sum = (greedy.detail?.logprob ?? []).reduce((all: number, one) => all + (one ?? 0), 0);
	assert.ok(Math.abs(sum - (greedy.logprob ?? 0)) < 1e-5);
	const scored = await policy.score?.([{ messages: ask('1+2=').messages, completion: greedy.text }]);
	assert.equal(scored?.[0]?.length, greedy.detail?.text.filter((text) => text !== '').length);

	// Continuing from any position gives the same text.
	const prefix = (greedy.detail?.text ?? []).slice(0, 4).join('');
	const [rest] = fine((await policy.generate([ask('1+2=', { temperature: 0, maxTokens: 40, prefix })]))[0]);
	assert.equal(prefix + (rest?.text ?? ''), greedy.text);
	const [stopped] = fine(
		(await policy.generate([ask('1+2=', { temperature: 0, maxTokens: 40, stop: ['</think>'] })]))[0],
	);
	assert.deepEqual([stopped?.finish, stopped?.stopText], ['stop', '</think>']);

	// Results do not depend on the other requests in the batch.
	const alone = fine((await policy.generate([ask('3+4=', { seed: 9, n: 3 })]))[0]).map(({ text }) => text);
	const many = await policy.generate([
		ask('1+1=', { seed: 2 }),
		ask('3+4=', { seed: 9, n: 3 }),
		ask('3+4=', { seed: 10, n: 2 }),
	]);
	assert.deepEqual(
		fine(many[1]).map(({ text }) => text),
		alone,
	);

	// A prompt that cannot be tokenized and an overlong prompt fail individually.
	const mixed = await policy.generate([ask('1+1='), ask('ä'), ask('1'.repeat(5000)), ask('2+2=')]);
	assert.ok(mixed[1] instanceof Failure && /"ä".*vocabulary/.test(mixed[1].message), String(mixed[1]));
	assert.ok(mixed[2] instanceof ContextOverflow && mixed[2].context === second.context, String(mixed[2]));
	assert.equal(fine(mixed[0]).length + fine(mixed[3]).length, 2);
	const [full] = await policy.generate([ask('1+1=', { prefix: '1'.repeat(5000), n: 2 })]);
	assert.deepEqual(
		fine(full).map(({ text, finish }) => [text, finish]),
		[
			['', 'length'],
			['', 'length'],
		],
	);

	second.dispose();
	await assert.rejects(policy.generate([ask('1+1=')]), (error: Failure) => error.reason === 'cancelled');
	await eventually(async () => {
		const client = await connectServed(checkpoint, 'test').catch(() => null);
		client?.dispose();
		return client === null;
	}, 'the engine to end');
});

test('a policy is tested with a problem from its own task', async () => {
	const found = await probePolicy({ kind: 'checkpoint', folder: checkpoint }, context);
	assert.match(found.sample, /^<think>/);
	const { logprobs, alternatives, prefix, seed, instructions, score, heads } = found.capabilities;
	assert.deepEqual([logprobs, prefix, seed, instructions, score], [true, true, true, false, true]);
	assert.ok(alternatives > 1);
	assert.deepEqual([heads, found.notes], [[], []]);
});

test('a folder without a checkpoint and a run that is not training are reported', async () => {
	await assert.rejects(openPolicy({ kind: 'checkpoint', folder: join(run, 'checkpoints/none') }, context), Failure);
	await assert.rejects(openPolicy({ kind: 'engine', run }, context), /No engine is responding/);
});

test('a training engine uses its run’s template', async () => {
	const long = await place.prepare({ ...tinyRecipe, stages: [{ ...tinyRecipe.stages[0], steps: 100_000 }] }, 'long');
	const training = place.start('--run', long);
	try {
		const policy = await eventually(
			() => openPolicy({ kind: 'engine', run: long }, context).catch(() => null),
			'the engine to answer',
		);
		assert.equal(policy.name, 'tiny, training');
		const [made] = await policy.bind({ signal: never }).generate([ask('1+2=', { n: 2 })]);
		assert.equal(fine(made).length, 2);
		assert.equal(policy.totals.requests, 1);
		policy.dispose();
	} finally {
		training.kill('SIGKILL');
		await training.exit;
	}
});

test('engines of older versions are supported, and a lost engine is found again', async () => {
	const folder = await mkdtemp(join(tmpdir(), 'old-'));
	const asked: ControlRequest<'policy/generate'>[] = [];
	const location = { socketPath: join(folder, 's'), tokenPath: join(folder, 't') };
	const serve = () =>
		ControlServer.listen({
			location,
			run: 'serve',
			serving: true,
			handlers: {
				async 'policy/generate'(params) {
					asked.push(params);
					const n = params.n as number;
					const tokens = { text: ['7', '<eos>'], logprob: [-0.5, -0.25], entropy: [0.1, 0.2] };
					const ended = { text: '7', truncated: false, tokens };
					const cut = { text: '', truncated: false, tokens: { text: ['7'], logprob: [-1], entropy: [1] } };
					const one = params.stop.length > 0 ? cut : ended;
					return { completions: params.prompts.map(() => new Array(n).fill(one)) };
				},
			},
		});
	let server = await serve();
	let holdUp: Promise<void> = Promise.resolve();
	let connects = 0;
	try {
		const policy = await EnginePolicy.open({
			name: 'old',
			model: 'old',
			template: { run: null, template: { name: 'q', prompt: 'Q{prompt}A', think: null, answer: null } },
			context: null,
			rows: 4,
			connect: async () => {
				connects++;
				await holdUp;
				const { readFile } = await import('node:fs/promises');
				const client = await ControlClient.connect(
					location.socketPath,
					await readFile(location.tokenPath, 'utf8'),
					'test',
				);
				return { client, lease: client };
			},
		});
		assert.equal(policy.capabilities.alternatives, 0);
		const bound = policy.bind({ signal: never });
		const [ended, stopped] = await bound.generate([
			ask('x', { tokens: 1, n: 9 }),
			ask('x', { stop: ['\n'], prefix: 'b' }),
		]);
		assert.equal(fine(ended).length, 9);
		const [one] = fine(ended);
		assert.deepEqual([one?.finish, one?.tokens, one?.logprob, one?.detail?.text], ['end', 2, -0.75, ['7', '']]);
		assert.deepEqual([fine(stopped)[0]?.finish, fine(stopped)[0]?.stopText], ['stop', '\n']);
		assert.deepEqual(asked.map(({ n }) => n).sort(), [1, 1, 4, 4]);
		assert.ok(asked.some(({ prompts }) => prompts[0] === 'QxAb'));
		assert.equal(new Set(asked.map(({ seed }) => seed)).size, 3);

		server.dispose();
		server = await serve();
		assert.equal(fine((await bound.generate([ask('x')]))[0])[0]?.text, '7');

		// Canceling one waiting request does not affect the others.
		server.dispose();
		server = await serve();
		let goOn: () => void = () => undefined;
		holdUp = new Promise((resolve) => {
			goOn = resolve;
		});
		const before = connects;
		const cancel = new AbortController();
		const canceled = policy.bind({ signal: cancel.signal }).generate([ask('x')]);
		while (connects === before) await new Promise((resolve) => setTimeout(resolve, 5));
		const other = bound.generate([ask('x')]);
		cancel.abort();
		await assert.rejects(canceled, { reason: 'cancelled' });
		goOn();
		assert.equal(fine((await other)[0])[0]?.text, '7');
		policy.dispose();
	} finally {
		server.dispose();
		await rm(folder, { recursive: true, force: true });
	}
});
