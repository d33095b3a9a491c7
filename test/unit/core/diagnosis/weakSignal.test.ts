import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { diagnose, type WholeRun } from '../../../../src/core/diagnosis/diagnosis.ts';
import type { DiagnosisRun } from '../../../../src/core/diagnosis/diagnosisRun.ts';
import { thresholds } from '../../../../src/core/diagnosis/thresholds.ts';
import { alive, but, fill, foreignRun, group, ownRun, rows, steps } from './syntheticRun.ts';

const alertsOf = (whole: WholeRun, run: DiagnosisRun = ownRun) => diagnose(run, whole);
const ids = (whole: WholeRun, run?: DiagnosisRun) => alertsOf(whole, run).map(({ id }) => id);
const sums = (settings: Record<string, unknown> = {}): DiagnosisRun => ({
	...ownRun,
	stages: [{ type: 'grpo', settings: { learning_rate: 1e-4, temperature: 1, ...settings } }],
	dataset: { task: 'addition', digits: 4 },
});

const right = group({ reward: fill(1), correct: fill(true), distinct: 1 });
const wrong = group({ distinct: 1 });

describe('a stage that starts with almost no entropy', () => {
	const cold = (more: Record<string, number> = {}) =>
		rows(
			60,
			but((_, noise) => ({
				entropy: 0.02 + noise(0.002),
				reward: 0.4 + noise(0.02),
				'rewards/accuracy/mean': 0.4 + noise(0.02),
				frac_reward_zero_std: 0.6,
				'eval/heldout/accuracy': undefined,
				...more,
			})),
		);

	it('is reported as collapsed if unsolved groups do not vary either', () => {
		const [alert, ...more] = alertsOf({ metrics: cold(), steps: steps(60, [right, wrong, alive]) }, sums());
		assert.equal(alert?.id, 'entropy-collapse');
		assert.deepEqual(more, []);
		assert.match(alert?.message ?? '', /started this stage with almost no entropy.* 50% of the groups/);
		assert.deepEqual(alert?.recipe?.edits, [{ path: ['stages', 0, 'temperature'], value: 2.5 }]);
	});

	it('is detected from metrics if no rollouts are recorded', () => {
		const shares = (dead: number) => cold({ 'groups/dead': dead, 'groups/solved_all': 0.4 });
		assert.deepEqual(ids({ metrics: shares(0.7) }, foreignRun), ['entropy-collapse']);
		assert.deepEqual(ids({ metrics: shares(0.45) }, foreignRun), []);
		assert.deepEqual(ids({ metrics: cold() }, foreignRun), []);
	});

	it('is normal if dead groups are solved or the sampling temperature is low', () => {
		assert.deepEqual(ids({ metrics: cold(), steps: steps(60, [right, right, alive]) }, sums()), []);
		const groups = steps(60, [right, wrong, alive]);
		assert.deepEqual(ids({ metrics: cold(), steps: groups }, sums({ temperature: 0.1 })), []);
	});
});

describe('problems that are never solved', () => {
	// Groups vary in format, so they are not dead.
	const formed = group({ reward: [0.2, 0, 0.2, 0.2, 0, 0.2, 0.2, 0.2] });
	const course = (accuracy: (i: number) => number) =>
		rows(
			80,
			but((i, noise) => ({
				'rewards/accuracy/mean': accuracy(i),
				'rewards/accuracy/std': accuracy(i) > 0 ? 0.4 : 0,
				'rewards/format/mean': 0.8 + noise(0.02),
				'rewards/format/std': 0.3,
				reward: 0.16 + noise(0.01),
				reward_std: 0.06,
				frac_reward_zero_std: 0.5,
				'eval/heldout/accuracy': undefined,
				kl: i < 60 ? 0.05 : 4,
			})),
		);

	it('are reported as too hard even if another reward varies within groups, and explain a KL blow-up', () => {
		const [alert, ...more] = alertsOf({ metrics: course(() => 0), steps: steps(80, [formed]) }, sums());
		assert.equal(alert?.id, 'dead-groups:too-hard');
		assert.equal(alert?.step, thresholds.deadBatches.value);
		assert.match(alert?.message ?? '', /^Problems are too hard: no completion is correct in 100% of the groups/);
		assert.deepEqual(alert?.recipe?.edits, [{ path: ['dataset', 'digits'], value: 2 }]);
		assert.equal(alert?.evidence.length, 5);
		assert.deepEqual(
			more.map(({ id }) => id),
			['kl-blow-up'],
		);
		assert.ok(alert?.explains?.includes('kl-blow-up'));
	});

	it('are not reported if the policy is ruined or does not mark its answers', () => {
		const ruined = ids({ metrics: course((i) => (i < 10 ? 0.4 : 0)), steps: steps(80, [formed]) }, sums());
		assert.ok(!ruined.includes('dead-groups:too-hard'), ruined.join());
		const unmarked = { ...formed, answered: fill(false) };
		const ofUnmarked = ids({ metrics: course(() => 0), steps: steps(80, [unmarked]) }, sums());
		assert.ok(!ofUnmarked.includes('dead-groups:too-hard'), ofUnmarked.join());
	});
});

describe('a reward that conflicts with correct answers', () => {
	const run: DiagnosisRun = { ...ownRun, rewards: [...ownRun.rewards, { name: 'style', weight: 20 }] };
	const course = (accuracy: (i: number) => number, style: (i: number) => number) =>
		rows(100, (i) => ({
			'rewards/accuracy/mean': accuracy(i),
			'rewards/accuracy/std': 0.4,
			'rewards/style/mean': style(i),
			'rewards/style/std': 0.2,
		}));
	const rises = (i: number) => 0.5 + i / 300;
	const editsOf = (metrics: WholeRun['metrics']) => alertsOf({ metrics }, run)[0]?.recipe?.edits;

	it('is removed if answers got worse while it rose', () => {
		const [alert] = alertsOf({ metrics: course((i) => Math.max(0.05, 0.3 - i / 100), rises) }, run);
		assert.equal(alert?.id, 'dominant-reward:style');
		assert.deepEqual(alert?.recipe?.edits, [{ path: ['rewards', 2] }]);
		assert.match(alert?.action ?? '', /^Remove "style"/);
	});

	it("is scaled to a tenth of the accuracy reward's spread if accuracy is flat", () => {
		// 0.1 x 0.4 / 0.2
		const balanced = [{ path: ['rewards', 2, 'weight'], value: 0.2 }];
		assert.deepEqual(editsOf(course(() => 0.3, rises)), balanced);
		assert.deepEqual(
			editsOf(
				course(
					(i) => Math.max(0.05, 0.3 - i / 100),
					() => 0.5,
				),
			),
			balanced,
		);
	});
});

describe('a held-out set too small to show an improvement', () => {
	const course = (margin: number) =>
		rows(80, (i, noise) => ({
			reward: 0.9 + i / 800 + noise(0.01),
			reward_std: 0.1,
			'rewards/accuracy/mean': 0.7 + i / 800,
			'rewards/format/mean': 1,
			...(i % 10 === 0
				? {
						'eval/heldout/accuracy': 0.7,
						'eval/heldout/accuracy_low': 0.7 - margin,
						'eval/heldout/accuracy_high': 0.7 + margin,
					}
				: {}),
		}));

	it('is no evidence against a reward that checks answers', () => {
		assert.deepEqual(ids({ metrics: course(0.2) }), []);
		assert.deepEqual(ids({ metrics: course(0.01) }), ['reward-hacking:eval/heldout/accuracy']);
	});
});
