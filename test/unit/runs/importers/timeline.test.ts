import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { rolloutTimeline } from '../../../../src/protocol/rolloutTimeline.ts';
import { timelineOf } from '../../../../src/runs/importers/timeline.ts';
import { openRun } from '../../../../src/runs/openRun.ts';
import { type FixtureName, fixtureFolder, readAll } from './foreignFixtures.ts';

async function timelinesIn(name: FixtureName) {
	const { rollouts } = await readAll(await openRun(fixtureFolder(name)));
	return rollouts.map(({ line }) => rolloutTimeline(line.extra));
}

/** Kinds, names and tokens, without times, which differ between runs of the programs that wrote the fixtures. */
const shapeOf = (timeline: ReturnType<typeof rolloutTimeline>) =>
	timeline?.map(({ kind, name, tokens }) => [kind, name, ...(tokens === undefined ? [] : [tokens])]);

describe('timelines', () => {
	it('of Inspect contain model calls, tool calls and scorers with their times', async () => {
		const [first, , failed] = await timelinesIn('inspect-tools');
		assert.deepEqual(shapeOf(first ?? null), [
			['generation', 'mockllm/model', 5],
			['tool', 'add'],
			['generation', 'mockllm/model', 5],
			['scoring', 'match'],
			['scoring', 'brevity'],
		]);
		// From the log: the sample started at 06.463628, the tool ran from 07.121307 to 07.202949.
		assert.deepEqual(first?.[1], { kind: 'tool', name: 'add', start: 0.658, seconds: 0.081 });
		// The first call took 0.647440 s, of which 0.000341 s were working time; times are in milliseconds.
		assert.ok(Math.abs((first?.[0]?.waited ?? 0) - 0.6475) < 0.001);
		assert.deepEqual(
			failed?.map(({ kind, seconds, error }) => [kind, seconds, error]),
			[['generation', null, "RuntimeError('The mock model is broken')"]],
		);
	});

	it('of verifiers, prime-rl and slime contain their phases', async () => {
		const [verifiers] = await timelinesIn('verifiers-0.4');
		const phases = ['boot', 'setup', 'Qwen/Qwen3-0.6B', 'finalize', 'scoring'];
		assert.deepEqual(
			verifiers?.map(({ name }) => name),
			phases,
		);
		assert.ok(Math.abs((verifiers?.[2]?.seconds ?? 0) - (1795670547.6754324 - 1795670547.532537)) < 1e-5);
		const prime = (await timelinesIn('prime-rl')).find((timeline) => timeline !== null);
		assert.deepEqual(new Set(prime?.map(({ kind }) => kind)), new Set(['waiting', 'generation', 'scoring']));
		const [slime, other] = await timelinesIn('slime');
		assert.deepEqual(shapeOf(slime ?? null), [
			['generation', 'sglang_generate', 4],
			['scoring', 'reward_model'],
		]);
		assert.equal(other, null);
	});

	it('are in order, start at 0, and leave out impossible times', () => {
		const activity = { kind: 'tool', name: 't' } as const;
		assert.deepEqual(
			timelineOf([
				{ ...activity, start: 12, end: 11 },
				{ ...activity, start: 10, end: 10.5 },
				{ ...activity, start: Number.NaN, end: 1 },
			]),
			[
				{ ...activity, start: 0, seconds: 0.5 },
				{ ...activity, start: 2, seconds: null },
			],
		);
		assert.deepEqual(timelineOf([{ ...activity, start: 10, end: null }], 9)?.[0]?.start, 1);
		assert.equal(timelineOf([]), undefined);
		assert.equal(rolloutTimeline({ timeline: [{ kind: 'unknown', name: 'x', start: 0, seconds: 1 }] }), null);
	});
});
