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
 * A script rule. The first rule that matches a request answers it. `*` in a pattern matches any text, and `$1`, `$2`...
 * in the reply are replaced by the text that each `*` in the `prompt` pattern matched.
 */
export const scriptRuleSchema = v.strictObject({
	/** Pattern that must match the entire last user message. Default: any message. */
	prompt: v.optional(text),
	/**
	 * Pattern that must match the entire text of at least one message. Distinguishes the steps of strategies that send
	 * instructions. Default: any.
	 */
	message: v.optional(text),
	/**
	 * Pattern that must match the entire prefix to continue; the reply is then the continuation. By default, replies are
	 * complete and include the prefix.
	 */
	after: v.optional(text),
	/** Completions, sampled by weight. Together they define a distribution over tokens. */
	say: v.optional(v.union([saidSchema, v.array(saidSchema)])),
	/** Finish reason of the reply. */
	finish: v.optional(v.picklist(['end', 'length', 'refusal']), 'end'),
	/** If set, the rule fails with this error instead of replying. */
	fail: v.optional(v.strictObject({ reason: v.optional(v.picklist(reasons), 'unavailable'), message: text })),
	/** Delay before replying, in milliseconds. */
	delayMs: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(600_000)), 0),
	/** Number of times the rule can match before later rules take over. Default: unlimited. */
	times: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
});
export type ScriptRule = v.InferOutput<typeof scriptRuleSchema>;

export const capabilityNames = ['logprobs', 'alternatives', 'prefix', 'seed', 'instructions', 'score'] as const;

const headSchema = v.strictObject({
	name: v.optional(text),
	/** Tags around the reasoning and the answer in replies. */
	tags: v.optional(v.object({ think: pair, answer: pair })),
	/** Capabilities to disable. */
	without: v.optional(v.array(v.picklist(capabilityNames)), []),
	/** Context length in tokens, for prompt and completion together. */
	context: v.optional(v.pipe(count, v.minValue(1))),
});

/** A scripted policy: possible completions per prompt, with their weights. */
export const scriptSchema = v.strictObject({ ...headSchema.entries, rules: v.array(scriptRuleSchema) });
export type Script = v.InferOutput<typeof scriptSchema>;
export type ScriptInput = v.InferInput<typeof scriptSchema>;

/**
 * Parses a script: a JSON object with `rules`, or JSON lines with one rule per line, optionally preceded by a head
 * line. Fails with `invalid`.
 */
export function parseScript(source: string, what: string): Script {
	const whole = parsed(source);
	if (isObject(whole) && 'rules' in whole) return decodeOrThrow(scriptSchema, whole, what);
	const lines = source.split('\n').flatMap((line, i) => (line.trim() === '' ? [] : [{ line, number: i + 1 }]));
	const values = lines.map(({ line, number }) => {
		const value = parsed(line);
		if (!isObject(value)) {
			throw new Failure('invalid', `Line ${number} of ${what} is not a JSON object.`, 'Write one rule per line.');
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
