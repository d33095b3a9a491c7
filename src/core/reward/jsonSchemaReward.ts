import type { RewardEntry } from '../../protocol/builtInRewards.ts';
import type { TraceTags } from '../trace/trace.ts';
import { answerOf, type RewardSample } from './rewardSample.ts';

type Options = Pick<RewardEntry<'json-schema'>, 'schema' | 'column' | 'partial' | 'fence'>;

/** Whether a schema accepts a value; throws when it is no schema. */
export type JsonValidator = (schema: object, value: unknown) => boolean;

const fenced = /^```(?:json)?[^\S\n]*\n([\s\S]*?)\n?```$/i;

/** The schema of a row: its column's, an object or its text; else the option's. null: it has none. Throws for other values. */
function schemaOf({ row }: RewardSample, { column, schema }: Options): object | null {
	const own = column !== undefined && Object.hasOwn(row, column) ? row[column] : null;
	if (own === null || own === undefined) return schema ?? null;
	const value: unknown = typeof own === 'string' ? JSON.parse(own) : own;
	if (typeof value !== 'object' || value === null || Array.isArray(value)) {
		throw new TypeError(`The column "${column}" of the row does not contain a JSON Schema.`);
	}
	return value;
}

/**
 * 1 when the answer is JSON that the schema accepts, `partial` when it is JSON that the schema refuses, else 0; null when the
 * row has no schema. A schema that is none is an error of the row, never a value.
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
