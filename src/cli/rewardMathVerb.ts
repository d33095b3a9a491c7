import { stat } from 'node:fs/promises';
import * as v from 'valibot';
import { Failure } from '../base/failure.ts';
import { goldText } from '../core/dataset/answer.ts';
import type { Verdict } from '../core/math/comparePlainNumbers.ts';
import { parseTrace, soleAnswer } from '../core/trace/parseTrace.ts';
import { r1Tags } from '../core/trace/trace.ts';
import { LineSplitter, parseLine } from '../files/jsonLines.ts';
import { openNamed } from '../files/safeFile.ts';
import { createMathComparer, type MathComparer } from '../rewards/mathVerifier.ts';
import { printable } from './cliOutput.ts';
import { path } from './options.ts';
import { defineVerb } from './verb.ts';

/** Schema for a line in a pairs file. Additional keys are ignored. */
const pairSchema = v.looseObject({
	gold: v.nullable(v.union([v.string(), v.number(), v.boolean()])),
	prediction: v.nullable(v.union([v.string(), v.number(), v.boolean()])),
});

const words: Readonly<Record<string, string>> = { '1': 'right', '0': 'wrong', null: 'undecided' };

export const rewardMathVerb = defineVerb({
	name: 'reward-math',
	group: 'Rewards',
	usage: '<gold> <prediction> | --pairs FILE',
	arguments: [
		{ name: 'gold', phrase: 'a gold answer', type: 'text', optional: true },
		{ name: 'prediction', phrase: 'a prediction', type: 'text', optional: true },
	],
	summary:
		'Show how the accuracy reward scores an answer: 1 correct, 0 incorrect, null if the gold answer cannot be parsed.',
	options: {
		pairs: path('FILE', 'JSONL with {"gold", "prediction"} on each line. Prints one verdict per line, in input order.'),
	},
	reorder: answersLast,
	async run({ values, positionals, output }) {
		if (values.pairs !== undefined) {
			if (positionals.length > 0) {
				throw new Failure(
					'invalid',
					'--pairs cannot be combined with answers on the command line.',
					'See reasoning-lab help reward-math.',
				);
			}
			const compare = await createMathComparer();
			return judgePairs(values.pairs, compare, (verdict) => output.summary(verdict));
		}
		const [gold, prediction] = positionals;
		if (gold === undefined || prediction === undefined) {
			const missing = gold === undefined ? 'a gold answer' : 'a prediction';
			throw new Failure(
				'invalid',
				`reasoning-lab reward-math requires ${missing}.`,
				'See reasoning-lab help reward-math.',
			);
		}
		const compare = await createMathComparer();
		const { value, reason } = judge(compare, gold, prediction);
		output.object({ value, reason });
		output.line(printable(`${value} ${words[String(value)]}: ${reason}`));
		return 0;
	},
});

/**
 * Scores a completion with answer tags by its only answer section, as in training, and any other completion by its last
 * stated answer.
 */
function judge(compare: MathComparer, gold: string, prediction: string): Verdict {
	if (!prediction.includes(r1Tags.answer[0])) return compare(gold, prediction);
	const answer = soleAnswer(parseTrace(prediction));
	const verdict = compare(gold, answer ?? '', { sole: true });
	if (answer !== null || verdict.value === null) return verdict;
	return { value: 0, reason: 'The completion does not have exactly one answer section.' };
}

/** Moves everything that is not an option of this verb behind `--`, because answers can start with a minus sign. */
function answersLast(args: readonly string[]): string[] {
	const options: string[] = [];
	const answers: string[] = [];
	for (let i = 0; i < args.length; i++) {
		const arg = args[i] as string;
		if (arg === '--') {
			answers.push(...args.slice(i + 1));
			break;
		}
		if (arg === '--pairs') options.push(arg, ...args.slice(++i, i + 1));
		else if (/^--[a-z]/.test(arg)) options.push(arg);
		else answers.push(arg);
	}
	return [...options, '--', ...answers];
}

/**
 * Prints one verdict per line of the file, in order; malformed lines get null and their line number. Returns 1 if any
 * line was malformed, and 0 otherwise.
 */
async function judgePairs(path: string, compare: MathComparer, print: (verdict: Verdict) => void): Promise<number> {
	const info = await stat(path).catch((error: unknown) => {
		throw Failure.from(error, `Cannot read ${path}`);
	});
	if (!info.isFile()) throw new Failure('invalid', `${path} is not a file.`, 'Specify a JSONL file of pairs.');
	const splitter = new LineSplitter();
	let line = 0;
	let bad = 0;
	const judgeLine = (bytes: Uint8Array): void => {
		line++;
		if (bytes.length === 0 || (bytes.length === 1 && bytes[0] === 13)) return;
		const pair = v.safeParse(pairSchema, parseLine(bytes));
		if (!pair.success) {
			bad++;
			print({ value: null, reason: `Line ${line} is not a valid {"gold", "prediction"} pair.` });
			return;
		}
		const { gold, prediction } = pair.output;
		const text = goldText(gold);
		if (text === null) print({ value: null, reason: 'The gold answer is missing.' });
		else {
			const { value, reason } = judge(compare, text, goldText(prediction) ?? '');
			print({ value, reason });
		}
	};
	const handle = await openNamed(path);
	for await (const chunk of handle.createReadStream())
		for (const one of splitter.push(chunk as Uint8Array)) judgeLine(one);
	// The file might not end with a line break.
	for (const one of splitter.push(new Uint8Array([10]))) if (one.length > 0) judgeLine(one);
	return bad > 0 ? 1 : 0;
}
