import { Failure } from '../../base/failure.ts';
import { calculate } from '../../core/math/calculate.ts';
import { loadLatexParser, resetLatexParser } from '../../core/math/latexParser.ts';
import type { AgentTool } from '../../core/reflexion/agentTool.ts';
import { withTimeLimit } from '../../rewards/withTimeLimit.ts';

const limitMs = 200;

/** Tool for exact arithmetic, using the evaluator from the accuracy reward. */
export function calculatorTool(name: string): AgentTool {
	return {
		name,
		description:
			'exact arithmetic: write one expression, such as (3/4)^2 + sqrt(2), 17 mod 5, 10!, gcd(12, 18) or ln(10). No words, no variables.',
		searches: false,
		async run(query) {
			await loadLatexParser();
			const timed = withTimeLimit(limitMs, () => calculate(query));
			if ('tooLong' in timed) {
				resetLatexParser();
				throw new Failure('invalid', `Evaluating the expression takes longer than ${limitMs} ms.`);
			}
			const found = timed.value;
			if ('fault' in found) throw new Failure('invalid', found.fault);
			const expression = query.trim().replace(/\s+/g, ' ');
			const text = `${expression} = ${found.value}${roundings(found.value)}`;
			return { sources: [{ source: `${name}: ${expression}`, title: null, text }] };
		},
	};
}

/** Returns the rounded forms in which an answer might quote a value. A rounded answer still relies on the value. */
function roundings(value: string): string {
	const decimal = /-?\d+\.\d{3,}$/.exec(value)?.[0];
	if (decimal === undefined || decimal.length > 300) return '';
	return ` (rounded: ${[0, 1, 2, 3, 4].map((places) => Number(decimal).toFixed(places)).join(', ')})`;
}
