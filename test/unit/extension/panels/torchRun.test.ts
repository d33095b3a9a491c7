import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { describeMetric } from '../../../../src/core/metrics/catalog.ts';
import { recordedValues } from '../../../../src/extension/panels/rollouts/rolloutDetail.ts';
import { loadRun } from '../../../../src/extension/runLoader.ts';
import { presentRun } from '../../../../src/extension/runPresentation.ts';
import { readMetrics, readRollouts } from '../../../../src/runs/runReader.ts';
import { chartsOf, metricsOf } from '../../../../webview/dashboard/chartCatalog.ts';
import { root } from '../../../scripts/paths.ts';

/** PyTorch-engine run with distill, dpo, reward-model and rloo stages, without its checkpoints. */
const folder = join(root, 'test/fixtures/torch-run');

describe('PyTorch-engine run', () => {
	it('writes only cataloged metrics, each with a place in the dashboard', async () => {
		const lines = await readMetrics(folder);
		assert.deepEqual([...new Set(lines.map(({ stage }) => stage))], ['distill', 'dpo', 'reward-model', 'rloo']);
		const names = [...new Set(lines.flatMap(({ values }) => Object.keys(values)))];
		assert.deepEqual(
			names.filter((name) => !describeMetric(name).known),
			[],
		);
		const groups = chartsOf(names);
		assert.deepEqual(
			groups.map(({ id }) => id),
			['reward', 'preferences', 'policy', 'lengths', 'optimizer', 'speed'],
		);
		const shown = groups.flatMap(({ charts }) => charts.flatMap(metricsOf));
		// The min and max of held-out rewards would obscure the training rewards.
		const unshown = ['eval/max_reward', 'eval/min_reward'];
		assert.deepEqual(names.filter((name) => !shown.includes(name)).sort(), unshown);
	});

	it('is presented like any other run, with its engine', async () => {
		const view = await loadRun(folder);
		const { description, tooltip } = presentRun(view, 1_795_400_000);
		assert.match(description, /^PyTorch · finished · 18\/18 · reward 0\.00 · /);
		const engine = tooltip.find(([name]) => name === 'Engine')?.[1];
		assert.equal(engine, 'PyTorch: trl 1.13.0, torch 2.13.0+cpu, transformers 5.18.0');
	});

	it('has rollouts whose token views match the recorded values', async () => {
		const rollouts = await readRollouts(folder, 15);
		assert.equal(rollouts.length, 16);
		for (const line of rollouts) {
			assert.equal(line.tokens?.text.length, line.tokens?.logprob.length);
			assert.deepEqual(recordedValues(line), ['logprob', 'entropy', 'ratio']);
			// TRL run without these values: the columns exist but contain no numbers.
			const absent = line.tokens && { text: line.tokens.text, logprob: line.tokens.logprob.map(() => null) };
			assert.deepEqual(recordedValues({ tokens: absent }), []);
		}
	});
});
