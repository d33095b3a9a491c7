import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findCitations } from '../../../../src/core/address/citations.ts';
import { withAddresses } from '../../../../src/core/address/findAddresses.ts';
import { addressOfLink, openLink } from '../../../../src/core/address/openLink.ts';
import { isRounded, quotedNumbers, supports } from '../../../../src/core/address/quotedNumber.ts';

const numbersOf = (text: string) => findCitations(text).map(({ numbers }) => numbers.map((number) => number.text));

describe('quoted numbers', () => {
	it('are read with sign, separators, exponent and percent sign', () => {
		const text = 'from 0.62 to -1.5e-4, \u22123, 1,896 rows, 62.5%, 7 % and .5';
		assert.deepEqual(
			quotedNumbers(text).map(({ value, percent }) => [value, percent]),
			[
				[0.62, false],
				[-1.5e-4, false],
				[-3, false],
				[1896, false],
				[62.5, true],
				[7, true],
				[0.5, false],
			],
		);
		for (const { text: written, offset } of quotedNumbers(text)) assert.ok(text.startsWith(written, offset));
	});

	it('are not part of names, versions or dates', () => {
		assert.deepEqual(
			quotedNumbers('gsm8k v1.2.3 2026-11-26T04 step_12 x2 addition-20261126').map(({ text }) => text),
			[],
		);
	});

	it('match only values that round to the digits as written', () => {
		const matches = (text: string, exact: number) => isRounded(quotedNumbers(text)[0] as never, exact);
		for (const [text, exact] of [
			['0.62', 0.6249],
			['0.62', 0.615],
			['62%', 0.6234],
			['62.3%', 0.6234],
			['1.5e-4', 1.54e-4],
			['-3', -3.4],
			['1,896', 1896],
			['12%', 12],
		] as const) {
			assert.ok(matches(text, exact), `${text} is ${exact}`);
		}
		for (const [text, exact] of [
			['0.62', 0.626],
			['0.620', 0.6249],
			['0.62', 62],
			['62', 0.62],
			['62%', 0.63],
			['1.5e-4', 1.5],
			['3', -3],
		] as const) {
			assert.ok(!matches(text, exact), `${text} is not ${exact}`);
		}
	});
});

describe('p-values', () => {
	const relations = (text: string) => quotedNumbers(text).map(({ value, p }) => [value, p]);

	it('are recognized by what precedes them', () => {
		assert.deepEqual(
			relations('p = 0.03, p<.001, P-value of 0.2, p ≤ 0.05, p value: 1e-4, p > 0.5, p-value below 0.1'),
			[
				[0.03, '='],
				[0.001, '<'],
				[0.2, '='],
				[0.05, '<='],
				[1e-4, '='],
				[0.5, '>'],
				[0.1, '<'],
			],
		);
		assert.deepEqual(relations('top-p = 0.9, top_p = 0.8, p 3, step = 4, pass@1 = 0.5, a gap < 0.2'), [
			[0.9, null],
			[0.8, null],
			[3, null],
			[4, null],
			[1, null],
			[0.5, null],
			[0.2, null],
		]);
	});

	it('are recognized before a link and inside emphasis', () => {
		const relationsAt = (text: string) => findCitations(text).flatMap(({ numbers }) => numbers.map(({ p }) => p));
		const link = '[0.03](rl://a/evaluation/x?with=y)';
		assert.deepEqual(relationsAt(`differ (p = ${link})`), ['=']);
		assert.deepEqual(relationsAt(`p < **${link}**, and a gain of ${link}`), ['<', null]);
		assert.deepEqual(relationsAt('p = **0.03** (rl://a/evaluation/x?with=y)'), ['=']);
		assert.deepEqual(relationsAt(`top-p = ${link}`), [null]);
	});

	it('are supported only by p-values in the data', () => {
		const holds = (text: string, name: string, exact: number) => supports(quotedNumbers(text)[0] as never, name, exact);
		assert.ok(holds('p = 0.03', 'p', 0.0284));
		assert.ok(!holds('p = 0.030', 'p', 0.0284));
		assert.ok(!holds('p = 0.03', 'difference.low', 0.03));
		assert.ok(holds('p < 0.05', 'p', 0.0284));
		assert.ok(!holds('p < 0.05', 'p', 0.05));
		assert.ok(holds('p <= 0.05', 'p', 0.05));
		assert.ok(!holds('p < 0.05', 'lost', 0));
		assert.ok(holds('p > 0.05', 'p', 0.6) && !holds('p > 0.05', 'p', 0.01));
	});
});

describe('citations in Markdown', () => {
	it('are found in links, autolinks, code and text, without the punctuation around them', () => {
		const text = [
			'See [here](rl://run/step/1), <rl://run/step/2>, `rl://run/step/3`, (rl://run/step/4) and rl://run/step/5.',
			'**rl://run/metric/a(b)?step=1** url://x/y http://rl',
		].join('\n');
		assert.deepEqual(
			findCitations(text).map(({ address, line }) => [address, line]),
			[
				['rl://run/step/1', 1],
				['rl://run/step/2', 1],
				['rl://run/step/3', 1],
				['rl://run/step/4', 1],
				['rl://run/step/5', 1],
				['rl://run/metric/a(b)?step=1', 2],
			],
		);
		for (const { address, offset } of findCitations(text)) assert.ok(text.startsWith(address, offset));
	});

	it('take their numbers from the link text, or else the last number before them in the sentence', () => {
		assert.deepEqual(numbersOf('KL rose to 3.1 after [0.62 to 0.7](rl://r/metric/kl).'), [['0.62', '0.7']]);
		assert.deepEqual(numbersOf('Of 200 problems, 0.62 ([source](rl://r/metric/a)) were solved.'), [['0.62']]);
		assert.deepEqual(numbersOf('Accuracy is 0.62. It fell (rl://r/metric/a).'), [[]]);
		assert.deepEqual(numbersOf('Accuracy is 0.62 (rl://r/metric/a) and stable (rl://r/step/2).'), [['0.62'], []]);
		assert.deepEqual(numbersOf('Reward 0.5, then 0.7 at step 12 (rl://r/metric/reward?step=12)'), [['0.7']]);
		assert.deepEqual(numbersOf('Between steps 10 and 12, group 3 dies (rl://r/step/12/group/3)'), [[]]);
		assert.deepEqual(numbersOf('0.5\n(rl://r/step/1)'), [[]]);
	});

	it('are limited in number, and long lines take linear time', () => {
		assert.equal(findCitations('rl://r '.repeat(20_000)).length, 10_000);
		assert.deepEqual(findCitations(`${'1 step '.repeat(20_000)}[${'['.repeat(20_000)}`), []);
		for (const text of [`rl://${')'.repeat(500_000)}`, 'a.'.repeat(250_000), 'rl://r!'.repeat(70_000)]) {
			const before = performance.now();
			findCitations(text);
			assert.ok(performance.now() - before < 5000, text.slice(0, 20));
		}
	});

	it('can be links that open the address in an editor', () => {
		const address = "rl://a(b)'s*/metric/eval%2Fheld-out?step=2";
		const link = openLink('code-oss', address);
		assert.match(link, /^code-oss:\/\/reasoning-lab\.reasoning-lab\/open\?address=[\w%.-]+$/);
		assert.equal(addressOfLink(link), address);
		// Editors decode the query once before they pass a URI on.
		assert.equal(addressOfLink(decodeURIComponent(link)), address);
		const text = `Accuracy is [0.5](${link}), then 0.7 (${link}).`;
		const found = findCitations(text);
		assert.deepEqual(
			found.map(({ address: one, numbers }) => [one, numbers.map(({ text: number }) => number)]),
			[
				[address, ['0.5']],
				[address, ['0.7']],
			],
		);
		for (const { offset, length } of found) assert.equal(text.slice(offset, offset + length), link);
		assert.equal(withAddresses(text), `Accuracy is [0.5](${address}), then 0.7 (${address}).`);
		for (const other of [
			'https://reasoning-lab.reasoning-lab/',
			'vscode://other.other/open?address=rl%3A%2F%2Fa',
			'rl://a',
		]) {
			assert.equal(addressOfLink(other), null);
		}
	});
});
