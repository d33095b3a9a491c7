import { hashText, Random } from '../../src/base/random.ts';
import { goldText } from '../../src/core/dataset/answer.ts';
import { promptKey } from '../../src/core/dataset/datasetRows.ts';
import { rowsSource, splitRows } from '../../src/core/dataset/rowsSource.ts';
import { isHeldOut } from '../../src/core/dataset/split.ts';
import { parseDataset } from './parseDataset.ts';

/** Strings that are easy to hash or normalize differently. */
const texts = [
	'',
	'a',
	'1+2=',
	'  two   words\t\n',
	'e\u0301 and \u00e9',
	'\u00a0\u2003wide\ufeff spaces\u3000',
	'\u001cno space\u0085 here\u001f',
	'日本語の問題',
	'emoji 😀 and 𝔸',
	'half \ud800 a pair',
	'x'.repeat(5000),
	...Array.from({ length: 60 }, (_, i) => `${i * 37}+${i * 11}=`),
];

const numbers = [0, 3, -4, 0.1, 1e-6, 9e-7, 123456.789, 1e20, 1e21, 2 ** 53, 2 ** 60, -0, 1 / 3, 5e-324];

const rows = Array.from({ length: 40 }, (_, i) => ({
	prompt: i % 7 === 0 ? `problem  ${i - (i % 2)} ` : `problem ${i}`,
	answer: i % 5 === 0 ? null : i % 3 === 0 ? i / 4 : `${i}`,
	...(i % 2 === 0 ? { solution: `because ${i}` } : {}),
	more: { nested: [i] },
}));
const heldOutRows = [3, 9, 9, 100].map((i) => ({ prompt: `problem ${i}`, answer: `${i}` }));

/** Returns the splits and orders computed in TypeScript, which the trainer's Python must reproduce. */
export function splitGolden(): string {
	const lines = (list: readonly object[]) => list.map((row) => JSON.stringify(row)).join('\n');
	const read = parseDataset(lines(rows), 'rows');
	const sources = [
		{ heldOut: null, share: 0.25, split: splitRows(read, null, 0.25) },
		{ heldOut: heldOutRows, share: 0.1, split: splitRows(read, parseDataset(lines(heldOutRows), 'held'), 0.1) },
	].map(({ heldOut, share, split }) => {
		const source = rowsSource('rows', split);
		return {
			heldOut,
			share,
			seed: 7,
			training: Array.from({ length: 90 }, (_, i) => source.training(7, i).prompt),
			held: source.heldOut(100).map(({ prompt, answer }) => ({ prompt, answer })),
		};
	});
	const stream = Random.of(3, 'golden', 12);
	const golden = {
		texts: texts.map((text) => ({
			text: JSON.stringify(text),
			hash: hashText(text, 5),
			key: promptKey(text),
			heldOut: isHeldOut(promptKey(text), 0.3),
		})),
		numbers: numbers.map((number) => ({ number, text: goldText(number) })),
		random: Array.from({ length: 12 }, () => stream.uint32()),
		below: Array.from({ length: 12 }, () => stream.int(10)),
		shuffled: Random.of('order').shuffle(Array.from({ length: 20 }, (_, i) => i)),
		rows,
		sources,
	};
	return `${JSON.stringify(golden, null, '\t')}\n`;
}

export const splitGoldenFile = new URL('../fixtures/trainer/split.json', import.meta.url);
