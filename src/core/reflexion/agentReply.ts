import * as v from 'valibot';
import { decode } from '../../protocol/decode.ts';
import { withoutThinking } from '../search/prompts/readReply.ts';
import { jsonObjectIn } from './jsonObjectIn.ts';

const longest = 20_000;

const line = v.pipe(v.string(), v.trim(), v.maxLength(4000, 'must have at most 4000 characters'));
const item = v.pipe(line, v.minLength(1, 'must not be empty'));

/** A list of points, or a string with one point per line. "none" does not count as a point. */
const points = v.pipe(
	v.union([v.pipe(v.array(line), v.maxLength(30, 'must have at most 30 points')), line], 'must be a list of strings'),
	v.transform((given) =>
		(typeof given === 'string' ? given.split('\n') : given)
			.map((point) => point.replace(/^\s*(?:[-*•]|\d{1,2}[.)])\s+/, '').trim())
			.filter((point) => point !== '' && !/^\W*(?:none|nothing|n\/?a|no)?\W*$/i.test(point)),
	),
);

const query = v.union(
	[item, v.object({ tool: v.optional(v.nullable(item), null), query: item })],
	'must be a string, or {"tool", "query"}',
);

const answer = v.pipe(
	v.string('must be a string'),
	v.trim(),
	v.minLength(1, 'must not be empty'),
	v.maxLength(longest, `must have at most ${longest} characters`),
);
const reflection = v.object({ missing: points, superfluous: points }, 'must be {"missing", "superfluous"}');
const queries = v.pipe(v.array(query, 'must be a list'), v.maxLength(30, 'must have at most 30 queries'));
const reference = v.union([
	item,
	v.pipe(
		v.number(),
		v.transform((number) => `S${number}`),
	),
]);

export type AgentReplyKind = 'draft' | 'revision';

/** Schema for a draft answer, based on Shinn et al. 2023 and extended for a research agent. */
export const draftSchema = v.object({
	answer,
	reflection,
	search_queries: queries,
	references: v.optional(v.array(reference), []),
});
/** Schema for a revision, which must list its references. */
export const revisionSchema = v.object({
	answer,
	reflection,
	search_queries: queries,
	references: v.pipe(v.array(reference, 'must be a list'), v.maxLength(60, 'must have at most 60 references')),
});
export type AgentReply = v.InferOutput<typeof revisionSchema>;

/** A requested query. If `tool` is null, it is sent to every search tool. */
export interface AgentQuery {
	readonly tool: string | null;
	readonly query: string;
}

export const queriesOf = ({ search_queries }: AgentReply): AgentQuery[] =>
	search_queries.map((one) => (typeof one === 'string' ? { tool: null, query: one } : one));

const names = ['answer', 'reflection', 'search_queries', 'references'] as const;

/**
 * Extracts the JSON object from a model reply, ignoring any surrounding text. If there is none, returns a string that
 * describes the error, as feedback for the model.
 */
export function readAgentReply(reply: string, kind: AgentReplyKind, cutOff = false): AgentReply | string {
	const text = withoutThinking(reply);
	if (text === '') return 'The reply is empty.';
	const found = jsonObjectIn(text, (value) => names.some((name) => Object.hasOwn(value, name)));
	if (found === null) {
		return cutOff || /\{[^}]*$/.test(text)
			? 'The reply has no complete JSON object: it ends inside the object.'
			: 'The reply has no JSON object with "answer", "reflection" and "search_queries".';
	}
	const decoded = decode(kind === 'draft' ? draftSchema : revisionSchema, found);
	if (decoded.ok) return decoded.value;
	return decoded.faults
		.slice(0, 8)
		.map(({ path, message }) => `- ${path === '' ? 'the object' : path}: ${message.slice(0, 300)}`)
		.join('\n');
}

const texts = { type: 'array', items: { type: 'string' } } as const;

/** Returns the reply format as a JSON Schema, for policies that support constrained output. */
export function replyJsonSchema(kind: AgentReplyKind, tools: readonly string[]): Record<string, unknown> {
	const asked = {
		type: 'object',
		properties: { tool: { type: 'string', enum: tools }, query: { type: 'string' } },
		required: ['tool', 'query'],
		additionalProperties: false,
	};
	const reflected = {
		type: 'object',
		properties: { missing: texts, superfluous: texts },
		required: ['missing', 'superfluous'],
		additionalProperties: false,
	};
	return {
		type: 'object',
		properties: {
			answer: { type: 'string' },
			reflection: reflected,
			search_queries: tools.length === 0 ? texts : { type: 'array', items: asked },
			...(kind === 'draft' ? {} : { references: texts }),
		},
		required: ['answer', 'reflection', 'search_queries', ...(kind === 'draft' ? [] : ['references'])],
		additionalProperties: false,
	};
}
