// @reaches rewardHost
import '../vscodeHook.ts';
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Episode } from '../../../../src/protocol/episode.ts';
import { guessingScript } from '../../episodes/guessingScript.ts';
import { openHosts, rewardFolder } from '../../rewards/hostFixtures.ts';

const { EnvironmentSession } = await import('../../../../src/extension/environments/environmentSession.ts');
const { environmentInlineLine } = await import('../../../../src/extension/environments/environmentWords.ts');
type PlayPolicy = import('../../../../src/extension/environments/environmentSession.ts').PlayPolicy;

test('a policy plays on request, and canceling it or verifying again keeps its last result', async (t) => {
	const folder = await rewardFolder();
	const file = join(folder, 'guess.env.ts');
	await writeFile(join(folder, 'rows.jsonl'), '{"number": 3}\n{"number": 5}\n');
	await writeFile(file, `// @dataset rows.jsonl\n${guessingScript}`);
	const hosts = await openHosts();
	const needs = { hosts: async () => hosts, limits: () => ({}), text: () => undefined, log: () => {} };
	const session = new EnvironmentSession(file, needs);
	t.after(() => session.dispose());
	const line = () => environmentInlineLine(session.state)?.text ?? '';
	const policyPart = () => line().match(/policy [^·]*[^· ]/)?.[0];

	const play: PlayPolicy = async ({ environment, rows }) => {
		assert.deepEqual([environment, rows.length], [{ file, maxTurns: 20 }, 2]);
		const ended = { observation: null, turns: [], durationMs: 1, logs: [], stop: 'policy' as const };
		const episodes = rows.map(({ row }): Episode => ({ ...ended, row, policy: 'policy', reward: row }));
		return { name: 'guess step 40', episodes };
	};
	await session.verify();
	assert.deepEqual([session.state.phase, policyPart()], ['done', undefined]);
	await session.verify(play);
	assert.equal(policyPart(), 'policy 0.50 (1 / 2 solved, guess step 40)');
	const before = session.state.verification;

	const cancel = new AbortController();
	await session.verify(async (_, signal) => {
		cancel.abort();
		signal.throwIfAborted();
		return { name: 'other', episodes: [] };
	}, cancel.signal);
	assert.deepEqual([session.state.phase, session.state.verification], ['done', before]);
	await session.verify(play, cancel.signal);
	assert.equal(session.state.verification, before, 'a request that is already canceled does nothing');

	await session.verify();
	await session.verify();
	assert.equal(policyPart(), 'policy 0.50 (1 / 2 solved, guess step 40, earlier)');
	await session.verify(play);
	assert.equal(policyPart(), 'policy 0.50 (1 / 2 solved, guess step 40)');

	let superseded = false;
	const first = session.verify(async (_, signal) => {
		void session.verify();
		superseded = signal.aborted;
		signal.throwIfAborted();
		return { name: 'other', episodes: [] };
	});
	await first;
	await session.settled();
	assert.deepEqual([superseded, session.state.phase], [true, 'done']);
	assert.equal(policyPart(), 'policy 0.50 (1 / 2 solved, guess step 40, earlier)');
});
