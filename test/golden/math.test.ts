import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { before, describe, it } from 'node:test';
import { createMathComparer, type MathComparer } from '../../src/rewards/mathVerifier.ts';

interface Pair {
	gold: string;
	prediction: string;
	expected: 1 | 0 | null;
	form: string;
	/** Source of the rule. */
	source: string;
}

function read(name: string): Pair[] {
	const text = readFileSync(new URL(`${name}.jsonl`, import.meta.url), 'utf8');
	return text
		.trim()
		.split('\n')
		.map((line) => JSON.parse(line) as Pair);
}

const pairs = ['mathNumbers', 'mathExpressions', 'mathTexts', 'mathAsWritten', 'mathForms', 'mathBlind'].flatMap(read);

/** Maximum fraction of correct predictions that may be judged incorrect. */
const maxFalseNegatives = 0.03;

describe('mathematical equivalence on a table of pairs', () => {
	let compare: MathComparer;
	before(async () => {
		compare = await createMathComparer();
	});
	const brief = ({ gold, prediction, form }: Pair) => `${form}: ${gold.slice(0, 60)} | ${prediction.slice(0, 60)}`;

	it('has pairs of every form, each with a source', () => {
		assert.ok(pairs.length >= 250);
		assert.ok(new Set(pairs.map(({ form }) => form)).size >= 25);
		for (const pair of pairs) assert.ok(pair.source.length > 5 && [0, 1, null].includes(pair.expected), brief(pair));
	});

	it('accepts no incorrect answer', () => {
		const found = pairs.filter(({ expected }) => expected === 0);
		assert.ok(found.length >= 100);
		assert.deepEqual(found.filter(({ gold, prediction }) => compare(gold, prediction).value !== 0).map(brief), []);
	});

	it('rejects very few correct answers in forms that used to be missed', () => {
		const found = read('mathForms').filter(({ expected }) => expected === 1);
		assert.ok(found.length >= 150);
		const missed = found.filter(({ gold, prediction }) => compare(gold, prediction).value !== 1);
		assert.ok(missed.length <= maxFalseNegatives * found.length, missed.map(brief).join('\n'));
	});

	it('rejects very few correct answers', () => {
		const found = pairs.filter(({ expected }) => expected === 1);
		assert.ok(found.length >= 150);
		const missed = found.filter(({ gold, prediction }) => compare(gold, prediction).value !== 1).map(brief);
		assert.ok(missed.length <= maxFalseNegatives * found.length, missed.join('\n'));
		// Currently missed: a unit that could be a factor.
		assert.deepEqual(missed, ['number with unit in a sentence: 8 | Therefore the side is 8m long.']);
	});

	it('is correct for pairs written without knowledge of its rules', (t) => {
		for (const expected of [1, 0] as const) {
			const found = read('mathBlind').filter((pair) => pair.expected === expected);
			assert.ok(found.length >= 40);
			const missed = found.filter(({ gold, prediction }) => compare(gold, prediction).value !== expected);
			t.diagnostic(`${missed.length} of ${found.length} pairs with value ${expected} got another value`);
			assert.ok(missed.length <= (expected === 1 ? maxFalseNegatives * found.length : 0), missed.map(brief).join('\n'));
		}
	});

	it('returns null if the gold answer cannot be parsed', () => {
		const found = pairs.filter(({ expected }) => expected === null);
		assert.ok(found.length >= 10);
		assert.deepEqual(found.filter(({ gold, prediction }) => compare(gold, prediction).value !== null).map(brief), []);
	});

	it('gives a one-line reason', () => {
		for (const pair of pairs) {
			const { reason } = compare(pair.gold, pair.prediction);
			assert.match(reason, /^[^\n]{3,200}$/, brief(pair));
		}
	});
});
