import type { RewardEntry } from '../../protocol/recipeKeys/builtInRewards.ts';
import type { TraceTags } from '../trace/trace.ts';
import { answerOf, type RewardSample } from './rewardSample.ts';

type Options = Pick<RewardEntry<'json-schema'>, 'schema' | 'column' | 'partial' | 'fence'>;

/** Returns whether a value conforms to a schema; throws if the schema is invalid. */
export type JsonValidator = (schema: object, value: unknown) => boolean;

const fenced = /^```(?:json)?[^\S\n]*\n([\s\S]*?)\n?```$/i;

/**
 * Returns the schema for a row, from its column (an object or JSON text) or from the options; null if there is none.
 * Throws for other types.
 */
function schemaOf({ row }: RewardSample, { column, schema }: Options): object | null {
	const own = column !== undefined && Object.hasOwn(row, column) ? row[column] : null;
	if (own === null || own === undefined) return schema ?? null;
	const value: unknown = typeof own === 'string' ? JSON.parse(own) : own;
	if (typeof value !== 'object' || value === null || Array.isArray(value)) {
		throw new TypeError(`Column "${column}" does not contain a JSON Schema.`);
	}
	return value;
}

/**
 * Returns 1 if the answer is JSON that conforms to the schema, `partial` if it is JSON that does not conform, and 0
 * otherwise; null if the row has no schema. An invalid schema is reported as a row error and never yields a value.
 */
export function jsonSchemaReward(
	sample: RewardSample,
	options: Options,
	tags: TraceTags,
	accepts: JsonValidator,
): number | null {
	const schema = schemaOf(sample, options);
	if (schema === null) return null;
	const answer = answerOf(sample, tags);
	if (answer === null) return 0;
	const text = options.fence ? (fenced.exec(answer)?.[1] ?? answer) : answer;
	let value: unknown;
	try {
		value = JSON.parse(text);
	} catch {
		return 0;
	}
	return accepts(schema, value) ? 1 : options.partial;
}
