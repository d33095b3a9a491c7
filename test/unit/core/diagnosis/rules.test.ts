import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Diagnosis, diagnose, type WholeRun } from '../../../../src/core/diagnosis/diagnosis.ts';
import type { DiagnosisRun } from '../../../../src/core/diagnosis/diagnosisRun.ts';
import { FactsOfRollouts } from '../../../../src/core/diagnosis/factsOfRollouts.ts';
import { editText } from '../../../../src/core/diagnosis/recipeEdits.ts';
import { rules } from '../../../../src/core/diagnosis/rules.ts';
import type { EpisodeFacts } from '../../../../src/core/diagnosis/stepFacts.ts';
import { thresholds } from '../../../../src/core/diagnosis/thresholds.ts';
import { rankAlerts, verdictOf } from '../../../../src/core/diagnosis/verdict.ts';
import { alertSchema } from '../../../../src/protocol/alert.ts';
import { decode } from '../../../../src/protocol/decode.ts';
import type { RolloutLine } from '../../../../src/protocol/rolloutLine.ts';
import { applyRecipeEdits } from '../../../support/diagnosis/applyRecipeEdits.ts';
import { alive, but, fill, foreignRun, group, healthy, ownRun, rows, steps } from './syntheticRun.ts';

const ids = (whole: WholeRun, run: DiagnosisRun = ownRun) => diagnose(run, whole).map(({ id }) => id);
const only = (whole: WholeRun, run: DiagnosisRun = ownRun) => {
	const alerts = diagnose(run, whole);
	assert.equal(alerts.length, 1, JSON.stringify(alerts.map(({ id, message }) => [id, message])));
	const [alert] = alerts;
	assert.ok(alert && decode(alertSchema, alert).ok);
	assert.match(alert.message, /\.$/);
	assert.match(alert.action ?? '', /[.?]$/);
	assert.ok(alert.step <= alert.lastStep);
	return alert;
};

describe('no rule', () => {
	it('fires on a healthy run, whatever the noise', () => {
		for (let seed = 1; seed <= 40; seed++) {
			assert.deepEqual(
				ids({ metrics: rows(600, healthy, { seed }), steps: steps(300, [alive, group()]) }),
				[],
				`${seed}`,
			);
		}
	});

	it('fires on a run with only a few batches', () => {
		const bad = but(() => ({
			frac_reward_zero_std: 1,
			entropy: 1e-6,
			kl: 50,
			'completions/clipped_ratio': 1,
			'sampling/sampling_logp_difference/mean': 3,
		}));
		assert.deepEqual(ids({ metrics: rows(8, bad), steps: steps(4, [group({ repetition: fill(1) })]) }), []);
	});

	it('fires on a cold start, an empty run, or a run without known metrics', () => {
		const cold = rows(300, () => ({ loss: 0.1, entropy: 1e-4, 'completions/clipped_ratio': 1 }), { stage: 'sft' });
		assert.deepEqual(ids({ metrics: cold }), []);
		assert.deepEqual(ids({ metrics: [] }), []);
		assert.deepEqual(ids({ metrics: rows(300, (i) => ({ mine: i, 'rewards//mean': null })) }, foreignRun), []);
	});

	it('detects collapse in stages without sampling, but NaN loss is reported in every stage', () => {
		for (const stage of ['sft', 'distill', 'dpo', 'reward-model']) {
			const falling = rows(300, (i) => ({ loss: 0.1, entropy: i < 40 ? 1 : 1e-4, kl: i < 40 ? 0.01 : 90 }), { stage });
			assert.deepEqual(ids({ metrics: falling }), [], stage);
			const broken = rows(60, (i) => ({ loss: i < 30 ? 0.1 : null }), { stage });
			const [alert, ...more] = diagnose(ownRun, { metrics: broken });
			assert.deepEqual([alert?.rule, alert?.lastStep, more.length], ['not-a-number', 60, 0], stage);
		}
	});

	it('except those for dead groups and truncation fires on a run that never earns a reward', () => {
		const nothing = rows(600, (i) => ({
			reward: 0,
			reward_std: 0,
			'rewards/accuracy/mean': 0,
			'rewards/accuracy/std': 0,
			'rewards/format/mean': 0,
			'rewards/format/std': 0,
			frac_reward_zero_std: 1,
			entropy: 0.5,
			loss: 0,
			grad_norm: 0,
			'completions/mean_length': 4,
			'completions/clipped_ratio': 1,
			...(i % 50 === 0 ? { 'eval/heldout/accuracy': 0 } : {}),
		}));
		assert.deepEqual(ids({ metrics: nothing }).toSorted(), ['dead-groups', 'overlong']);
	});

	it('mistakes the end of one stage for the start of the next', () => {
		const first = rows(
			100,
			but(() => ({ entropy: 3, 'completions/mean_length': 20, 'throughput/tokens': 1e6 })),
		);
		const second = rows(200, healthy, { from: 101, stage: 'grpo-2' });
		assert.deepEqual(ids({ metrics: [...first, ...second] }), []);
	});
});

describe('dead groups', () => {
	const dead = but((_, noise) => ({ frac_reward_zero_std: Math.min(1, 0.9 + noise(0.05)) }));
	const causes = [
		['solved', group({ reward: fill(1), correct: fill(true) }), 'info', ['dataset']],
		['too-hard', group(), 'warning', ['dataset']],
		[
			'truncated',
			group({ truncated: fill(true), answered: fill(false) }),
			'warning',
			['stages', 1, 'max_completion_length'],
		],
		['parse-failed', group({ answered: fill(false) }), 'warning', ['rewards']],
		['alike', group({ distinct: 2 }), 'warning', ['stages', 1, 'temperature']],
	] as const;

	for (const [cause, facts, level, path] of causes) {
		it(`are reported with their cause: ${cause}`, () => {
			const alert = only({ metrics: rows(60, dead), steps: steps(60, [facts, facts, facts, alive]) });
			assert.equal(alert.id, `dead-groups:${cause}`);
			assert.equal(alert.level, level);
			assert.deepEqual(alert.recipe?.path, path);
			assert.ok(alert.evidence.length > 0 && alert.evidence.every((place) => place.group !== 3));
			assert.equal(alert.lastStep, 60);
		});
	}

	it('are reported without a cause if there are no rollouts or causes differ', () => {
		assert.equal(only({ metrics: rows(60, dead) }).id, 'dead-groups');
		const mixed = causes.map(([, facts]) => facts);
		assert.equal(only({ metrics: rows(60, dead), steps: steps(60, mixed) }).id, 'dead-groups');
	});

	it('are counted from rollouts if there is no metric', () => {
		const metrics = rows(
			60,
			but(() => ({ frac_reward_zero_std: undefined })),
		);
		assert.equal(only({ metrics, steps: steps(60, [...fill(group(), 9), alive]) }).id, 'dead-groups:too-hard');
		assert.deepEqual(ids({ metrics, steps: steps(60, [group(), alive]) }), []);
	});

	it('are summed from all-correct and all-incorrect groups', () => {
		const metrics = rows(
			60,
			but(() => ({ frac_reward_zero_std: undefined, 'groups/solved_all': 0.1, 'groups/solved_none': 0.8 })),
		);
		assert.equal(only({ metrics }).id, 'dead-groups');
	});

	it('have a cause based on the reward scale if no reward checks answers', () => {
		const unjudged = (reward: number) => group({ correct: fill(null), answered: fill(null), reward: fill(reward) });
		const some = group({ correct: fill(null), answered: fill(null), reward: [-1, 2, 2, -1, -1, 2, 2, 2] });
		const of = (reward: number) =>
			only({ metrics: rows(60, dead), steps: steps(60, [...fill(unjudged(reward), 9), some]) }, foreignRun).id;
		assert.equal(of(2), 'dead-groups:solved');
		assert.equal(of(-1), 'dead-groups:too-hard');
		assert.equal(of(0.5), 'dead-groups');
	});

	it('are called correct or incorrect only if a reward checks answers', () => {
		const facts = { correct: fill(null), answered: fill(null) };
		const some = group({ ...facts, reward: [-1, 2, 2, -1, -1, 2, 2, 2] });
		const alertOf = (of: Partial<Parameters<typeof group>[0]>) =>
			only({ metrics: rows(60, dead), steps: steps(60, [...fill(group({ ...facts, ...of }), 9), some]) }, foreignRun)
				.message;
		for (const message of [
			alertOf({ reward: fill(2) }),
			alertOf({ reward: fill(-1) }),
			alertOf({ reward: fill(1), distinct: 1 }),
		]) {
			assert.doesNotMatch(message, /\b(right|wrong)\b/);
		}
		const judged = only({ metrics: rows(60, dead), steps: steps(60, [...fill(group(), 9), alive]) });
		assert.match(judged.message, /no completion is correct/);
	});

	it('are not reported if there are few of them, or only briefly', () => {
		const few = but((_, noise) => ({ frac_reward_zero_std: Math.max(0, 0.6 + noise(0.2)) }));
		assert.deepEqual(ids({ metrics: rows(200, few) }), []);
		const once = but((i) => (i % 40 < 4 ? { frac_reward_zero_std: 1 } : {}));
		assert.deepEqual(ids({ metrics: rows(200, once) }), []);
	});

	it('stop being reported when groups are informative again', () => {
		const alert = only({
			metrics: rows(
				200,
				but((i) => (i < 60 ? { frac_reward_zero_std: 1 } : {})),
			),
		});
		assert.ok(alert.lastStep < 90, `${alert.lastStep}`);
	});
});

describe('entropy collapse', () => {
	const stuck = (entropy: (i: number) => number) =>
		but((i, noise) => ({
			entropy: entropy(i),
			reward: 0.4 + noise(0.03),
			'rewards/accuracy/mean': 0.4 + noise(0.03),
			'eval/heldout/accuracy': undefined,
		}));
	const collapse = (i: number) => 0.3 * Math.exp(-i / 15) + 1e-4;

	it('is reported when reward stops rising', () => {
		const alert = only({ metrics: rows(200, stuck(collapse)) });
		assert.equal(alert.rule, 'entropy-collapse');
		assert.match(alert.message, /nats per token .*\(accuracy 0\.\d/);
		assert.deepEqual(alert.recipe?.path, ['stages', 1, 'epsilon_high']);
	});

	it('is not reported while reward rises, once the task is solved, or above the floor', () => {
		const rising = but((i) => ({
			entropy: collapse(i),
			reward: 0.1 + i / 250,
			'rewards/accuracy/mean': 0.1 + i / 250,
		}));
		assert.deepEqual(ids({ metrics: rows(200, rising) }), []);
		const solved = but((i) => ({
			entropy: collapse(i),
			reward: 1.19,
			'rewards/accuracy/mean': 0.99,
			'eval/heldout/accuracy': undefined,
		}));
		assert.deepEqual(ids({ metrics: rows(200, solved) }), []);
		assert.deepEqual(
			ids({
				metrics: rows(
					200,
					stuck((i) => 0.06 + 0.9 * Math.exp(-i / 15)),
				),
			}),
			[],
		);
		assert.deepEqual(
			ids({
				metrics: rows(
					200,
					stuck(() => 0.02),
				),
			}),
			[],
		);
	});
});

describe('KL blow-up', () => {
	it('is reported with the level before it', () => {
		const alert = only({
			metrics: rows(
				200,
				but((i, noise) => (i < 120 ? {} : { kl: 3 + noise(0.5) })),
			),
		});
		assert.equal(alert.id, 'kl-blow-up');
		assert.equal(alert.level, 'warning');
		assert.ok(alert.step > 120 && alert.step < 130, `${alert.step}`);
		assert.equal(alert.lastStep, 200);
		assert.deepEqual(alert.recipe?.path, ['stages', 1, 'learning_rate']);
		assert.equal(
			only({
				metrics: rows(
					200,
					but((i) => (i < 120 ? {} : { kl: 40 })),
				),
			}).level,
			'error',
		);
	});

	it('is not reported for spikes, for a constant level, or for slow growth below the limit', () => {
		assert.deepEqual(
			ids({
				metrics: rows(
					200,
					but((i) => (i % 7 === 0 ? { kl: 500 } : {})),
				),
			}),
			[],
		);
		assert.deepEqual(
			ids({
				metrics: rows(
					200,
					but(() => ({ kl: 4 })),
				),
			}),
			[],
		);
		assert.deepEqual(
			ids({
				metrics: rows(
					400,
					but((i) => ({ kl: 0.002 * i })),
				),
			}),
			[],
		);
	});

	it('ends with its stage, even if the next one measures no KL to a reference', () => {
		const high = but((i) => (i < 120 ? {} : { kl: 40 }));
		const next = but(() => ({ kl: undefined, policy_kl: 0.001 }));
		const [alert] = diagnose(ownRun, {
			metrics: [...rows(200, high), ...rows(30, next, { from: 201, stage: 'rl' })],
		});
		assert.equal(alert?.id, 'kl-blow-up');
		assert.equal(alert.lastStep, 200);
	});

	it('is distinguished from updates that are too large', () => {
		assert.equal(
			only({
				metrics: rows(
					100,
					but(() => ({ policy_kl: -0.3 })),
				),
			}).id,
			'kl-blow-up:update',
		);
		assert.deepEqual(
			ids({
				metrics: rows(
					100,
					but((i) => ({ policy_kl: i % 5 === 0 ? 2 : 0.001 })),
				),
			}),
			[],
		);
	});
});

describe('length drift', () => {
	const flat = { reward: 0.6, 'rewards/accuracy/mean': 0.42, 'eval/heldout/accuracy': undefined };

	it('is reported when completions get longer without benefit', () => {
		const metrics = rows(
			300,
			but((i) => ({ ...flat, 'completions/mean_length': 100 + i })),
		);
		const alert = only({ metrics, steps: steps(300, [alive]) });
		assert.equal(alert.id, 'length-drift:longer');
		assert.ok(alert.evidence.length > 0);
	});

	it('is reported when completions get shorter and reward falls', () => {
		const metrics = rows(
			300,
			but((i) => ({ ...flat, reward: 0.9 - i / 400, 'completions/mean_length': Math.max(5, 200 - i) })),
		);
		// Reward is also below its starting value; ranking decides which alert comes first.
		assert.deepEqual(ids({ metrics }), ['learning-rate-high', 'length-drift:shorter']);
	});

	it('is not reported if length improves reward, if short answers earn as much, or without a standard deviation to compare with', () => {
		const pays = but((i) => ({ ...flat, reward: 0.1 + i / 200, 'completions/mean_length': 100 + 3 * i }));
		assert.deepEqual(ids({ metrics: rows(300, pays) }), []);
		const brief = but((i) => ({ ...flat, 'completions/mean_length': Math.max(5, 200 - i) }));
		assert.deepEqual(ids({ metrics: rows(300, brief) }), []);
		const unknown = but((i) => ({ ...flat, reward_std: undefined, 'completions/mean_length': 100 + i }));
		assert.deepEqual(ids({ metrics: rows(300, unknown) }), []);
	});
});

describe('an environment', () => {
	const episode = (facts: Partial<EpisodeFacts> = {}): EpisodeFacts => ({ calls: 2, failures: 0, cut: null, ...facts });
	const tools = (calls: number, failed: number) =>
		but((_, noise) => ({
			'tools/call_frequency': Math.max(0, calls + noise(calls / 20)),
			'tools/failure_frequency': Math.max(0, failed + noise(0.02)),
		}));
	const half = <T>(a: T, b: T): T[] => [...fill(a, 4), ...fill(b, 4)];

	it('causes no alert if its tools work', () => {
		const fine = group({ episodes: half(episode(), episode({ failures: 1 })), reward: half(1, 0) });
		assert.deepEqual(ids({ metrics: rows(200, tools(2, 0.1)), steps: steps(200, [fine, alive]) }), []);
	});

	it('whose tool calls fail is reported, unless failures are decreasing', () => {
		const failing = group({ episodes: fill(episode({ failures: 2 })), reward: half(1, 0) });
		const alert = only({ metrics: rows(60, tools(2, 0.8)), steps: steps(60, [failing]) });
		assert.equal(alert.id, 'tool-errors');
		assert.match(alert.message, /^(79|80|81)% of the tool calls/);
		assert.ok(alert.evidence.length > 0);
		const learning = but((i) => ({ 'tools/call_frequency': 2, 'tools/failure_frequency': 0.95 - i / 100 }));
		assert.deepEqual(ids({ metrics: rows(40, learning) }), []);
		const none = but(() => ({ 'tools/call_frequency': 0, 'tools/failure_frequency': 1 }));
		assert.deepEqual(ids({ metrics: rows(60, none) }), ['tool-unused']);
	});

	it('whose tools are never called is reported', () => {
		const alert = only({ metrics: rows(60, tools(0.01, 0)) });
		assert.deepEqual([alert.id, alert.recipe?.path], ['tool-unused', ['stages']]);
		assert.deepEqual(ids({ metrics: rows(60, tools(0.2, 0)) }), []);
	});

	it('whose episodes are cut short is reported with the limit', () => {
		const cut = (by: EpisodeFacts['cut']) => [
			group({ episodes: half(episode(), episode({ cut: by })), reward: half(1, 0) }),
		];
		const long = only({ metrics: rows(60, tools(2, 0)), steps: steps(60, cut('length')) });
		assert.deepEqual([long.id, long.recipe?.path], ['cut-episodes:length', ['stages', 1, 'max_completion_length']]);
		assert.match(long.message, /^50% of the episodes in the last 3 steps were cut short, most of them by .* of 64\.$/);
		const run = { ...ownRun, maxTurns: 4 };
		const turns = only({ metrics: rows(60, tools(2, 0)), steps: steps(60, cut('turns')) }, run);
		assert.deepEqual(turns.recipe?.edits, [{ path: ['environment', 'maxTurns'], value: 8 }]);
		assert.ok(turns.evidence.every(({ index }) => index === 4));
		assert.deepEqual(ids({ metrics: rows(60, tools(2, 0)), steps: steps(2, cut('turns')) }), []);
	});

	it('that rewards episodes without tool calls is reported', () => {
		const episodes = half(episode(), episode({ calls: 0 }));
		const paid = (reward: number[]) => ({
			metrics: rows(60, tools(1, 0)),
			steps: steps(60, [group({ episodes, reward })]),
		});
		const alert = only(paid(half(0.8, 0.8).with(0, 0.9)));
		assert.equal(alert.id, 'reward-without-tool');
		assert.match(alert.message, /without a tool call earn a mean reward of 0\.8, and those with calls earn 0\.825/);
		assert.ok(alert.evidence.every(({ index }) => index === 4));
		assert.deepEqual(ids(paid(half(0.8, 0.4))), []);
		assert.deepEqual(ids(paid(half(0, 0))), []);
	});

	it('is read from rollouts of any trainer', () => {
		const line = (group: number, index: number, more: Partial<RolloutLine>): RolloutLine => ({
			...{ step: 1, stage: 'train', group, index, prompt: 'p', completion: 'text', rewards: {}, reward: 1 },
			...{ advantage: null, truncated: null, ...more },
		});
		const called = [
			{ role: 'assistant', content: '', tool_calls: [{ name: 'add', arguments: {} }] },
			{ role: 'tool', content: 'Error: x' },
		];
		const facts = new FactsOfRollouts(null);
		facts.add(line(0, 0, { completion: called }));
		facts.add(line(0, 1, {}));
		facts.add(line(1, 0, { extra: { episode: { calls: 3, failures: 1, stop: 'turns' } } }));
		facts.add(line(2, 0, {}));
		assert.deepEqual(
			facts.of(1).groups.map(({ episodes }) => episodes),
			[
				[episode({ calls: 1, failures: 1 }), episode({ calls: 0 })],
				[episode({ calls: 3, failures: 1, cut: 'turns' })],
				undefined,
			],
		);
	});

	it('is reported if it is slower than the model', () => {
		const slow = (values: object) =>
			rows(
				60,
				but(() => ({ 'time/generate': 2, ...values })),
			);
		const alert = only({ metrics: slow({ 'time/environment': 3, 'environment/seconds': 9 }) });
		assert.deepEqual([alert.id, alert.level], ['environment-slow', 'info']);
		assert.match(alert.message, /takes 3 s per batch .* sampling takes 2 s/);
		// Part of sampling, if it is not a separate phase.
		assert.deepEqual(ids({ metrics: slow({ 'environment/seconds': 1.2 }) }), ['environment-slow']);
		assert.deepEqual(ids({ metrics: slow({ 'environment/seconds': 0.8 }) }), []);
		assert.deepEqual(ids({ metrics: slow({ 'time/environment': 1.2, 'environment/seconds': 1.2 }) }), []);
	});
});

describe('overlong completions', () => {
	it('are reported with truncated rollouts', () => {
		const cut = group({ reward: [1, 0, 0, 0, 0, 0, 0, 0], truncated: [false, ...fill(true, 7)] });
		const metrics = rows(
			100,
			but((_, noise) => ({ 'completions/clipped_ratio': 0.4 + noise(0.05) })),
		);
		const alert = only({ metrics, steps: steps(100, [cut, alive]) });
		assert.equal(alert.id, 'overlong');
		assert.match(alert.message, /40%|39%|41%/);
		assert.match(alert.recipe?.suggestion ?? '', /128/);
		assert.ok(alert.evidence.every((place) => place.group === 0 && place.index === 1));
	});

	it('are not reported while they are decreasing or below the limit', () => {
		assert.deepEqual(
			ids({
				metrics: rows(
					60,
					but((i) => ({ 'completions/clipped_ratio': Math.max(0.02, 0.9 - i / 40) })),
				),
			}),
			[],
		);
		assert.deepEqual(
			ids({
				metrics: rows(
					200,
					but(() => ({ 'completions/clipped_ratio': 0.2 })),
				),
			}),
			[],
		);
	});
});

describe('a dominant reward', () => {
	const run: DiagnosisRun = {
		...ownRun,
		rewards: [
			{ name: 'accuracy', weight: 1 },
			{ name: 'brevity', weight: 2 },
		],
	};
	const dominated = (accuracy: (i: number) => number, deviation = 0.05) =>
		rows(300, (i, noise) => ({
			'rewards/accuracy/mean': accuracy(i),
			'rewards/accuracy/std': deviation,
			'rewards/brevity/mean': -0.4 + noise(0.1),
			'rewards/brevity/std': 0.5 + noise(0.05),
		}));

	it('is reported with its share and its line in the recipe', () => {
		const alert = only({ metrics: dominated(() => 0.02) }, run);
		assert.equal(alert.id, 'dominant-reward:brevity');
		assert.deepEqual(alert.recipe?.path, ['rewards', 1, 'weight']);
		assert.match(alert.message, /100%|99%/);
		assert.equal(only({ metrics: dominated(() => 0.02) }, foreignRun).recipe, null);
	});

	it('is not reported if accuracy improves, is high or accounts for its share of variance, or if no reward is known to check answers', () => {
		assert.deepEqual(ids({ metrics: dominated((i) => 0.02 + i / 400) }, run), []);
		assert.deepEqual(ids({ metrics: dominated(() => 0.95) }, run), []);
		assert.deepEqual(ids({ metrics: dominated(() => 0.3, 0.5) }, run), []);
		const unnamed = dominated(() => 0.02).map((line) => ({
			...line,
			values: Object.fromEntries(Object.entries(line.values).map(([k, v]) => [k.replace('accuracy', 'thing'), v])),
		}));
		assert.deepEqual(ids({ metrics: unnamed }, foreignRun), []);
	});

	it('is not reported if the correctness reward is only recorded', () => {
		const recorded = { ...run, rewards: run.rewards.map((one, i) => (i === 0 ? { ...one, weight: 0 } : one)) };
		assert.deepEqual(ids({ metrics: dominated(() => 0.02) }, recorded), []);
	});
});

describe('format without answers', () => {
	const course = (format: (i: number) => number, accuracy: (i: number) => number) =>
		rows(300, (i, noise) => ({
			'rewards/accuracy/mean': Math.max(0, accuracy(i) + noise(0.01)),
			'rewards/format/mean': format(i),
		}));
	const learns = (i: number) => Math.min(0.98, i / 50);

	it('is reported when the format was learned long ago', () => {
		const alert = only({ metrics: course(learns, () => 0.03), steps: steps(300, [alive]) });
		assert.equal(alert.id, 'format-without-accuracy');
		assert.ok(alert.step > 100);
		assert.ok(alert.evidence.every((place) => alive.correct[place.index ?? 0] === false));
	});

	it('is not reported while answers improve, when they are mostly correct, or before the format is learned', () => {
		assert.deepEqual(ids({ metrics: course(learns, (i) => 0.03 + i / 600) }), []);
		assert.deepEqual(ids({ metrics: course(learns, () => 0.4) }), []);
		assert.deepEqual(
			ids({
				metrics: course(
					() => 0.5,
					() => 0.03,
				),
			}),
			[],
		);
		assert.deepEqual(
			ids({
				metrics: course(
					(i) => (i % 60 < 30 ? 0.95 : 0.4),
					() => 0.03,
				),
			}),
			[],
		);
	});
});

describe('reward hacking', () => {
	const course = (heldOut: (i: number) => number, reward: (i: number) => number, more = {}) =>
		rows(400, (i, noise) => ({
			reward: reward(i) + noise(0.03),
			reward_std: 0.3,
			...more,
			...(i % 20 === 0 ? { 'eval/heldout/accuracy': heldOut(i) } : {}),
		}));
	const rises = (i: number) => 0.2 + i / 500;

	it('is reported when reward rises and held-out accuracy does not', () => {
		const facts = group({ reward: [1, 1, 0, 0, 0, 0, 0, 0] });
		const alert = only({ metrics: course(() => 0.4, rises), steps: steps(400, [facts]) });
		assert.equal(alert.id, 'reward-hacking:eval/heldout/accuracy');
		assert.equal(alert.level, 'warning');
		assert.ok(alert.evidence.every((place) => (place.index ?? 9) < 2));
	});

	it('is an error when held-out accuracy falls, and names the component that rose', () => {
		const metrics = rows(400, (i, noise) => ({
			reward: rises(i) + noise(0.03),
			reward_std: 0.3,
			'rewards/accuracy/mean': 0.4,
			'rewards/length/mean': i / 500,
			...(i % 20 === 0 ? { 'eval/heldout/accuracy': 0.6 - i / 1000 } : {}),
		}));
		const alert = only({ metrics });
		assert.equal(alert.level, 'error');
		assert.match(alert.message, /"length" rose most/);
	});

	it('reads evaluations reported separately from the metrics, each once', () => {
		const metrics = course(() => 0.4, rises).map((line) => ({ ...line, values: { ...line.values } }));
		for (const line of metrics) delete (line.values as Record<string, unknown>)['eval/heldout/accuracy'];
		const evaluations = Array.from({ length: 20 }, (_, i) => ({
			name: 'heldout',
			step: 1 + 20 * i,
			problems: 256,
			samples: 1,
			temperature: 1,
			accuracy: 0.4,
			low: 0.35,
			high: 0.45,
		}));
		assert.equal(only({ metrics, evaluations }).rule, 'reward-hacking');
	});

	it('is not reported if both rise, both are flat, the format is learned first, or the task is solved', () => {
		assert.deepEqual(ids({ metrics: course((i) => 0.2 + i / 600, rises) }), []);
		assert.deepEqual(
			ids({
				metrics: course(
					() => 0.4,
					() => 0.5,
				),
			}),
			[],
		);
		assert.deepEqual(ids({ metrics: course(() => 0.97, rises) }), []);
		assert.deepEqual(ids({ metrics: course(() => 0.4, rises, { reward_std: 0 }) }), []);
		const form = rows(400, (i) => ({
			reward: rises(i),
			reward_std: 0.3,
			'rewards/accuracy/mean': i < 200 ? 0.3 : 0.3 + (i - 200) / 500,
			'rewards/format/mean': Math.min(0.89, i / 100),
			...(i % 20 === 0 ? { 'eval/heldout/accuracy': i < 200 ? 0.3 : 0.3 + (i - 200) / 500 } : {}),
		}));
		assert.deepEqual(ids({ metrics: form }), []);
	});
});

describe('repeated n-grams', () => {
	it('are reported with the completions that contain them', () => {
		const looping = group({ repetition: [0.9, 0.8, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1], reward: [0, 0, 1, 0, 0, 0, 0, 0] });
		const alert = only({ metrics: rows(20, healthy), steps: steps(20, [looping, alive]) });
		assert.equal(alert.id, 'repetition');
		assert.ok(alert.evidence.every((place) => place.group === 0 && place.index === 0));
		assert.deepEqual(alert.recipe?.path, ['rewards']);
	});

	it('are not reported if there are few', () => {
		const few = group({ repetition: [0.9, ...fill(0.3, 7)], reward: [1, ...fill(0, 7)] });
		assert.deepEqual(ids({ metrics: rows(20, healthy), steps: steps(20, [few, alive, alive]) }), []);
	});
});

describe('NaN', () => {
	it('is reported immediately for the loss, and for other metrics once they have had values', () => {
		const alert = only({
			metrics: rows(
				60,
				but((i) => (i > 40 ? { loss: null, grad_norm: null } : {})),
			),
		});
		assert.equal(alert.id, 'not-a-number:update');
		assert.equal(alert.level, 'error');
		assert.equal(alert.step, 43);
		assert.equal(only({ metrics: rows(5, () => ({ loss: null })) }, foreignRun).step, 2);
		assert.equal(
			only({
				metrics: rows(
					60,
					but((i) => (i > 40 ? { reward: null } : {})),
				),
			}).id,
			'not-a-number:reward',
		);
	});

	it('is not reported for a single update, or for a metric that never had a value', () => {
		assert.deepEqual(
			ids({
				metrics: rows(
					200,
					but((i) => (i % 30 === 3 ? { grad_norm: null } : {})),
				),
			}),
			[],
		);
		assert.deepEqual(
			ids({
				metrics: rows(
					200,
					but(() => ({ kl: null })),
				),
			}),
			[],
		);
	});
});

describe('sampler mismatch', () => {
	it('is reported for each of its metrics', () => {
		for (const [metric, value] of [
			['sampling/mismatch_kl', 0.02],
			['sampling/sampling_logp_difference/mean', 0.08],
			['sampling/importance_sampling_ratio/mean', 0.8],
		] as const) {
			const alert = only({
				metrics: rows(
					40,
					but((_, noise) => ({ [metric]: value + noise(0.001) })),
				),
			});
			assert.equal(alert.id, 'sampler-mismatch');
			assert.deepEqual(alert.metrics, [metric]);
			assert.equal(alert.level, 'warning');
		}
		assert.equal(
			only({
				metrics: rows(
					40,
					but(() => ({ 'sampling/mismatch_kl': 0.5 })),
				),
			}).level,
			'error',
		);
	});

	it('is reported for samples that are stale on purpose only when the policy has moved far from them', () => {
		const stale = (difference: number) => ({
			metrics: rows(
				40,
				but((_, noise) => ({
					'sample/staleness_max': 8,
					'sampling/sampling_logp_difference/mean': difference + noise(0.001),
				})),
			),
		});
		assert.deepEqual(ids(stale(0.2)), []);
		const alert = only(stale(0.6));
		assert.equal(alert.level, 'warning');
		assert.match(alert.action ?? '', /8 updates old .* Lower "max_staleness"/);
	});

	it('is not reported at the usual difference between server and trainer, or for single tokens', () => {
		const usual = but((_, noise) => ({
			'sampling/mismatch_kl': 0.001 + noise(0.0005),
			'sampling/sampling_logp_difference/mean': 0.012,
			'sampling/sampling_logp_difference/max': 14,
			'sampling/importance_sampling_ratio/mean': 1.003,
			'sampling/importance_sampling_ratio/max': 9,
		}));
		assert.deepEqual(ids({ metrics: rows(200, usual) }), []);
	});
});

describe('a throughput drop', () => {
	it('is reported at level "info" until it ends', () => {
		const slow = but((i, noise) => (i > 120 && i < 220 ? { 'throughput/tokens': 6000 + noise(1000) } : {}));
		const alert = only({ metrics: rows(400, slow) });
		assert.equal(alert.id, 'throughput-drop');
		assert.equal(alert.level, 'info');
		assert.ok(alert.step < 160 && alert.lastStep < 260, `${alert.step} ${alert.lastStep}`);
	});

	it('is computed from tokens and time if there is no metric', () => {
		let tokens = 0;
		const metrics = rows(300, (i) => {
			tokens += 1000;
			return { num_tokens: tokens, step_time: i < 150 ? 1 : 4 };
		});
		assert.equal(only({ metrics }, foreignRun).id, 'throughput-drop');
	});

	it('is not reported for brief dips, as during checkpoints and evaluations, or for half the speed', () => {
		assert.deepEqual(
			ids({
				metrics: rows(
					300,
					but((i) => (i % 5 === 0 ? { 'throughput/tokens': 100 } : {})),
				),
			}),
			[],
		);
		const half = but((i, noise) => ({ 'throughput/tokens': (i < 150 ? 25_000 : 12_500) + noise(2000) }));
		assert.deepEqual(ids({ metrics: rows(300, half) }), []);
	});
});

describe('the rules', () => {
	it('have unique names and use every threshold', () => {
		assert.equal(new Set(rules.map(({ name }) => name)).size, rules.length);
		const used = new Set(rules.flatMap((rule) => [...rule.thresholds]));
		assert.deepEqual(
			Object.keys(thresholds).filter((name) => !used.has(name as keyof typeof thresholds)),
			[],
		);
		for (const rule of rules) {
			for (const [, name] of `${rule.fires} ${rule.silent}`.matchAll(/`([a-zA-Z]+)`/g)) {
				const isThreshold = Object.hasOwn(thresholds, name as string);
				if (isThreshold)
					assert.ok((rule.thresholds as readonly string[]).includes(name as string), `${rule.name}: ${name}`);
			}
		}
	});
});

describe('a learning rate that is too high', () => {
	/** GRPO at ten times a good learning rate: reward and accuracy fall within a few updates, and KL rises. */
	const ruined = (extra: Record<string, number | undefined> = {}) =>
		but((i, noise) => ({
			reward: Math.max(0, i < 1 ? 0.42 : 0.2 + 0.2 * Math.exp(-i / 2)) + noise(0.03),
			reward_std: i < 8 ? 0.45 : 0.15,
			'rewards/accuracy/mean': i < 3 ? 0.22 : 0,
			'rewards/accuracy/std': i < 3 ? 0.4 : 0.01,
			frac_reward_zero_std: i < 5 ? 0.2 : 0.9,
			kl: 1.45 * (1 - Math.exp(-i / 4)),
			'eval/heldout/accuracy': i % 20 === 0 ? (i === 0 ? 0.22 : 0) : undefined,
			...extra,
		}));

	it('ranks first, with a suggested rate, above the dead groups it causes', () => {
		for (let seed = 1; seed <= 10; seed++) {
			const diagnosis = new Diagnosis(ownRun);
			for (const facts of steps(60, [group(), group()])) diagnosis.addStep(facts);
			diagnosis.addMetrics(rows(60, ruined(), { seed }));
			const { alerts, summary, kind } = verdictOf(diagnosis);
			assert.equal(kind, 'alerts');
			assert.equal(alerts[0]?.id, 'learning-rate-high', `${seed}`);
			assert.ok(alerts.some(({ rule }) => rule === 'dead-groups'));
			assert.match(summary, /^Most likely cause: learning rate too high \(since step 2\d; /);
			assert.deepEqual(alerts[0]?.recipe?.edits, [{ path: ['stages', 1, 'learning_rate'], value: 1e-5 }]);
		}
	});

	it("names the missing KL term if beta is 0, and suggests no edits for other trainers' runs", () => {
		const stage = { type: 'grpo', settings: { learning_rate: 1e-3, beta: 0 } };
		const free = { ...ownRun, stages: [stage] };
		const [alert] = diagnose(free, { metrics: rows(60, ruined({ kl: undefined })) });
		assert.equal(alert?.id, 'learning-rate-high:no-kl');
		assert.deepEqual(alert?.recipe?.edits, [
			{ path: ['stages', 0, 'learning_rate'], value: 1e-4 },
			{ path: ['stages', 0, 'beta'], value: 0.04 },
		]);
		assert.equal(diagnose(foreignRun, { metrics: rows(60, ruined()) })[0]?.recipe, null);
	});

	it('is also detected from held-out accuracy alone, but not if reward rises', () => {
		const heldOut = (rise: number) =>
			but((i, noise) => ({
				reward: 0.4 + rise * Math.min(1, i / 30) + noise(0.05),
				reward_std: 0.4,
				'eval/heldout/accuracy': i % 10 === 0 ? (i === 0 ? 0.5 : 0.1) : undefined,
				'eval/heldout/accuracy_low': i % 10 === 0 ? (i === 0 ? 0.44 : 0.06) : undefined,
				'eval/heldout/accuracy_high': i % 10 === 0 ? (i === 0 ? 0.56 : 0.15) : undefined,
			}));
		assert.equal(diagnose(ownRun, { metrics: rows(40, heldOut(0)) })[0]?.rule, 'learning-rate-high');
		assert.ok(!ids({ metrics: rows(60, heldOut(0.4)) }).includes('learning-rate-high'));
	});

	it('is not detected in noise, however few completions a batch has', () => {
		for (let seed = 1; seed <= 200; seed++) {
			const flat = rows(100, (_, noise) => ({ reward: 0.4 + noise(0.2), reward_std: 0.45 }), { seed });
			assert.deepEqual(ids({ metrics: flat }), [], `${seed}`);
		}
	});
});

describe('a verdict', () => {
	it('does not call a run healthy if it is too short to judge', () => {
		const diagnosis = new Diagnosis(ownRun);
		diagnosis.addMetrics(rows(6, () => ({ reward: 0, reward_std: 0, frac_reward_zero_std: 1 })));
		assert.deepEqual(verdictOf(diagnosis), {
			kind: 'short',
			summary: 'Too few batches to diagnose (6 of 20).',
			alerts: [],
		});
		diagnosis.addMetrics(rows(30, healthy, { from: 7 }));
		assert.deepEqual(verdictOf(diagnosis), { kind: 'clear', summary: 'No issues detected.', alerts: [] });
	});

	it('reports that there are no batches to diagnose if nothing is sampled', () => {
		const diagnosis = new Diagnosis(ownRun);
		diagnosis.addMetrics(rows(60, () => ({ loss: 0.1 }), { stage: 'sft' }));
		assert.match(verdictOf(diagnosis).summary, /^No generation batches to diagnose/);
	});

	it('counts batches rather than updates, and rollouts if there are no metrics', () => {
		const updates = new Diagnosis(ownRun);
		updates.addMetrics(rows(60, (i) => (i % 4 === 0 ? { reward: 0.5 } : { loss: 0.1 })));
		assert.equal(updates.batches, 15);
		const rollouts = new Diagnosis(foreignRun);
		for (const facts of steps(25, [alive])) rollouts.addStep(facts);
		assert.equal(rollouts.batches, 25);
	});

	it('ranks ongoing alerts first, then by cause, then by level', () => {
		const alert = (rule: string, level: 'info' | 'warning' | 'error', step = 20, holds = true) => ({
			...{ id: rule, rule, level, step, lastStep: 60, holds },
		});
		const ranked = rankAlerts(
			[
				alert('throughput-drop', 'info'),
				alert('dead-groups', 'warning'),
				alert('not-a-number', 'error', 20, false),
				alert('kl-blow-up', 'error'),
				alert('learning-rate-high', 'warning', 40),
			],
			(one) => one,
			({ holds }) => holds,
		);
		assert.deepEqual(
			ranked.map(({ id }) => id),
			['learning-rate-high', 'throughput-drop', 'kl-blow-up', 'dead-groups', 'not-a-number'],
		);
	});
});

describe('recipe edits', () => {
	it('set, append and remove values on a copy', () => {
		const recipe = { stages: [{ type: 'grpo', beta: 0 }], rewards: [{ use: 'accuracy' }, { use: 'format' }] };
		const edited = applyRecipeEdits(recipe, [
			{ path: ['stages', 0, 'beta'], value: 0.04 },
			{ path: ['rewards', 1] },
			{ path: ['rewards', 1], value: { use: 'repetition' } },
			{ path: ['scoring', 'rowSeconds'], value: 1 },
			{ path: ['__proto__', 'x'], value: 1 },
			{ path: ['stages', 0, 'beta', 'x'], value: 1 },
		]);
		assert.deepEqual(edited, {
			stages: [{ type: 'grpo', beta: 0.04 }],
			rewards: [{ use: 'accuracy' }, { use: 'repetition' }],
			scoring: { rowSeconds: 1 },
		});
		assert.equal(recipe.rewards.length, 2);
		assert.equal(({} as { x?: number }).x, undefined);
		assert.equal(editText({ path: ['stages', 0, 'beta'], value: 0.04 }), 'set stages.0.beta to 0.04');
		assert.equal(editText({ path: ['rewards', 1] }), 'remove rewards.1');
		assert.equal(
			editText({ path: ['dataset', 'exclude'], value: Array.from({ length: 300 }, (_, i) => `${i}+1=`) }),
			'set dataset.exclude to a list of 300 items: "0+1=", "1+1=", "2+1=", "3+1=", "4+1=", ...',
		);
	});
});
