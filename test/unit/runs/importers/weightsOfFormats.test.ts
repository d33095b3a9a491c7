import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { stalenessOf, tokenAges, weightsOf } from '../../../../src/core/trace/weightVersions.ts';
import { recordedValues } from '../../../../src/extension/panels/rollouts/rolloutDetail.ts';
import type { RolloutLine } from '../../../../src/protocol/rolloutLine.ts';
import type { TokenColumns } from '../../../../src/protocol/rolloutsMessages.ts';
import { artRow } from '../../../../src/runs/importers/formats/art.ts';
import { rllmEpisode } from '../../../../src/runs/importers/formats/rllm.ts';
import { slime } from '../../../../src/runs/importers/formats/slime.ts';
import { episodeRollouts } from '../../../../src/runs/importers/formats/traceRecord.ts';
import { openRun } from '../../../../src/runs/openRun.ts';
import { levelClass, tokenFacts, tokenLevel, tokenTable, valuesOf } from '../../../../webview/rollouts/tokenScale.ts';
import { weightsText } from '../../../../webview/rollouts/weightsTerms.ts';
import { labFor } from '../../rolloutIndex/ownRun.ts';
import { type FixtureName, fixtureFolder, readAll } from './foreignFixtures.ts';

const linesOf = async (name: FixtureName) =>
	(await readAll(await openRun(fixtureFolder(name)))).rollouts.map(({ line }) => line);
const oneStep = { file: '1.pt', parts: {}, step: 1, record: 0 };

/** Returns the rollout that slime's reader makes of a sample. */
function sampleOf(fields: object): Pick<RolloutLine, 'step' | 'tokens' | 'extra'> {
	const sample = { prompt: 'q', response: 'a', tokens: [1, 2, 3, 4, 5, 6], response_length: 5, ...fields };
	const made = slime.rollouts[0]?.rollouts(sample, oneStep);
	assert.ok(Array.isArray(made));
	return { step: 1, ...made[0] };
}

describe('weight versions', () => {
	it('of slime and miles come from the calls that generated the tokens', async () => {
		for (const name of ['slime', 'miles'] as const) {
			for (const line of await linesOf(name)) {
				// slime_dump.py uses the number of a step as the version of its samples.
				assert.deepEqual(weightsOf(line), { oldest: line.step, newest: line.step, trained: null }, name);
				assert.equal(stalenessOf(weightsOf(line) ?? assert.fail()), null, 'the trained version is not recorded');
				const masked = line.row === 4 || line.row === 12;
				assert.deepEqual(
					line.tokens?.version,
					line.tokens?.text.map((_, i) => (masked && i === 1 ? null : line.step)),
				);
			}
		}
	});

	it('change within a completion only where calls can be separated', () => {
		const version = (weight_versions: unknown[], loss_mask: number[]) =>
			sampleOf({ weight_versions, loss_mask }).tokens?.version ?? null;
		const tool = [1, 1, 0, 1, 1];
		assert.deepEqual(version(['3', '5'], tool), [3, 3, null, 5, 5]);
		assert.deepEqual(version(['3', '3', '3'], tool), [3, 3, null, 3, 3]);
		// The first call was continued with different weights after an abort, at an unknown token.
		assert.equal(version(['3', '4', '5'], tool), null);
		assert.equal(version(['3', '5'], [1, 1, 1, 1, 1]), null);
		assert.equal(version(['default'], tool), null);
		assert.equal(version(['3', 'default'], tool), null);
		assert.equal(version([], tool), null);
		assert.deepEqual(weightsOf(sampleOf({ weight_versions: ['10', '9', '11'] })), {
			...{ oldest: 9, newest: 11, trained: null },
		});
		for (const weight_versions of [[], ['3', 'default'], ['-1'], ['1e3'], [''], '3', undefined]) {
			assert.equal(weightsOf(sampleOf({ weight_versions })), null, JSON.stringify(weight_versions));
		}
	});

	it('of prime-rl are recorded at dispatch and at the end, and the batch determines the trained version', async () => {
		const lines = await linesOf('prime-rl');
		// Policy versions of the fixture's episodes: 0 to 0, 0 to 1, 1 to 2; the batch of step N trains version N - 1.
		const spans = [1, 2, 3].map((step) => [
			...new Set(lines.filter((line) => line.step === step).map((line) => JSON.stringify(weightsOf(line)))),
		]);
		assert.deepEqual(spans, [
			['{"oldest":0,"newest":0,"trained":0}'],
			['{"oldest":0,"newest":1,"trained":1}'],
			['{"oldest":1,"newest":2,"trained":2}'],
		]);
		for (const { step, tokens } of lines) {
			assert.deepEqual(tokens?.version, step === 1 ? tokens?.text.map(() => 0) : undefined);
		}
		assert.ok(
			(await readAll(await openRun(fixtureFolder('prime-rl')), 'validation')).rollouts.every(
				({ line }) => weightsOf(line) === null,
			),
		);
	});

	it('of prime-rl have no age if the batch is not known, or for evaluations', () => {
		const weights = (type: string, info: object, batch?: number) => {
			const run = { work: { type, step: 4, policy: { start: 2, end: 2 } } };
			const nodes = [{ message: { role: 'assistant', content: 'a' }, sampled: true }];
			const made = episodeRollouts({ run, traces: [{ id: 'a', nodes, info }] }, undefined, batch);
			assert.ok(typeof made !== 'string');
			return weightsOf({ step: 4, ...made[0] })?.trained;
		};
		assert.equal(weights('train', {}), null, 'step 4 is the step at dispatch');
		assert.equal(weights('train', { arrival: { step: 6 } }), 5);
		assert.equal(weights('train', { arrival: { step: 6 } }, 7), 6);
		assert.equal(weights('eval', { arrival: { step: 6 } }, 7), null);
	});

	it('of Tinker, rLLM and ART are read', async () => {
		const tinker = await linesOf('tinker');
		assert.ok(tinker.every((line) => weightsOf(line)?.trained === line.step));
		const step = (weight_version: unknown) => ({
			...{ chat_completions: [{ role: 'user', content: 'q' }], model_response: 'a', weight_version },
		});
		const episode = (...versions: unknown[]) => {
			const made = rllmEpisode(
				{ episode_id: 'a:0', trajectories: [{ name: 's', steps: versions.map(step) }] },
				oneStep,
			);
			assert.ok(typeof made !== 'string');
			return weightsOf({ step: 1, ...made[0] });
		};
		assert.deepEqual(episode(4, 5), { oldest: 4, newest: 5, trained: null });
		assert.equal(episode(4, null), null);
		assert.equal(episode(), null);
		const whole = { initial_policy_version: 2, final_policy_version: 3 };
		const messages = [
			{ role: 'user', content: 'q' },
			{ role: 'assistant', content: 'a' },
		];
		const art = (trajectory_json: object) => {
			const row = { group_index: 0, reward: 1, messages, trajectory_json: JSON.stringify(trajectory_json) };
			const made = artRow(row, { ...oneStep, parts: { split: 'train' } });
			assert.ok(typeof made !== 'string');
			return weightsOf({ step: 1, ...made[0] });
		};
		assert.deepEqual(art(whole), { oldest: 2, newest: 3, trained: null });
		assert.equal(art({ ...whole, final_policy_version: null }), null);
	});

	it('of our own engine count updates, and the batch of step N trains version N - 1', () => {
		const of = (step: number | null, version: (number | null)[], extra?: object) =>
			weightsOf({ step, tokens: { version }, ...(extra && { extra: extra as Record<string, unknown> }) });
		assert.deepEqual(of(7, [null, 4, 4]), { oldest: 4, newest: 4, trained: 6 });
		assert.deepEqual(of(null, [4]), { oldest: 4, newest: 4, trained: null });
		assert.equal(of(7, [null]), null);
		assert.equal(of(7, []), null);
		assert.deepEqual(of(3, [4]), { oldest: 4, newest: 4, trained: null }, 'weights newer than the batch have no age');
		for (const weights of [null, 4, { oldest: 5, newest: 4 }, { oldest: 1.5, newest: 2 }, { oldest: 1 }]) {
			assert.equal(of(7, [1], { weights }), null);
		}
	});

	it('are shown for a completion and its tokens, without an age if it is unknown', () => {
		const shown = (oldest: number, newest: number, trained: number | null) => weightsText({ oldest, newest, trained });
		assert.equal(shown(3, 3, null), 'version 3');
		assert.equal(shown(3, 3, 3), 'version 3, 0 updates old');
		assert.equal(shown(1200, 1201, 1201), 'versions 1,200 to 1,201, up to 1 update old');
		const tokens: TokenColumns = {
			...{ text: ['a', 'b', 'c', 'd'], logprob: [null, null, null, null], entropy: null },
			...{ oldLogprob: null, refLogprob: null, version: [2, null, 4, 9] },
		};
		const view = (trained: number | null) => {
			const own = { ...tokens, weights: { oldest: 2, newest: 9, trained } };
			const classes = valuesOf('weights', own)?.map((age) => levelClass('weights', tokenLevel('weights', age)));
			return { classes, facts: [0, 1, 2].map((i) => tokenFacts(tokenTable(own), i)) };
		};
		assert.deepEqual(view(10), {
			classes: ['level-6', 'level-none', 'level-6', 'level-1'],
			facts: ['weights version 2 (8 updates old)', 'nothing recorded', 'weights version 4 (6 updates old)'],
		});
		assert.deepEqual(view(null), {
			classes: ['level-6', 'level-none', 'level-5', 'level-0'],
			facts: ['weights version 2', 'nothing recorded', 'weights version 4'],
		});
		assert.equal(valuesOf('weights', tokens), null);
		assert.deepEqual(tokenAges([1, null], { oldest: 1, newest: 1, trained: 1 }), [0, null]);
		const text = ['a'];
		assert.deepEqual(recordedValues({ tokens: { text, logprob: [null], version: [2] } }), ['weights']);
		assert.deepEqual(recordedValues({ tokens: { text, logprob: [null], version: [null] } }), []);
	});

	it('are columns of rollouts in queries', async (context) => {
		const lab = await labFor(context);
		await lab.index(fixtureFolder('prime-rl'));
		await lab.index(fixtureFolder('slime'));
		await lab.index(fixtureFolder('verl'));
		const sql =
			"select r.format, step, weights, staleness from rollouts o join runs r on r.run = o.run where split = 'train' group by all order by all";
		const { rows } = await lab.sql({ sql, limit: 20 });
		assert.deepEqual(rows, [
			['prime-rl', 1, 0, 0],
			['prime-rl', 2, 0, 1],
			['prime-rl', 3, 1, 1],
			['slime', 0, 0, null],
			['slime', 1, 1, null],
			...[1, 2, 3, 4].map((step) => ['verl', step, null, null]),
		]);
	});
});
