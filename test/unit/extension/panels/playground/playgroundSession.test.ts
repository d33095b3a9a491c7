import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { Failure } from '../../../../../src/base/failure.ts';
import { AnswerChecker } from '../../../../../src/extension/panels/playground/answerChecker.ts';
import { bareSpec } from '../../../../../src/extension/panels/playground/bareSpec.ts';
import { describePolicy } from '../../../../../src/extension/panels/playground/describePolicy.ts';
import { HeldPolicies } from '../../../../../src/extension/panels/playground/heldPolicies.ts';
import {
	type AskCommand,
	PlaygroundSession,
} from '../../../../../src/extension/panels/playground/playgroundSession.ts';
import { openPolicy } from '../../../../../src/policies/openPolicy.ts';
import { decodeOrThrow } from '../../../../../src/protocol/decode.ts';
import {
	type ChosenPolicy,
	type PlaygroundEvent,
	playgroundEventSchema,
	playgroundStateSchema,
} from '../../../../../src/protocol/playgroundMessages.ts';
import { openRewardHosts } from '../../../../../src/rewards/openRewardHosts.ts';
import { connectServed } from '../../../../../src/runs/runControl.ts';
import { listCheckpoints } from '../../../../../src/runs/runReader.ts';
import { builtProgram } from '../../../../support/programs.ts';
import { eventually, tinyRecipe, Workplace } from '../../../engines/embedded/engineProcess.ts';
import { runHere } from '../../../engines/embedded/runHere.ts';
import { ModelServer } from '../../../policies/modelServer.ts';

const engine = builtProgram('dist/engine.js');

let place: Workplace;
let checkpoint: string;
before(async () => {
	place = await Workplace.make();
	const run = await place.prepare(tinyRecipe);
	assert.equal((await runHere(place, run)).code, 0);
	checkpoint = (await listCheckpoints(run)).at(-1)?.path as string;
});
after(async () => {
	await place[Symbol.asyncDispose]();
});

interface More extends Partial<Omit<AskCommand, 'sampling'>> {
	readonly sampling?: Partial<AskCommand['sampling']>;
}

interface Ground {
	readonly session: PlaygroundSession;
	readonly held: HeldPolicies;
	readonly events: PlaygroundEvent[];
	ask(question: string, more?: More): Promise<void>;
}

/** Creates a playground without a window, with real policies and real scoring processes. */
function ground(
	t: TestContext,
	policies: readonly [ChosenPolicy | null, ChosenPolicy | null],
	forbidden: string | null = null,
): Ground {
	const events: PlaygroundEvent[] = [];
	const held = new HeldPolicies({
		open: (spec, signal) =>
			openPolicy(bareSpec(spec), { engine, client: 'test', folder: '/', rawPrompts: true, signal }),
	});
	const checker = new AnswerChecker({ hosts: () => openRewardHosts({ python: false }) });
	const session = new PlaygroundSession(
		{
			held,
			post: (event) => events.push(structuredClone(decodeOrThrow(playgroundEventSchema, event, 'An event'))),
			forbidden: () => forbidden,
			check: (what, signal) => checker.check(what, signal),
			updateMs: 5,
		},
		{ policies, exchanges: [], current: null },
	);
	t.after(() => {
		session.dispose();
		held.dispose();
		checker.dispose();
	});
	return {
		...{ session, held, events },
		ask: async (question, { sampling, ...more } = {}) => {
			session.ask({
				...{ type: 'ask', question, expected: '', template: { mode: 'own' }, system: null },
				...more,
				sampling: { temperature: 1, topP: 1, maxTokens: 40, seed: 3, samples: 1, ...sampling },
			});
			await session.settled;
		},
	};
}

const last = ({ session }: Ground) => session.history.exchanges.at(-1);
const text = (of: Ground, side = 0) => last(of)?.sides[side]?.samples[0]?.text;

test('completions of a checkpoint are streamed, scored by its run’s rewards, and branched at a token', async (t) => {
	const chosen = await describePolicy({ kind: 'checkpoint', folder: checkpoint }, 'tiny');
	assert.equal(chosen.template, '{prompt}');
	assert.equal(typeof chosen.maxTokens, 'number', 'the limit used in training');
	const own = ground(t, [chosen, { ...chosen, name: 'the same again' }]);
	await own.ask('1+2=', { expected: '3', sampling: { samples: 2 } });
	const [first, second] = last(own)?.sides ?? [];
	assert.deepEqual([first?.state, first?.failure], ['finished', null]);
	assert.equal(first?.samples.length, 2);
	assert.notEqual(first?.samples[0]?.text, first?.samples[1]?.text, 'each sample has its own seed');
	assert.deepEqual(
		first?.samples.map((one) => one.text),
		second?.samples.map((one) => one.text),
		'the same weights and seed give the same texts',
	);
	const [sample] = first?.samples ?? [];
	const names = sample?.check?.rewards.map(({ name }) => name);
	assert.deepEqual(names, ['accuracy', 'format'], 'the rewards in its recipe');
	assert.equal(typeof sample?.check?.correct, 'boolean');
	const tokens = sample?.detail;
	assert.equal(tokens?.text.join(''), sample?.text);
	assert.equal(tokens?.top?.[0]?.length, 8);
	assert.ok(Math.abs(tokens?.logprob[0] ?? 0) > 0);

	const other = tokens?.top?.[1]?.find(([word]) => word !== tokens.text[1] && word !== '');
	assert.ok(other);
	own.session.branch({ type: 'branch', exchange: 1, side: 0, sample: 0, token: 1, text: other[0] });
	await own.session.settled;
	const made = last(own)?.sides[0]?.samples[0];
	const prefix = (tokens?.text[0] ?? '') + other[0];
	assert.ok(made?.text.startsWith(prefix));
	assert.equal(made?.given, prefix.length);
	assert.equal(made?.detail?.logprob[1], other[1]);
	assert.equal(made?.detail?.text.join(''), made?.text);
	assert.equal(made?.detail?.text.length, 2 + (made?.tokens ?? 0));
	assert.ok(own.events.some(({ type }) => type === 'exchange'));

	await own.ask('1+2=', {
		template: { mode: 'custom', text: '2+{prompt}' },
		sampling: { temperature: 0, maxTokens: 2 },
	});
	assert.equal(last(own)?.sides[0]?.prompt, '2+1+2=');
	assert.equal(last(own)?.sides[0]?.samples[0]?.finish, 'length');
	await own.ask('9'.repeat(500));
	assert.equal(last(own)?.sides[0]?.state, 'failed');
	assert.match(last(own)?.sides[0]?.failure?.message ?? '', /context/);
});

test('two playgrounds share a checkpoint; closing one keeps the other, and closing both ends the engine', async (t) => {
	const chosen = await describePolicy({ kind: 'checkpoint', folder: checkpoint }, 'tiny');
	const [a, b] = [ground(t, [chosen, null]), ground(t, [chosen, null])];
	await Promise.all([a.ask('1+2='), b.ask('1+2=')]);
	assert.equal(text(a), text(b));
	(await connectServed(checkpoint, 'test')).dispose();
	a.held.dispose();
	await b.ask('2+2=');
	assert.equal(last(b)?.sides[0]?.state, 'finished');
	b.held.dispose();
	await eventually(async () => {
		const found = await connectServed(checkpoint, 'test').catch(() => null);
		found?.dispose();
		return found === null;
	}, 'the engine has ended');
});

test('a missing checkpoint, an untrusted workspace and a missing policy are reported before anything is sampled', async (t) => {
	const gone = join(checkpoint, '../step_999999');
	const lost = ground(t, [await describePolicy({ kind: 'checkpoint', folder: gone }, 'gone'), null]);
	await lost.ask('1+2=');
	assert.equal(last(lost)?.sides[0]?.state, 'failed');
	assert.match(last(lost)?.sides[0]?.failure?.message ?? '', /step_999999/);
	assert.equal(lost.held.count, 0);
	const chosen = await describePolicy({ kind: 'checkpoint', folder: checkpoint }, 'tiny');
	const denied = ground(t, [chosen, null], 'This workspace is not trusted.');
	await assert.rejects(denied.ask('1+2='), (error) => error instanceof Failure && error.reason === 'denied');
	assert.equal(denied.session.history.exchanges.length, 0);
	await assert.rejects(ground(t, [null, null]).ask('1+2='), /No policy selected/);
});

test('a server streams, separates thinking, gets the system message, and is disconnected on stop', async (t) => {
	let held = false;
	const server = await ModelServer.start({ thinking: ['so', 'then'], prefix: 'continue' });
	t.after(() => server[Symbol.asyncDispose]());
	const spec = {
		...({ kind: 'openai', api: 'chat', name: 'served', model: 'counter' } as const),
		baseUrl: server.url,
		system: 'Be brief.',
	};
	const chosen = await describePolicy(spec, 'served');
	assert.deepEqual([chosen.template, chosen.system], [null, 'Be brief.']);
	const own = ground(t, [chosen, null]);
	await own.ask('Say something.', { sampling: { maxTokens: 12 } });
	const [side] = last(own)?.sides ?? [];
	assert.deepEqual([side?.state, side?.failure], ['finished', null]);
	assert.match(side?.samples[0]?.text ?? '', /<think>/);
	const asked = server.requests.at(-1)?.body.messages;
	assert.deepEqual(
		asked?.map(({ role }) => role),
		['system', 'user'],
	);
	assert.equal(asked?.[0]?.content, 'Be brief.');
	await own.ask('Say something.', { system: 'Sing.' });
	assert.equal(server.requests.at(-1)?.body.messages?.[0]?.content, 'Sing.');
	await own.ask('Say something.', { template: { mode: 'raw' } });
	assert.equal(server.requests.at(-1)?.body.messages?.length, 1);
	server.options = {
		...server.options,
		intercept: (_body, response) => {
			held = true;
			response.on('close', () => {
				held = false;
			});
			return true;
		},
	};
	const stopped = own.ask('Say something.');
	await eventually(async () => held, 'the server has received the request');
	own.session.stop();
	await stopped;
	await eventually(async () => !held, 'the connection has been closed');
	assert.deepEqual([last(own)?.sides[0]?.state, last(own)?.sides[0]?.failure], ['stopped', null]);
	const state = {
		...{ policies: [...own.session.policies], exchanges: own.session.history.exchanges, current: null },
		form: { question: '', expected: '', fields: {}, mode: 'own', template: '{prompt}', system: null, tokens: false },
	};
	decodeOrThrow(playgroundStateSchema, JSON.parse(JSON.stringify(state)), 'The state');
});
