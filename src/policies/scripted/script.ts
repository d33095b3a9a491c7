import * as v from 'valibot';
import { parseBoundedJson } from '../../base/boundedJson.ts';
import { Failure, type Reason } from '../../base/failure.ts';
import { decodeOrThrow } from '../../protocol/decode.ts';

const text = v.string();
const pair = v.nullable(v.tuple([text, text]));
const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const reasons = [
	'invalid',
	'unsupported',
	'denied',
	'unavailable',
	'timeout',
	'internal',
] as const satisfies readonly Reason[];

const saidSchema = v.union([text, v.strictObject({ text, weight: v.optional(v.pipe(v.number(), v.minValue(0)), 1) })]);

/**
 * One rule of a script; the first that fits a request answers it. `*` in a pattern stands for any text, and `$1`, `$2`... in
 * what is said for what the pattern of `prompt` had there.
 */
export const scriptRuleSchema = v.strictObject({
	/** The last message of the user, whole. Default: any. */
	prompt: v.optional(text),
	/** Text of any message, whole: tells the steps of a strategy that instructs apart. Default: any. */
	message: v.optional(text),
	/** The beginning that is to be continued, whole; what is said then follows it. Default: what is said is whole completions. */
	after: v.optional(text),
	/** Completions, one of them drawn by weight; they are read as one distribution over tokens. */
	say: v.optional(v.union([saidSchema, v.array(saidSchema)])),
	/** How what is said ends. */
	finish: v.optional(v.picklist(['end', 'length', 'refusal']), 'end'),
	/** Instead of saying something. */
	fail: v.optional(v.strictObject({ reason: v.optional(v.picklist(reasons), 'unavailable'), message: text })),
	/** Before the answer, in milliseconds. */
	delayMs: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(600_000)), 0),
	/** How often the rule answers before those below it do. Default: always. */
	times: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
});
export type ScriptRule = v.InferOutput<typeof scriptRuleSchema>;

export const capabilityNames = ['logprobs', 'alternatives', 'prefix', 'seed', 'instructions', 'score'] as const;

const headSchema = v.strictObject({
	name: v.optional(text),
	/** Tags around the thinking and the answer of what it says. */
	tags: v.optional(v.object({ think: pair, answer: pair })),
	/** What it behaves as if it could not do. */
	without: v.optional(v.array(v.picklist(capabilityNames)), []),
	/** Tokens of prompt and completion together. */
	context: v.optional(v.pipe(count, v.minValue(1))),
});

/** A policy that is played: which completions there are for which prompts, and how likely each is. */
export const scriptSchema = v.strictObject({ ...headSchema.entries, rules: v.array(scriptRuleSchema) });
export type Script = v.InferOutput<typeof scriptSchema>;
export type ScriptInput = v.InferInput<typeof scriptSchema>;

/**
 * A script from its text: one JSON object with `rules`, or JSON lines, one rule a line, of which the first may be the head.
 * Fails with `invalid`.
 */
export function parseScript(source: string, what: string): Script {
	const whole = parsed(source);
	if (isObject(whole) && 'rules' in whole) return decodeOrThrow(scriptSchema, whole, what);
	const lines = source.split('\n').flatMap((line, i) => (line.trim() === '' ? [] : [{ line, number: i + 1 }]));
	const values = lines.map(({ line, number }) => {
		const value = parsed(line);
		if (!isObject(value)) {
			throw new Failure('invalid', `${what}, line ${number}: not a JSON object.`, 'Write one rule per line.');
		}
		return { value, where: `${what}, line ${number}` };
	});
	const [first] = values;
	const hasHead = first !== undefined && !('say' in first.value) && !('fail' in first.value);
	const head = decodeOrThrow(headSchema, hasHead ? first.value : {}, first?.where ?? what);
	const rules = values.slice(hasHead ? 1 : 0);
	if (rules.length === 0) {
		throw new Failure('invalid', `${what} is not a policy script: it has no rules.`, 'See docs/policies.md.');
	}
	return { ...head, rules: rules.map(({ value, where }) => decodeOrThrow(scriptRuleSchema, value, where)) };
}

const isObject = (value: unknown): value is object =>
	typeof value === 'object' && value !== null && !Array.isArray(value);

function parsed(source: string): unknown {
	try {
		return parseBoundedJson(source);
	} catch {
		return undefined;
	}
}
