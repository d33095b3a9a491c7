// @reaches cli rewardHost rewardPython
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { environmentData } from '../../../src/episodes/environmentData.ts';
import { verifyEnvironment } from '../../../src/episodes/verifyEnvironment.ts';
import { EpisodeViewSession } from '../../../src/extension/panels/episode/episodeViewSession.ts';
import { decodeOrThrow } from '../../../src/protocol/decode.ts';
import { type Episode, episodeSchema } from '../../../src/protocol/episode.ts';
import { objects, Workplace } from '../cli/cliFixtures.ts';
import { episodeFaults, faultLimits, faultyEnvironment, faultyRows } from './badEnvironmentPlaces.ts';
import { openEnvironment } from './environmentFixtures.ts';

const rows = faultyRows.map((row) => JSON.stringify(row)).join('\n');
const open = () =>
	openEnvironment(faultyEnvironment, { name: 'faulty.env.py', limits: faultLimits, neighbors: { 'rows.jsonl': rows } });
const data = (file: string) => environmentData({ file, rows: 100, seed: 1 });

/** What must be true everywhere: the row's own episode fails with its reason, and no other episode fails. */
function assertBooked(outcomes: readonly (string | null)[]): void {
	const expected = faultyRows.map(({ fault }) => (fault === null ? null : episodeFaults[fault]));
	assert.deepEqual(outcomes, expected);
}

const kindOf = ({ error }: Pick<Episode, 'error'>) => error?.kind ?? null;

describe('an environment that fails on some rows, each in a different way: each episode is recorded with its own reason', () => {
	it('when it is verified', async () => {
		const runner = await open();
		const { episodes, findings } = await verifyEnvironment(runner, await data(runner.file), { turns: 2, seed: 1 });
		const gold = episodes.filter(({ policy }) => policy === 'gold').sort((a, b) => a.row - b.row);
		// After two episodes that ended the process, verification skips the remaining rows.
		assert.deepEqual(gold.map(kindOf), ['threw', null, 'size', null, 'timeout', null, 'exited']);
		assert.ok(findings.some(({ kind, level }) => kind === 'error' && level === 'error'));
	});

	it('in the episode view, which stays usable', async () => {
		const runner = await open();
		const { file } = runner;
		const needs = { file, runFolder: null, debugs: false, saves: false, forbidden: () => null, post: () => undefined };
		const session = new EpisodeViewSession(
			{ ...needs, open: async () => runner, data: () => data(file) },
			{ branches: [], show: null },
		);
		try {
			const outcomes: (string | null)[] = [];
			for (const index of faultyRows.keys()) {
				session.reset({ type: 'reset', index, columns: null, seed: 1 });
				await session.settled;
				const { id } = session.branches.at(-1) ?? assert.fail('no episode');
				if (session.branch(id).error === undefined) {
					session.call({ type: 'call', branch: id, turn: 0, calls: [{ name: 'look', arguments: {} }] });
					await session.settled;
				}
				outcomes.push(kindOf(session.branch(id)));
			}
			assertBooked(outcomes);
		} finally {
			session.dispose();
		}
	});

	it('by run-episodes', async (context) => {
		const place = await Workplace.make(context);
		await place.write('rows.jsonl', rows);
		await place.write('faulty.env.py', faultyEnvironment);
		// The command has no options that limit memory and processes.
		const few = faultyRows.map(({ fault }) => fault !== 'memory' && fault !== 'fork');
		await place.write(
			'few.jsonl',
			rows
				.split('\n')
				.filter((_, i) => few[i])
				.join('\n'),
		);
		const args = ['run-episodes', 'faulty.env.py', '--dataset', 'few.jsonl', '--timeout', '1.5', '--json'];
		const { status, stdout } = await place.call(...args);
		assert.equal(status, 1);
		const episodes = objects(stdout).map((one) => decodeOrThrow(episodeSchema, one, 'an episode'));
		const expected = faultyRows
			.filter((_, i) => few[i])
			.map(({ fault }) => (fault === null ? null : episodeFaults[fault]));
		assert.deepEqual(episodes.map(kindOf), expected);
	});
});
