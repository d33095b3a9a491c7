import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ReportedPipeline, ReportedPipelineStage } from '../../../../src/core/report/reportedPipeline.ts';
import type { ReportedStage } from '../../../../src/core/report/reportedRun.ts';
import { siblingsTables } from '../../../../src/core/report/siblingsTable.ts';
import { madeEvaluation, madeRun } from './madeReport.ts';

const stage = (name: string, type: string, after: readonly string[]): ReportedPipelineStage => ({
	...{ name, type, after, status: 'finished', detail: null, accuracy: null, seconds: 60, outputs: [] },
	...{ run: null, evaluation: null },
});

function trained(name: string, accuracies: readonly number[], last: { kl?: number; entropy: number }) {
	const heldOut = accuracies.map((accuracy, i) => ({
		...{ step: 10 * i, accuracy, low: 0, high: 1, problems: 64, samples: 1 },
	}));
	const curve = (metric: string, end: number) => ({
		name: metric,
		points: Array.from({ length: 20 }, (_, i) => ({ x: i + 1, y: i >= 18 ? end : 100 })),
	});
	const own: ReportedStage = {
		...(madeRun().stages[0] as ReportedStage),
		...{ heldOut, before: heldOut[0] ?? null, after: heldOut.at(-1) ?? null, steps: [1, 20] },
		curves: [curve('entropy', last.entropy), ...(last.kl === undefined ? [] : [curve('kl', last.kl)])],
	};
	return { ...stage(name, 'grpo', ['base']), run: madeRun({ title: name, stages: [own] }) };
}

/** Returns a pipeline in which `dapo` answers `right` of twelve questions correctly, and the stage before it four. */
function pipeline(right: number, accuracies: readonly number[], entropy: number): ReportedPipeline {
	const measure = (name: string, known: number) => ({
		...stage(`measure-${name}`, 'evaluate', [name]),
		evaluation: madeEvaluation(name, known),
	});
	return {
		...{ title: 'losses', id: 'losses', status: 'finished', error: null, created: 0, updated: 0, recipe: {}, gaps: [] },
		stages: [
			stage('base', 'sft', []),
			trained('dapo', accuracies, { kl: 0.25, entropy }),
			trained('grpo', [0.2, 0.2, 0.2], { entropy: 0.5 }),
			measure('base', 4),
			measure('dapo', right),
		],
	};
}

test('stages from the same start are compared by gain, steps, KL and entropy', () => {
	const [table, ...others] = siblingsTables([pipeline(10, [0.2, 0.4, 0.6], 0.125)]);
	assert.ok(table && others.length === 0);
	assert.equal(table.caption, 'Training from base');
	assert.deepEqual(
		table.columns.map(({ title }) => title),
		['stage', 'gain in pass@1', 'steps to 0.400', 'KL', 'entropy', 'time'],
	);
	const [dapo, grpo] = table.rows;
	assert.match(dapo?.[1] ?? '', /^\+0\.500 \(0\.\d+ to 0\.\d+\)$/);
	assert.deepEqual(dapo?.slice(2), ['10', '0.25', '0.125', '1 min 00 s']);
	assert.deepEqual(grpo, ['grpo', 'not measured', 'not reached', '–', '0.5', '1 min 00 s']);
});

test('several pipelines are pooled by question, and stages that did not reach the accuracy are counted', () => {
	const [table] = siblingsTables([pipeline(10, [0.2, 0.3, 0.6], 0.1), pipeline(6, [0.2, 0.2, 0.2], 0.3)]);
	assert.equal(table?.columns[2]?.title, 'steps to 0.300');
	const [dapo] = table?.rows ?? [];
	assert.match(dapo?.[1] ?? '', /^\+0\.333 /, 'the mean over all 24 questions');
	assert.equal(dapo?.[2], '10, reached in 1 of 2');
	assert.equal(dapo?.[4], '0.2 (0.1 to 0.3)');
	assert.match(table?.note ?? '', /over the questions of all pipelines/);
});

test('there is no table without stages to compare, and no step count without an improvement', () => {
	const one = pipeline(10, [0.2, 0.6], 0.1);
	const single = { ...one, stages: one.stages.filter(({ name }) => name !== 'grpo') };
	assert.deepEqual(siblingsTables([single]), [], 'a single stage');
	assert.deepEqual(siblingsTables([]), []);
	const [falling] = siblingsTables([pipeline(10, [0.6, 0.2], 0.1)]);
	assert.equal(falling?.columns[2]?.title, 'steps needed');
	assert.equal(falling?.rows[0]?.[2], '–');
	assert.match(falling?.note ?? '', /No stage improved its held-out accuracy/);
});
