import { basename, dirname, resolve } from 'node:path';
import type * as v from 'valibot';
import { Failure } from '../base/failure.ts';
import { decodeOrThrow } from '../protocol/decode.ts';
import { type ComparisonSpec, comparisonSpecSchema } from '../protocol/strategyComparison.ts';
import { requireInside } from '../runs/ownFolder.ts';
import { readJson } from '../runs/safeFile.ts';
import type { ComparisonProgress } from '../search/compare/compareStrategies.ts';
import { printable } from './cliOutput.ts';
import { cliSearchContext } from './cliSearchContext.ts';
import { comparedStrategyOf } from './comparedStrategies.ts';
import { comparisonLines } from './comparisonText.ts';
import { onInterrupt } from './interrupts.ts';
import { parseArguments, wholeNumber } from './parseArguments.ts';
import { problemOptionLines, problemOptions, problemsOf } from './problemArguments.ts';
import { policyOf, policyOptionLines, policyOptions, splitOf } from './searchArguments.ts';
import type { Verb } from './verb.ts';
import { WorkTold } from './workTold.ts';

const text = { type: 'string' } as const;
const options = {
	...policyOptions,
	...problemOptions,
	spec: text,
	strategy: { type: 'string', multiple: true },
	out: text,
	samples: text,
	'band-samples': text,
	bands: text,
	temperature: text,
	'top-p': text,
	'max-tokens': text,
	'max-step-tokens': text,
	split: text,
	concurrency: text,
	searches: text,
	seed: text,
	'no-trees': { type: 'boolean' },
} as const;
type Values = ReturnType<typeof parseArguments<typeof options>>['values'];

export const compareStrategiesVerb: Verb = {
	name: 'compare-strategies',
	usage: '--policy P --dataset FILE --strategy S [--strategy S ...]',
	summary: 'Compare search strategies on problems: accuracy against tokens (docs/strategy-comparison.md).',
	options: [
		...policyOptionLines,
		...problemOptionLines('held-out'),
		[
			'--strategy "S ..."',
			'A strategy and its points: "best-of-n n=4,16 judge=value tokens<=1000,4000"; may be repeated. guide=, judge=, split=, name=.',
		],
		['--spec FILE', 'All of this as JSON; what is given besides goes before it.'],
		['--out DIR', 'The folder of results and trees (default: comparisons/NAME); one that is there goes on.'],
		['--samples N', 'Single samples of each problem, which gains are over (default 16).'],
		['--band-samples N', 'Further samples that decide about difficulty bands (default 8; 0: no bands).'],
		['--bands N', 'Difficulty bands (default 5).'],
		['--temperature T', 'Of sampling (default 1); --top-p P likewise.'],
		['--max-tokens N', 'Of a whole completion; --max-step-tokens N of a step (default 256).'],
		['--split RULE', 'Where a step ends (default lines).'],
		['--searches N', 'Searches under way at a time (default 64); --concurrency N: requests of each (default 16).'],
		['--no-trees', 'Keep no logs of the searches.'],
		['--seed S', 'Of all that is random (default 0).'],
	],
	async run({ args, output, engine }) {
		const { values } = parseArguments('compare-strategies', args, options, { names: [], least: 0, most: 0 });
		const spec = await specOf(values);
		const own = spec.name.replace(/[^\w.-]+/g, '-');
		const folder =
			values.out === undefined ? await requireInside(process.cwd(), 'comparisons', own) : resolve(values.out);
		const { compareStrategies } = await import('../search/compare/compareStrategies.ts');
		const context = cliSearchContext(engine, args);
		const interrupt = new AbortController();
		const release = onInterrupt(() => interrupt.abort());
		const told = new WorkTold<ComparisonProgress>(
			output,
			'line',
			(progress) => progress,
			({ done, total, tokens }) => `${done} of ${total} searches, ${tokens} tokens`,
		);
		try {
			const summary = await compareStrategies({
				spec,
				folder,
				context,
				signal: interrupt.signal,
				onFault: told.fault,
				onProgress: told.progress,
			});
			told.end();
			output.object({ kind: 'comparison', folder, ...summary });
			for (const line of comparisonLines(summary)) output.line(printable(line));
			output.line(printable(`${folder}`));
			return summary.state === 'ended' && summary.failed === 0 ? 0 : 1;
		} finally {
			release();
			context.pool.dispose();
		}
	},
};

async function specOf(values: Values): Promise<ComparisonSpec> {
	const given = values.spec === undefined ? {} : await readSpec(resolve(values.spec));
	const number = (name: keyof Values, as: string) => {
		const value = wholeNumber(values[name] as string | undefined, `--${name}`);
		return value === undefined ? {} : { [as]: value };
	};
	const real = (name: keyof Values, as: string) => {
		if (values[name] === undefined) return {};
		const value = Number(values[name]);
		if (Number.isFinite(value)) return { [as]: value };
		throw new Failure('invalid', `--${name} is "${values[name]}", which is not a number.`);
	};
	const problems = (await problemsOf(values, 'held-out')) ?? given.problems;
	if (problems === undefined) {
		throw new Failure('invalid', 'No problems are named.', 'Name them: --dataset FILE, --task NAME or --run RUN.');
	}
	const strategies =
		values.strategy === undefined ? given.strategies : await Promise.all(values.strategy.map(comparedStrategyOf));
	if (strategies === undefined) {
		throw new Failure('invalid', 'No strategy is named.', 'Name one: --strategy "self-consistency n=1,4,16".');
	}
	const spec = {
		name: values.out === undefined ? 'comparison' : basename(resolve(values.out)),
		...given,
		policy: await policyOf(values, given.policy),
		problems,
		strategies,
		sampling: {
			...(given.sampling as object | undefined),
			...real('temperature', 'temperature'),
			...real('top-p', 'topP'),
			...number('max-tokens', 'maxTokens'),
			...number('max-step-tokens', 'maxStepTokens'),
		},
		...(values.split === undefined ? {} : { split: splitOf(values.split) }),
		...number('samples', 'samples'),
		...number('band-samples', 'bandSamples'),
		...number('bands', 'bands'),
		...number('concurrency', 'concurrency'),
		...number('searches', 'searches'),
		...number('seed', 'seed'),
		...(values['no-trees'] ? { trees: false } : {}),
	};
	return decodeOrThrow(
		comparisonSpecSchema as v.GenericSchema<unknown, ComparisonSpec>,
		spec,
		values.spec ?? 'The comparison',
	);
}

/** A specification's file, or `comparison.json` of a folder; its relative paths start in the current folder. */
async function readSpec(path: string): Promise<Record<string, unknown>> {
	const value = await readJson(dirname(path), basename(path));
	const object = (one: unknown): one is Record<string, unknown> =>
		typeof one === 'object' && one !== null && !Array.isArray(one);
	if (!object(value)) throw new Failure('invalid', `${path} is no JSON object.`);
	return object(value.spec) ? value.spec : value;
}
