// @reaches rewardHost rewardPython
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { branchDifference } from '../../../../../src/core/episode/branchDifferences.ts';
import { restoredPlace } from '../../../../../src/extension/panels/episode/episodePlace.ts';
import {
	environmentOfRun,
	openedRollout,
	requireRunEnvironment,
} from '../../../../../src/extension/panels/episode/rolloutEpisodes.ts';
import type { ShownTurn } from '../../../../../src/protocol/episodeMessages.ts';
import type { RolloutLine } from '../../../../../src/protocol/rolloutLine.ts';
import { prepareRun } from '../../../../../src/runs/prepareRun.ts';
import { guessing } from '../../../episodes/guessingEnvironment.ts';
import { rewardFolder } from '../../../rewards/hostFixtures.ts';
import { openSession } from '../../../webview/episode/episodeHarness.ts';

const turn = (value: number, content: string, tries: number) => ({
	calls: [{ name: 'guess', arguments: { value } }],
	results: [{ name: 'guess', content, failed: false }],
	seconds: 0.002,
	state: { number: 4, tries, done: value === 4 },
});
const line = (changes: Partial<RolloutLine> = {}): RolloutLine => ({
	...{ step: 3, stage: 'grpo', group: 1, index: 0, prompt: 'Guess.', completion: '', advantage: 0, truncated: false },
	row: { prompt: 'Guess.', number: 4 },
	rewards: { environment: 1 },
	reward: 1,
	extra: {
		episode: {
			observation: ' Guess my number from 1 to 8.',
			state: { number: 4, tries: 0, done: false },
			turns: [turn(2, 'higher', 1), turn(4, 'correct', 2)],
			stop: 'policy',
		},
	},
	...changes,
});

describe('the episode of a rollout', () => {
	let folder = '';
	let run = '';
	before(async () => {
		folder = await rewardFolder();
		await mkdir(join(folder, 'model'));
		await writeFile(join(folder, 'rows.jsonl'), '{"prompt": "Guess.", "answer": null, "number": 4}\n');
		await writeFile(join(folder, 'guess.env.py'), guessing);
		const recipe = {
			...{ name: 'guess', engine: 'pytorch', dataset: { path: 'rows.jsonl' }, model: { path: 'model' } },
			template: { prompt: '{prompt}', think: null, answer: null, chat: true },
			environment: { file: 'guess.env.py' },
			rewards: [{ use: 'environment' }],
			stages: [{ type: 'grpo', steps: 2, learning_rate: 1e-3 }],
		};
		await writeFile(join(folder, 'r.recipe.json'), JSON.stringify(recipe));
		run = (await prepareRun(join(folder, 'r.recipe.json'))).folder;
	});

	it("is replayed in the run's copy of the environment", async (t) => {
		const { place, episode } = await openedRollout(run, line());
		assert.deepEqual(place, { file: join(run, 'rewards/guess.env.py'), runFolder: run });
		assert.equal((await environmentOfRun(run)).dataset, join(folder, 'rows.jsonl'));
		const session = await openSession({ file: place.file }, () => undefined);
		t.after(() => session.dispose());
		session.record(episode);
		session.replay(1);
		await session.settled;
		const [recorded, replay] = session.branches;
		assert.ok(recorded && replay);
		assert.deepEqual(recorded.origin, { kind: 'recorded', label: 'step 3, group 1, completion 0' });
		assert.deepEqual([replay.reward, replay.turns[0]?.state], [{ value: 1 }, { number: 4, tries: 1, done: false }]);
		// The recorded states are shown without a replay, and match those of the replay.
		assert.deepEqual(recorded.turns[0]?.state, { number: 4, tries: 1, done: false });
		assert.equal(branchDifference(replay, recorded).first, null);
		const [first, ...rest] = recorded.turns;
		const changed = { ...recorded, turns: [{ ...(first as ShownTurn), state: { number: 5, tries: 1 } }, ...rest] };
		assert.equal(branchDifference(replay, changed).turns[0]?.state.length, 2);
		// A recorded episode does not change.
		session.call({ type: 'call', branch: 1, turn: 2, calls: [{ name: 'guess', arguments: { value: 1 } }] });
		await session.settled;
		assert.equal(session.branch(1).turns.length, 2);
		const branch = session.branches.at(-1);
		assert.deepEqual(
			[branch?.origin, branch?.turns[2]?.results[0]?.failed],
			[{ kind: 'branch', of: 1, turn: 2 }, true],
		);
	});

	it('is marked if the environment responds differently when it is continued', async (t) => {
		const { place, episode } = await openedRollout(run, line());
		const session = await openSession({ file: place.file }, () => undefined);
		t.after(() => session.dispose());
		session.record({ ...episode, columns: { number: 1 } });
		session.call({ type: 'call', branch: 1, turn: 1, calls: [{ name: 'guess', arguments: { value: 1 } }] });
		await session.settled;
		const branch = session.branches.at(-1);
		assert.match(branch?.note ?? '', /responded differently/);
		assert.deepEqual(
			branch?.turns.map(({ results }) => results[0]?.content),
			['lower', 'correct'],
		);
	});

	it('is opened only if it was recorded', async () => {
		await assert.rejects(openedRollout(run, line({ extra: {} })), /turns of this rollout were not recorded/);
		await assert.rejects(openedRollout(run, line({ row: 4 })), /dataset row of this rollout was not recorded/);
	});

	it("needs the user's consent if its run is from elsewhere, and is rejected if the code has changed", async () => {
		const { file } = await environmentOfRun(run);
		const asked: string[][] = [];
		const decline = async ({ uses }: { readonly uses: readonly string[] }) => {
			asked.push([...uses]);
			return false;
		};
		await assert.rejects(requireRunEnvironment(run, file, decline), { reason: 'cancelled' });
		assert.ok(asked[0]?.includes('rewards/guess.env.py'));
		await requireRunEnvironment(run, file, async () => true);
		await assert.rejects(
			requireRunEnvironment(run, join(folder, 'guess.env.py'), async () => true),
			{ reason: 'invalid' },
		);
		await writeFile(file, `${guessing}# changed\n`);
		await assert.rejects(
			requireRunEnvironment(run, file, async () => true),
			{ reason: 'mismatch' },
		);
	});

	it('is restored from a saved state only if its file is an environment', async () => {
		const state = {
			...{ file: join(folder, 'guess.env.py'), runFolder: null, branches: [], show: { branch: 7, turn: 0 } },
			...{ compareWith: null, speed: 1, replaysOnSave: true },
			form: { seed: '1', row: null, columns: null, tool: null, inputs: {}, pending: [] },
		};
		const place = await restoredPlace(state);
		assert.deepEqual([place.file, place.started], [state.file, { branches: [], show: null }]);
		for (const file of ['guess.env.py', join(folder, 'rows.jsonl'), join(folder, 'none.env.py'), folder]) {
			await assert.rejects(restoredPlace({ ...state, file }), Error, file);
		}
		const manifest = join(folder, 'openenv.yaml');
		await writeFile(manifest, 'name: made\n');
		const address = 'http://localhost:8000';
		for (const file of [manifest, address])
			assert.equal((await restoredPlace({ ...state, file, runFolder: null })).file, file);
		for (const file of [manifest, address, 'file:///etc/passwd', 'http://user:word@localhost']) {
			await assert.rejects(restoredPlace({ ...state, file, runFolder: run }), { reason: 'invalid' });
		}
		await assert.rejects(restoredPlace({}), /saved view state is not valid/);
	});
});
