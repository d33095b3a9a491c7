import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { Diagnosis, diagnose } from '../../../../src/core/diagnosis/diagnosis.ts';
import { FactsOfRollouts } from '../../../../src/core/diagnosis/factsOfRollouts.ts';
import { Course, medianOf, Recent } from '../../../../src/core/diagnosis/series.ts';
import type { RolloutLine } from '../../../../src/protocol/rolloutLine.ts';
import { root } from '../../../scripts/paths.ts';
import { alive, but, fill, foreignRun, group, healthy, ownRun, rows, steps } from './syntheticRun.ts';

const trouble = but((i) => ({
	frac_reward_zero_std: i > 50 && i < 120 ? 1 : 0.1,
	kl: i > 150 ? 20 : 0.1,
	'completions/clipped_ratio': 0.5,
}));

describe('a diagnosis', () => {
	it('gives the same result for all rows at once and row by row', () => {
		const metrics = rows(300, trouble);
		const facts = steps(300, [group(), alive]);
		const whole = diagnose(ownRun, { metrics, steps: facts });
		const diagnosis = new Diagnosis(ownRun);
		for (const [i, line] of metrics.entries()) {
			diagnosis.addStep(facts[i] as (typeof facts)[number]);
			diagnosis.addMetrics([line]);
		}
		assert.ok(whole.length >= 3);
		assert.deepEqual(diagnosis.alerts, whole);
	});

	it('reports changes only when an alert starts or ends', () => {
		const diagnosis = new Diagnosis(ownRun);
		const metrics = rows(300, trouble);
		const seen: string[] = [];
		let revision = diagnosis.revision;
		for (const line of metrics) {
			diagnosis.addMetrics([line]);
			if (diagnosis.revision === revision) continue;
			revision = diagnosis.revision;
			seen.push([...diagnosis.holding].join(' '));
		}
		assert.deepEqual(seen, ['overlong', 'overlong dead-groups', 'overlong', 'overlong kl-blow-up']);
		for (const alert of diagnosis.alerts) {
			assert.equal(alert.lastStep === 300, diagnosis.holding.has(alert.id), alert.id);
		}
	});

	it('accepts evidence that arrives after the metrics', () => {
		const diagnosis = new Diagnosis(ownRun);
		diagnosis.addMetrics(
			rows(
				60,
				but(() => ({ 'completions/clipped_ratio': 0.5 })),
			),
		);
		assert.deepEqual(diagnosis.alerts[0]?.evidence, []);
		for (const facts of steps(3, [group({ reward: [1, ...fill(0, 7)], truncated: fill(true) })], 58)) {
			diagnosis.addStep(facts);
		}
		diagnosis.addMetrics(
			rows(
				1,
				but(() => ({ 'completions/clipped_ratio': 0.5 })),
				{ from: 61 },
			),
		);
		assert.equal(diagnosis.alerts[0]?.evidence.length, 3);
	});

	it('delays evaluations until the metrics of earlier steps have arrived', () => {
		const diagnosis = new Diagnosis(ownRun);
		const summary = { name: 'x', problems: 1, samples: 1, temperature: 1, accuracy: 0.4, low: 0.35, high: 0.45 };
		diagnosis.addEvaluations(Array.from({ length: 10 }, (_, i) => ({ ...summary, step: 20 * (i + 1) })));
		const metrics = rows(200, (i) => ({ reward: i / 200, reward_std: 0.3 }));
		diagnosis.addMetrics(metrics);
		assert.deepEqual([...diagnosis.holding], ['reward-hacking:eval/x/accuracy']);
	});

	it('keeps alerts from an earlier stage, and starts over in the next one', () => {
		const diagnosis = new Diagnosis(ownRun);
		diagnosis.addMetrics(
			rows(
				60,
				but(() => ({ 'completions/clipped_ratio': 0.5 })),
			),
		);
		assert.equal(diagnosis.holding.size, 1);
		diagnosis.addMetrics(rows(60, healthy, { from: 61, stage: 'second' }));
		assert.equal(diagnosis.holding.size, 0);
		assert.equal(diagnosis.alerts.length, 1);
		assert.equal(diagnosis.alerts[0]?.lastStep, 60);
	});

	it('reads a long run with many metrics in constant memory', () => {
		// 20,000 rows with 31 metrics take 5 MB as doubles alone, and half of that without the metrics that no rule reads.
		// The process needs 13 MB anyway, so with a 16 MB heap, it crashes if it keeps them.
		const script = `
			const { Diagnosis } = await import('./src/core/diagnosis/diagnosis.ts');
			const { alive, group, healthy, ownRun, rows, steps } = await import('./test/unit/core/diagnosis/syntheticRun.ts');
			const names = Array.from({ length: 16 }, (_, i) => 'metric_' + i);
			const more = Object.fromEntries(names.map((name) => [name, 0.5]));
			const diagnosis = new Diagnosis(ownRun);
			for (let from = 0; from < 20_000; from += 500) {
				const course = (i, noise) => ({ ...more, ...healthy(from + i, noise) });
				diagnosis.addMetrics(rows(500, course, { from: 1 + from, seed: from }));
				for (const facts of steps(10, [alive, group()], 1 + from)) diagnosis.addStep(facts);
			}
			console.log(JSON.stringify(diagnosis.alerts));
		`;
		const child = spawnSync(
			process.execPath,
			['--max-old-space-size=16', '--input-type=module-typescript', '--no-warnings', '-e', script],
			{ cwd: root, encoding: 'utf8' },
		);
		assert.deepEqual([child.status, child.stdout.trim()], [0, '[]'], child.stderr);
	});

	it('handles hostile names and values', () => {
		const metrics = rows(200, (i) => ({
			__proto__: 1,
			constructor: 2,
			'rewards/__proto__/mean': 0.1,
			'rewards/__proto__/std': 0.1,
			[`rewards/${'x'.repeat(5000)}/std`]: 1,
			[`rewards/made-up-${i}/std`]: 1,
			[`eval/made-up-${i}/accuracy`]: 0.5,
			kl: i % 2 === 0 ? 1e300 : -1e300,
			entropy: -1,
			'completions/mean_length': 0,
			reward: 1e308,
			reward_std: 0,
		}));
		for (const alert of diagnose(foreignRun, { metrics })) assert.ok(alert.message.length < 1000);
	});
});

describe('rollout facts', () => {
	const line = (group: number, index: number, completion: RolloutLine['completion'], more = {}): RolloutLine => ({
		step: 1,
		stage: 'grpo',
		group,
		index,
		prompt: 'p',
		completion,
		rewards: {},
		reward: 0,
		advantage: 0,
		truncated: false,
		...more,
	});
	const tags = { think: ['<think>', '</think>'], answer: ['<answer>', '</answer>'] } as const;

	it('reduce each group to what the rules need', () => {
		const facts = new FactsOfRollouts(tags);
		facts.add(line(7, 0, '<think>a</think><answer>1</answer>', { rewards: { accuracy: 1 }, reward: 1.2 }));
		facts.add(line(7, 1, '<think>a</think>', { rewards: { accuracy: 0 }, truncated: true }));
		facts.add(line(8, 0, [{ role: 'assistant', content: 'x' }], { reward: null }));
		const { step, groups } = facts.of(12);
		assert.equal(step, 12);
		assert.deepEqual(groups[0], {
			group: 7,
			index: [0, 1],
			reward: [1.2, 0],
			correct: [true, false],
			truncated: [false, true],
			answered: [true, false],
			repetition: [0, 0],
			distinct: 2,
			answers: ['1', null],
		});
		assert.deepEqual(groups[1]?.reward, [null]);
		assert.deepEqual(groups[1]?.correct, [null]);
	});

	it('detect repetition, but not in short texts', () => {
		const facts = new FactsOfRollouts(tags);
		facts.add(line(0, 0, 'go on and on '.repeat(100)));
		facts.add(line(0, 1, 'go on and on '.repeat(3)));
		const [first, second] = facts.of(1).groups[0]?.repetition ?? [];
		assert.ok((first ?? 0) > 0.9);
		assert.equal(second, 0);
	});

	it("look for the tags that another trainer's prompt asks for", () => {
		const facts = new FactsOfRollouts(null);
		const boxed = { prompt: 'Put the answer into \\boxed{}.' };
		facts.add(line(0, 0, 'so \\boxed{4}', boxed));
		facts.add(line(0, 1, 'so 4', boxed));
		facts.add(line(0, 2, 'so 4'));
		assert.deepEqual(facts.of(1).groups[0]?.answered, [true, false, null]);
	});
});

describe('series', () => {
	it('keep the last values in order', () => {
		const recent = new Recent(4);
		for (const value of [1, 2, 3, 4, 5, 6]) recent.push(value);
		assert.equal(recent.mean(), 4.5);
		assert.equal(recent.mean(0, 2), 3.5);
		assert.equal(recent.mean(2), 5.5);
		assert.equal(recent.median(), 4.5);
	});

	it('summarize the whole history in a few values', () => {
		const course = new Course();
		for (let i = 0; i < 100_000; i++) course.push(i);
		assert.ok(Math.abs(course.median() - 50_000) < 1000, `${course.median()}`);
		assert.ok(Number.isNaN(medianOf([])));
	});
});
