import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { compareMath } from '../../../../src/core/math/compareMath.ts';
import { loadLatexParser } from '../../../../src/core/math/latexParser.ts';

before(loadLatexParser);

const value = (gold: string, prediction: string) => compareMath(gold, prediction).value;

function assertEqual(a: string, b: string): void {
	assert.equal(value(a, b), 1, `${a} | ${b}: ${compareMath(a, b).reason}`);
	assert.equal(value(b, a), 1, `${b} | ${a}: ${compareMath(b, a).reason}`);
}

function assertDifferent(a: string, b: string): void {
	assert.equal(value(a, b), 0, `${a} | ${b}: ${compareMath(a, b).reason}`);
	assert.equal(value(b, a), 0, `${b} | ${a}: ${compareMath(b, a).reason}`);
}

interface Fraction {
	n: number;
	d: number;
}

function gcd(a: number, b: number): number {
	return b === 0 ? Math.abs(a) : gcd(b, a % b);
}

function randomFraction(random: Random): Fraction {
	const [n, d] = [random.between(-400, 400), random.between(2, 60)];
	const common = gcd(n, d) || 1;
	return { n: n / common, d: d / common };
}

function spellings({ n, d }: Fraction, random: Random): string[] {
	const times = random.between(2, 9);
	const sign = n < 0 ? '-' : '';
	const size = Math.abs(n);
	const list = [
		`${n}/${d}`,
		`\\frac{${n}}{${d}}`,
		`${sign}\\dfrac{${size * times}}{${d * times}}`,
		`$${sign}\\tfrac{${size}}{${d}}$`,
		`\\boxed{\\left(${n}\\right) \\div ${d}}`.replace('\\div', '/'),
		`The answer is $${sign}\\frac{${size}}{${d}}$.`,
	];
	if (size > d && d > 1) list.push(`${sign}${Math.floor(size / d)}\\frac{${size % d}}{${d}}`);
	if (/^[25]*$/.test(primes(d))) list.push(String(n / d));
	return list;
}

function primes(n: number): string {
	let text = '';
	for (let p = 2, rest = n; rest > 1; p++) {
		while (rest % p === 0) {
			text += p;
			rest /= p;
		}
	}
	return text;
}

describe('rational numbers', () => {
	it('are equal in every notation', () => {
		const random = Random.of('spellings');
		for (let i = 0; i < 150; i++) {
			const fraction = randomFraction(random);
			const [first = '', ...rest] = spellings(fraction, random);
			for (const other of rest) assertEqualOneWay(first, other);
		}
	});

	it('differ if the numerator or denominator differs', () => {
		const random = Random.of('differ');
		for (let i = 0; i < 150; i++) {
			const fraction = randomFraction(random);
			const other = random.int(2) === 0 ? { ...fraction, n: fraction.n + 1 } : { ...fraction, d: fraction.d + 1 };
			if (fraction.n * other.d === other.n * fraction.d) continue;
			const [a, b] = [spellings(fraction, random), spellings(other, random)];
			assert.equal(value(random.pick(a.slice(0, 4)), random.pick(b)), 0, `${a[0]} | ${b[0]}`);
		}
	});
});

/** Checks only one direction, because a sentence can be a prediction but not a gold answer. */
function assertEqualOneWay(gold: string, prediction: string): void {
	assert.equal(value(gold, prediction), 1, `${gold} | ${prediction}: ${compareMath(gold, prediction).reason}`);
}

/** Returns coefficients starting with the constant term. */
function multiplied(factors: readonly (readonly number[])[]): number[] {
	let product = [1];
	for (const factor of factors) {
		const next = new Array<number>(product.length + factor.length - 1).fill(0);
		for (const [i, a] of product.entries())
			for (const [j, b] of factor.entries()) next[i + j] = (next[i + j] ?? 0) + a * b;
		product = next;
	}
	return product;
}

function polynomialText(coefficients: readonly number[], order: readonly number[]): string {
	let text = '';
	for (const degree of order) {
		const c = coefficients[degree] ?? 0;
		if (c === 0) continue;
		const power = degree === 0 ? '' : degree === 1 ? 'x' : `x^{${degree}}`;
		const size = Math.abs(c) === 1 && degree > 0 ? '' : String(Math.abs(c));
		text += `${c < 0 ? '-' : text === '' ? '' : '+'}${size}${power}`;
	}
	return text === '' ? '0' : text;
}

describe('polynomials', () => {
	const make = (random: Random) => {
		const factors = Array.from({ length: random.between(2, 4) }, () => [random.between(-9, 9), random.between(1, 5)]);
		const expanded = multiplied(factors);
		const factored = factors.map((f) => `(${polynomialText(f, [1, 0])})`).join(random.int(2) === 0 ? '' : ' \\cdot ');
		return { expanded, factored };
	};

	it('are equal when expanded, factored and in any order', () => {
		const random = Random.of('expanded');
		for (let i = 0; i < 60; i++) {
			const { expanded, factored } = make(random);
			const order = [...expanded.keys()];
			const descending = polynomialText(expanded, order.toReversed());
			assertEqual(descending, factored);
			assertEqual(descending, polynomialText(expanded, random.shuffle(order)));
		}
	});

	it('differ if a coefficient differs', () => {
		const random = Random.of('coefficient');
		for (let i = 0; i < 60; i++) {
			const { expanded, factored } = make(random);
			const at = random.int(expanded.length);
			const changed = expanded.with(at, (expanded[at] ?? 0) + (random.int(2) === 0 ? 1 : -1));
			assertDifferent(polynomialText(changed, [...changed.keys()].reverse()), factored);
		}
	});

	it('are equal as equations up to a factor and swapped sides', () => {
		const random = Random.of('equations');
		for (let i = 0; i < 40; i++) {
			const { expanded } = make(random);
			const factor = random.pick([-3, -1, 2, 7]);
			const text = polynomialText(expanded, [...expanded.keys()]);
			const scaled = polynomialText(
				expanded.map((c) => c * factor),
				[...expanded.keys()].reverse(),
			);
			assertEqual(`${text} = 3y`, `${3 * factor}y = ${scaled}`);
			assertDifferent(`${text} = 3y`, `${3 * factor + 1}y = ${scaled}`);
		}
	});
});

describe('sets, tuples and intervals', () => {
	it('sets of any elements are equal in any order, tuples only in the same order', () => {
		const random = Random.of('sets');
		for (let i = 0; i < 60; i++) {
			const items = [...new Set(Array.from({ length: random.between(2, 6) }, () => random.between(-50, 50)))].map(
				String,
			);
			const shuffled = random.shuffle([...items]);
			assertEqual(`\\{${items.join(',')}\\}`, `\\{${shuffled.join(', ')}\\}`);
			assertEqual(`\\{${items.join(',')}\\}`, shuffled.join(', '));
			assertDifferent(`\\{${items.join(',')}\\}`, `\\{${[...items.slice(1), '77'].join(', ')}\\}`);
			if (items.join() !== shuffled.join()) assertDifferent(`(${items.join(', ')})`, `(${shuffled.join(', ')})`);
			if (items.length > 1) assertDifferent(`\\{${items.join(',')}\\}`, `(${items.join(', ')})`);
		}
	});

	it('intervals differ by open or closed ends, and inequalities are equivalent to intervals', () => {
		const random = Random.of('intervals');
		for (let i = 0; i < 60; i++) {
			const low = random.between(-20, 20);
			const high = low + random.between(1, 30);
			const [open, close] = [random.pick(['(', '[']), random.pick([')', ']'])];
			const text = `${open}${low}, ${high}${close}`;
			const chain = `${low} ${open === '(' ? '<' : '\\le'} x ${close === ')' ? '<' : '\\le'} ${high}`;
			assertEqual(text, chain);
			assertEqual(`${low - 5} \\le x-5 < ${high - 5}`, `[${low},${high})`);
			assertDifferent(text, `${open === '(' ? '[' : '('}${low}, ${high}${close}`);
			assertDifferent(chain, `${open}${low}, ${high + 1}${close}`);
		}
	});
});

describe('gold answer and prediction', () => {
	it('are treated differently: an unreadable gold answer gives no result, an unreadable prediction is incorrect', () => {
		for (const garbage of ['\\frac{1', ')(', '\\foo{3}', 'x^', '']) {
			assert.equal(value(garbage, '5'), null, garbage);
			assert.equal(value(garbage, garbage), null, garbage);
			assert.equal(value('5', garbage), 0, garbage);
		}
	});

	it('can be swapped if both are readable', () => {
		const list = [
			'1/2',
			'0.5',
			'50\\%',
			'x^2',
			'(1,2)',
			'[1,2]',
			'\\{1,2\\}',
			'x=5',
			'5',
			'x>2',
			'blue',
			'5\\text{ cm}',
			'A',
		];
		for (const a of list) for (const b of list) assert.equal(value(a, b), value(b, a), `${a} | ${b}`);
	});

	it('the prediction can omit a percent or approximation sign of the gold answer, but not add one', () => {
		assert.deepEqual([value('50\\%', '50'), value('50', '50\\%')], [1, 0]);
		assert.deepEqual([value('\\approx 5', '5'), value('5', '\\approx 5')], [1, 0]);
	});

	it('several boxes are separate candidates, but form one answer in an answer section', () => {
		const twice = '\\boxed{2} is too small, so it is \\boxed{3}';
		assert.equal(compareMath('3', twice).value, 1);
		assert.equal(compareMath('3', twice, { sole: true }).value, 0);
		assert.equal(compareMath('3', '\\boxed{3}. Thus \\boxed{3}', { sole: true }).value, 1);
		assert.equal(compareMath('2, 3', '\\boxed{2} and \\boxed{3}', { sole: true }).value, 1);
	});
});
