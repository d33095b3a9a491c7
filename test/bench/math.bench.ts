import { readFile } from 'node:fs/promises';
import { createMathComparer } from '../../src/rewards/mathVerifier.ts';
import type { Bench, Measurement } from './measurement.ts';

/** Cost of the accuracy reward per pair, over the golden table (including hostile pairs) and for plain numbers. */
export const bench: Bench = {
	title: 'accuracy reward on file datasets',
	async run({ rounds }) {
		const loading = performance.now();
		const compare = await createMathComparer();
		const loaded = performance.now() - loading;
		const names = ['mathNumbers', 'mathExpressions', 'mathTexts', 'mathAsWritten'];
		const texts = await Promise.all(
			names.map((name) => readFile(new URL(`../golden/${name}.jsonl`, import.meta.url), 'utf8')),
		);
		const pairs = texts.flatMap((text) =>
			text
				.trim()
				.split('\n')
				.map((line) => JSON.parse(line) as { gold: string; prediction: string }),
		);
		const times = (): number[] =>
			pairs
				.map(({ gold, prediction }) => {
					const start = performance.now();
					compare(gold, prediction);
					return performance.now() - start;
				})
				.sort((a, b) => a - b);
		times();
		const sorted = Array.from({ length: rounds }, times);
		const at = (share: number): number[] =>
			sorted.map((list) => list[Math.ceil(share * (list.length - 1))] ?? Number.NaN);
		const plain = Array.from({ length: rounds }, () => {
			const start = performance.now();
			for (let i = 0; i < 10_000; i++) compare('1234', '\\boxed{1,234}');
			return (performance.now() - start) / 10;
		});
		const measured = (name: string, unit: string, samples: number[]): Measurement => ({ name, unit, samples });
		return [
			measured('math: loading the parser', 'ms', [loaded]),
			measured('math: median pair', 'ms', at(0.5)),
			measured('math: 99% of the pairs within', 'ms', at(0.99)),
			measured('math: slowest pair', 'ms', at(1)),
			measured('math: plain numbers', 'us', plain),
		];
	},
};
