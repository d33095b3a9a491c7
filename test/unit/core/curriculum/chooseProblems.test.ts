import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { type CurriculumSettings, chooseProblems } from '../../../../src/core/curriculum/chooseProblems.ts';
import { unknownPassRates, withResults } from '../../../../src/core/curriculum/passRates.ts';
import { passReward } from '../../../../src/core/curriculum/passReward.ts';
import { poolMetrics } from '../../../../src/core/curriculum/poolMetrics.ts';

const bounds = { min_pass_rate: 0.15, max_pass_rate: 0.85 };
/** 30 problems: 10 never solved, 10 solved half the time, 10 always solved. */
const known = withResults(
	unknownPassRates(30),
	Array.from({ length: 30 }, (_, problem) => {
		const successes = [0, 100, 200][Math.floor(problem / 10)] as number;
		return { problem, successes, failures: 200 - successes };
	}),
	0.5,
);
const kinds = (problems: readonly number[]) => new Set(problems.map((problem) => Math.floor(problem / 10)));

function chosen(settings: Partial<CurriculumSettings>, count = 8, taken?: ReadonlySet<number>): number[] {
	return chooseProblems(known, count, { sampling: 'target', ...bounds, ...settings }, Random.of('choose'), taken);
}

it('takes the problems nearest to the target', () => {
	assert.deepEqual(kinds(chosen({})), new Set([1]));
	assert.deepEqual(kinds(chosen({ target: 0 })), new Set([0]));
	assert.deepEqual(kinds(chosen({ target: 1 })), new Set([2]));
});

it('takes problems within the range, and the nearest ones if there are too few', () => {
	assert.deepEqual(kinds(chosen({ sampling: 'range' })), new Set([1]));
	const all = chosen({ sampling: 'range', max_pass_rate: 0.6 }, 20);
	assert.deepEqual([...all].filter((problem) => problem < 10).length, 10);
	assert.deepEqual(kinds(all), new Set([0, 1]));
});

it('takes all problems equally often with uniform sampling', () => {
	const random = Random.of('uniform');
	const counts = new Array<number>(30).fill(0);
	for (let i = 0; i < 3000; i++) {
		for (const p of chooseProblems(known, 3, { sampling: 'uniform', ...bounds }, random))
			counts[p] = (counts[p] ?? 0) + 1;
	}
	// 300 expected, with a standard deviation of 16.
	for (const count of counts) assert.ok(Math.abs(count - 300) < 80, counts.join(' '));
});

it('returns each problem once, and repeats problems from earlier rounds only if too few are left', () => {
	const taken = new Set(chosen({}, 10));
	const more = chosen({}, 10, taken);
	assert.equal(new Set(more).size, 10);
	assert.ok(more.every((problem) => !taken.has(problem)));
	assert.equal(new Set(chosen({}, 30, taken)).size, 30);
});

it('returns to problems that were not solved, because their pass rate is uncertain', () => {
	const rates = withResults(known, [{ problem: 0, successes: 0, failures: 8 }], 0);
	const random = Random.of('again');
	let times = 0;
	for (let i = 0; i < 1000; i++) {
		times += Number(chooseProblems(rates, 8, { sampling: 'range', ...bounds }, random).includes(0));
	}
	// Beta(1, 9) exceeds 0.15 with probability 0.23; the problem then competes with 10 others for 8 places.
	assert.ok(times > 120 && times < 220, String(times));
});

it('sorts problems into pools and counts the dead groups that it avoided', () => {
	const settings: CurriculumSettings = { sampling: 'target', ...bounds };
	const sampled = { groups: 8, dead: 1, size: 8 };
	const metrics = poolMetrics(known, settings, sampled);
	const { 'curriculum/dead_avoided': avoided, ...others } = metrics;
	const third = 1 / 3;
	assert.deepEqual(others, {
		'curriculum/new': 0,
		'curriculum/hard': third,
		'curriculum/medium': third,
		'curriculum/easy': third,
		'curriculum/pass_rate': others['curriculum/pass_rate'],
	});
	assert.ok(Math.abs((others['curriculum/pass_rate'] as number) - 0.5) < 1e-12);
	assert.ok((avoided as number) > 0.5 && (avoided as number) < 2 / 3 - 1 / 8 + 0.02, String(avoided));
	const unknown = poolMetrics(unknownPassRates(4), settings, sampled);
	assert.equal(unknown['curriculum/pass_rate'], null);
	assert.equal(unknown['curriculum/dead_avoided'], null);
	assert.equal(unknown['curriculum/new'], 1);
});

it('takes pass rates from the reward for correct answers', () => {
	const column = (name: string, weight = 1) => ({ name, weight });
	assert.equal(passReward([column('format'), column('accuracy', 0)]), 'accuracy');
	assert.equal(passReward([column('format'), column('exact_match')]), 'exact_match');
	assert.equal(passReward([column('length', 0), column('brevity')]), 'brevity');
	assert.equal(passReward([]), null);
});
