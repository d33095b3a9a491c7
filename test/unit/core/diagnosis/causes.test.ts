import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Diagnosis, type WholeRun } from '../../../../src/core/diagnosis/diagnosis.ts';
import type { DiagnosisRun } from '../../../../src/core/diagnosis/diagnosisRun.ts';
import { FactsOfRollouts } from '../../../../src/core/diagnosis/factsOfRollouts.ts';
import type { GroupFacts } from '../../../../src/core/diagnosis/stepFacts.ts';
import { verdictOf } from '../../../../src/core/diagnosis/verdict.ts';
import type { RolloutLine } from '../../../../src/protocol/rolloutLine.ts';
import { alive, but, fill, foreignRun, group, healthy, ownRun, rows, steps } from './syntheticRun.ts';

/** Returns a run's ranked alerts. */
function ranked(whole: WholeRun, run: DiagnosisRun = ownRun) {
	const diagnosis = new Diagnosis(run);
	const facts = whole.steps ?? [];
	for (const [i, line] of whole.metrics.entries()) {
		const step = facts[i];
		if (step !== undefined) diagnosis.addStep(step);
		diagnosis.addMetrics([line]);
	}
	return verdictOf(diagnosis).alerts;
}
const ids = (whole: WholeRun, run?: DiagnosisRun) => ranked(whole, run).map(({ id }) => id);
const grpo = (settings: Record<string, unknown>): DiagnosisRun => ({
	...ownRun,
	stages: [
		{ type: 'grpo', settings: { learning_rate: 1e-4, beta: 0.02, epsilon: 0.2, loss_type: 'dapo', ...settings } },
	],
});

/** Metrics of a run in which nothing improves although groups are informative. */
const standing = (kl: number) =>
	rows(
		60,
		but((_, noise) => ({
			reward: 0.4 + noise(0.04),
			'rewards/accuracy/mean': 0.35 + noise(0.04),
			frac_reward_zero_std: 0.1,
			kl,
			'eval/heldout/accuracy': undefined,
		})),
	);

describe('a policy that does not change', () => {
	it('is attributed to a low learning rate if KL shows that it barely changes', () => {
		const [alert, ...more] = ranked({ metrics: standing(1e-6) }, grpo({ learning_rate: 1e-7 }));
		assert.equal(alert?.id, 'learning-rate-low');
		assert.equal(more.length, 0);
		// sqrt(1e-6 x 145 / 2) is 0.0085, so the rate should be 120 times higher.
		const [edit] = alert?.recipe?.edits ?? [];
		assert.deepEqual(edit?.path, ['stages', 0, 'learning_rate']);
		assert.ok((edit?.value as number) >= 9e-6 && (edit?.value as number) <= 2e-5, `${edit?.value}`);
	});

	it('is not reported if KL is high or not measured, reward rises, or groups are dead', () => {
		assert.deepEqual(ids({ metrics: standing(0.01) }, grpo({})), []);
		assert.deepEqual(
			ids(
				{
					metrics: rows(
						60,
						but(() => ({ kl: undefined })),
					),
				},
				grpo({ learning_rate: 1e-7 }),
			),
			[],
		);
		const rising = rows(
			60,
			but((i, noise) => ({ kl: 1e-6, reward: 0.2 + i / 100 + noise(0.02) })),
		);
		assert.deepEqual(ids({ metrics: rising }, grpo({})), []);
		const dead = standing(1e-6).map((line) => ({ ...line, values: { ...line.values, frac_reward_zero_std: 1 } }));
		assert.ok(!ids({ metrics: dead }, grpo({})).includes('learning-rate-low'));
		// With rewards scaled by batch, TRL's fraction is 0 although all groups are dead.
		const batch = standing(1e-6).map((line) => ({
			...line,
			values: { ...line.values, frac_reward_zero_std: 0, 'groups/dead': 1 },
		}));
		assert.ok(!ids({ metrics: batch }, grpo({ scale_rewards: 'batch' })).includes('learning-rate-low'));
		assert.deepEqual(ids({ metrics: standing(1e-6).slice(0, 35) }, grpo({})), []);
	});

	it('is attributed to beta if beta is high', () => {
		for (const kl of [1e-6, 3e-3]) {
			const [alert, ...more] = ranked({ metrics: standing(kl) }, grpo({ beta: 5 }));
			assert.equal(alert?.id, 'beta-high');
			assert.deepEqual(alert?.recipe?.edits, [{ path: ['stages', 0, 'beta'], value: 0.04 }]);
			assert.equal(more.length, 0);
		}
		assert.deepEqual(ids({ metrics: standing(3e-3) }, grpo({ beta: 0.1 })), []);
		assert.deepEqual(ids({ metrics: standing(3e-3) }, foreignRun), []);
	});
});

describe('a clip range', () => {
	const clipped = (share: number) =>
		rows(
			60,
			but(() => ({ 'clip_ratio/region_mean': share })),
		);

	it('is reported as too small if it clips what a usual range would not', () => {
		const [alert] = ranked({ metrics: clipped(0.2) }, grpo({ epsilon: 1e-4 }));
		assert.equal(alert?.id, 'epsilon-low');
		assert.deepEqual(alert?.recipe?.edits, [
			{ path: ['stages', 0, 'epsilon'], value: 0.2 },
			{ path: ['stages', 0, 'epsilon_high'], value: 0.2 },
		]);
	});

	it('is not reported if little is clipped, the range is usual, or ratios are for whole sequences', () => {
		assert.deepEqual(ids({ metrics: clipped(0.01) }, grpo({ epsilon: 1e-4 })), []);
		assert.deepEqual(ids({ metrics: clipped(0.2) }, grpo({})), []);
		assert.deepEqual(ids({ metrics: clipped(0.2) }, grpo({ epsilon: 3e-4, loss_type: 'luspo' })), []);
		assert.deepEqual(ids({ metrics: clipped(0.2) }, foreignRun), []);
	});
});

describe('a failing reward', () => {
	const failing = (every: number, count = 12) =>
		rows(
			60,
			but((i) => ({ 'rewards/check/errors': i % every === 0 ? count : undefined })),
		);
	const run = { ...ownRun, rewards: [...ownRun.rewards, { name: 'check', weight: 1 }] };

	it('is reported with an edit that removes it', () => {
		const [alert] = ranked({ metrics: failing(1) }, run);
		assert.equal(alert?.id, 'reward-errors:check');
		assert.equal(alert?.level, 'error');
		assert.deepEqual(alert?.recipe?.edits, [{ path: ['rewards', 2] }]);
	});

	it('is not reported for occasional timeouts, and the accuracy reward is not removed', () => {
		assert.deepEqual(ids({ metrics: failing(5) }, run), []);
		const judge = rows(
			60,
			but(() => ({ 'rewards/accuracy/errors': 12 })),
		);
		assert.deepEqual(ranked({ metrics: judge })[0]?.recipe?.edits, undefined);
	});
});

describe('group facts', () => {
	const line = (index: number, completion: string, rewards: RolloutLine['rewards']): RolloutLine => ({
		...{ step: 1, stage: 'grpo', group: 0, index, prompt: 'p', completion, rewards },
		...{ reward: 0, advantage: 0, truncated: false },
	});
	const factsOf = (...lines: RolloutLine[]) => {
		const facts = new FactsOfRollouts({ think: ['<think>', '</think>'], answer: ['<answer>', '</answer>'] });
		for (const one of lines) facts.add(one);
		return facts.of(1).groups[0];
	};
	const solution = (answer: string, think = 'a') => `<think>${think}</think><answer>${answer}</answer>`;

	it('include answers, equal completions with different scores, and completions in two languages', () => {
		const facts = factsOf(
			line(0, solution('X1'), { accuracy: 1, quality: 0.3 }),
			line(1, solution('X1'), { accuracy: 1, quality: 0.4 }),
			line(2, solution('X1'), { accuracy: 1, quality: 0.3 }),
			line(3, solution('2', 'tens and ones единицы и десятки'), { accuracy: 0, quality: null }),
		);
		assert.deepEqual(facts?.answers, ['x1', 'x1', 'x1', '2']);
		assert.deepEqual(facts?.repeats, { accuracy: { pairs: 2, differ: 0 }, quality: { pairs: 2, differ: 1 } });
		assert.deepEqual(
			facts?.mixed?.map((of) => of !== null),
			[false, false, false, true],
		);
	});

	it('include the prompt if it comes from a file row', () => {
		const of = (row: unknown) => factsOf({ ...line(0, solution('1'), {}), row })?.prompt;
		assert.equal(of({ q: 'p', a: '1' }), 'p');
		for (const row of [undefined, 'p', null, { q: ['p'] }, { q: 'other' }]) assert.equal(of(row), undefined);
	});

	it('handle rewards with hostile names', () => {
		const rewards = JSON.parse('{"__proto__": 1, "constructor": 2, "toString": 3}') as RolloutLine['rewards'];
		const facts = factsOf(line(0, solution('1'), rewards), line(1, solution('1'), rewards));
		assert.deepEqual(new Map(Object.entries(facts?.repeats ?? {})).get('constructor'), { pairs: 1, differ: 0 });
	});
});

describe('a noisy reward', () => {
	const repeats = (differ: number) => group({ ...alive, repeats: { quality: { pairs: 4, differ } } });
	const run = { ...ownRun, rewards: [...ownRun.rewards, { name: 'quality', weight: 3 }] };
	const metrics = rows(40, healthy);

	it('is detected if equal completions get different scores', () => {
		const [alert] = ranked({ metrics, steps: steps(40, [repeats(3), alive]) }, run);
		assert.equal(alert?.id, 'noisy-reward:quality');
		assert.deepEqual(alert?.recipe?.edits, [{ path: ['rewards', 2] }]);
		assert.equal(alert?.evidence.length, 5);
	});

	it('is not reported if equal completions get equal scores, or if too few are equal', () => {
		assert.deepEqual(ids({ metrics, steps: steps(40, [repeats(0), alive]) }, run), []);
		const few = [group({ ...alive, repeats: { quality: { pairs: 1, differ: 1 } } })];
		assert.deepEqual(ids({ metrics, steps: steps(40, few) }, run), []);
		assert.deepEqual(ids({ metrics: metrics.slice(0, 10), steps: steps(10, [repeats(3)]) }, run), []);
	});
});

describe('mixed languages', () => {
	const mixed = (share: number) =>
		group({ ...alive, mixed: Array.from({ length: 8 }, (_, i) => (i < 8 * share ? 'Cyrillic' : null)) });
	const metrics = rows(40, healthy);

	it('are reported with an edit that adds a language reward', () => {
		const [alert] = ranked({ metrics, steps: steps(40, [mixed(0.5)]) });
		assert.equal(alert?.id, 'language-mix');
		assert.deepEqual(alert?.recipe?.edits, [
			{ path: ['rewards', 2], value: { use: 'language-consistency', language: 'ru', weight: 1 } },
		]);
	});

	it('are not reported for a few completions, and an existing reward is not added again', () => {
		assert.deepEqual(ids({ metrics, steps: steps(40, [mixed(0.125), alive]) }), []);
		const has = { ...ownRun, rewards: [...ownRun.rewards, { name: 'language-consistency', weight: 1 }] };
		assert.equal(ranked({ metrics, steps: steps(40, [mixed(0.5)]) }, has)[0]?.recipe?.edits, undefined);
	});
});

describe('incorrect answers in the data', () => {
	const agreed = group({ answers: fill('12') });
	const course = (heldOut: number) =>
		rows(
			40,
			but((i, noise) => ({
				'rewards/accuracy/mean': 0.55 + noise(0.03),
				'eval/heldout/accuracy': i % 20 === 0 ? heldOut : undefined,
			})),
		);

	it('are detected if completions agree on a different answer and held-out problems are solved', () => {
		const [alert] = ranked({ metrics: course(0.95), steps: steps(40, [agreed, alive, alive, alive]) });
		assert.equal(alert?.id, 'wrong-answers');
		assert.ok((alert?.evidence.length ?? 0) > 0);
	});

	it('can be excluded by prompt in a dataset from a file, but not in generated data', () => {
		const ofFile = { ...ownRun, dataset: { path: '/rows.jsonl', prompt: 'prompt', exclude: ['known'] } };
		const named = (prompt: string, more: Partial<GroupFacts> = {}) => group({ answers: fill('12'), prompt, ...more });
		// Each step has a new row, a repeated row, and a row on which later groups no longer agree.
		const facts = Array.from({ length: 40 }, (_, i) => ({
			step: i + 1,
			groups: [named(`row ${i}`), named('again'), named('unsure', i > 20 ? { correct: alive.correct } : {}), alive],
		}));
		const exclude = (run: DiagnosisRun) => ranked({ metrics: course(0.95), steps: facts }, run)[0]?.recipe?.edits?.[0];
		const edit = exclude(ofFile);
		assert.deepEqual(edit?.path, ['dataset', 'exclude']);
		const prompts = edit?.value as string[];
		assert.equal(new Set(prompts).size, prompts.length);
		assert.ok(
			['known', 'again', 'row 0', 'row 35'].every((prompt) => prompts.includes(prompt)),
			prompts.join(),
		);
		assert.ok(!prompts.includes('unsure'));
		assert.equal(exclude(ownRun), undefined);
	});

	it('are not suspected if held-out accuracy is no better, or completions disagree', () => {
		assert.deepEqual(ids({ metrics: course(0.6), steps: steps(40, [agreed, alive, alive, alive]) }), []);
		const apart = group({ answers: ['1', '2', '3', '4', '5', '6', '7', null] });
		assert.deepEqual(ids({ metrics: course(0.95), steps: steps(40, [apart, alive, alive, alive]) }), []);
	});
});

describe('a length limit that is too low', () => {
	const squeezed = (accuracy: number) =>
		rows(
			60,
			but((i, noise) => ({
				reward: 0.2 + noise(0.01),
				reward_std: 0.05,
				'rewards/accuracy/mean': accuracy,
				'completions/clipped_ratio': i < 4 ? 0.98 : 0.02,
				'completions/mean_length': i < 4 ? 17 : 11,
				'eval/heldout/accuracy': i % 20 === 0 ? accuracy : undefined,
			})),
		);

	it('is reported even if the policy has learned to be short', () => {
		const [alert] = ranked({ metrics: squeezed(0) });
		assert.equal(alert?.id, 'overlong:squeezed');
		assert.deepEqual(alert?.recipe?.edits, [{ path: ['stages', 1, 'max_completion_length'], value: 128 }]);
	});

	it('is not reported if short completions are correct', () => {
		assert.ok(!ids({ metrics: squeezed(0.4) }).includes('overlong:squeezed'));
	});
});

describe('advice on dead groups', () => {
	const dead = rows(
		60,
		but(() => ({ frac_reward_zero_std: 0.95 })),
	);
	const sums = { ...ownRun, dataset: { task: 'addition', digits: 4 } };
	const solved = group({ reward: fill(1), correct: fill(true) });

	it('halves the number of digits if problems are too hard, and adds one if they are solved', () => {
		const edits = (facts: typeof solved) =>
			ranked({ metrics: dead, steps: steps(60, [facts]) }, sums)[0]?.recipe?.edits;
		assert.deepEqual(edits(group()), [{ path: ['dataset', 'digits'], value: 2 }]);
		assert.deepEqual(edits(solved), [{ path: ['dataset', 'digits'], value: 5 }]);
	});

	it('attributes similar completions to hard problems if none of hundreds is correct', () => {
		const alike = group({ distinct: 2 });
		assert.equal(ids({ metrics: dead, steps: steps(60, [alike]) })[0], 'dead-groups:too-hard');
		assert.equal(ids({ metrics: dead, steps: steps(60, [alike, alike, alike, alive]) })[0], 'dead-groups:alike');
	});

	it('attributes a drop to a temperature that is too low', () => {
		const cold = grpo({ temperature: 0.05 });
		const falling = rows(
			60,
			but((i) => ({ frac_reward_zero_std: 0.95, reward: i < 5 ? 0.9 : 0.5, reward_std: 0.4 })),
		);
		const found = ids(
			{ metrics: falling, steps: steps(60, [group({ distinct: 1 }), group({ distinct: 1 }), alive]) },
			cold,
		);
		assert.deepEqual(found.slice(0, 2), ['dead-groups:alike', 'learning-rate-high']);
	});
});
