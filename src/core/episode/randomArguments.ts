import type { Random } from '../../base/random.ts';
import type { ToolSchema } from '../../protocol/environmentHost.ts';

type Schema = Readonly<Record<string, unknown>>;

/** Values preferred by a random policy, because they occur in text that it has seen. */
export interface SeenValues {
	readonly integers: readonly number[];
	readonly words: readonly string[];
}

const maxSeen = 200;

/** Returns the numbers and words in the given strings. */
export function seenValues(texts: readonly (string | null)[]): SeenValues {
	const text = texts
		.filter((one) => one !== null)
		.join('\n')
		.slice(0, 20_000);
	const integers = [...text.matchAll(/-?\d{1,15}/g)].map(([digits]) => Number(digits));
	const words = [...text.matchAll(/[\p{L}\p{N}_]+/gu)].map(([word]) => word);
	return { integers: [...new Set(integers)].slice(0, maxSeen), words: [...new Set(words)].slice(0, maxSeen) };
}

/** Returns arguments that fit a tool's schema. Optional arguments are sometimes omitted. */
export function randomArguments(schema: ToolSchema, seen: SeenValues, random: Random): Record<string, unknown> {
	const { properties, required = [] } = schema.parameters;
	const given: Record<string, unknown> = {};
	for (const [name, property] of Object.entries(properties)) {
		if (!required.includes(name) && random.next() < 0.5) continue;
		given[name] = randomValue(property, seen, random, 0);
	}
	return given;
}

function randomValue(schema: Schema, seen: SeenValues, random: Random, depth: number): unknown {
	const { enum: choices, anyOf, nullable, type } = schema;
	if (Array.isArray(choices) && choices.length > 0) return random.pick(choices);
	if (nullable === true && random.next() < 0.2) return null;
	if (Array.isArray(anyOf) && anyOf.length > 0) return randomValue(random.pick(anyOf) as Schema, seen, random, depth);
	const kind: unknown = Array.isArray(type) && type.length > 0 ? random.pick(type) : type;
	switch (kind) {
		case 'integer':
			return randomInteger(seen, random);
		case 'number':
			return random.next() < 0.5 ? randomInteger(seen, random) : Math.round(2000 * random.next() - 1000) / 100;
		case 'boolean':
			return random.next() < 0.5;
		case 'null':
			return null;
		case 'array':
			return randomArray(schema, seen, random, depth);
		case 'object':
			return {};
		default:
			return randomText(seen, random);
	}
}

/** Returns an integer: one already seen, one within the range of those seen, or a small one. */
function randomInteger({ integers }: SeenValues, random: Random): number {
	const way = random.next();
	if (integers.length > 0 && way < 0.3) return random.pick(integers);
	if (integers.length > 1 && way < 0.8) return random.between(Math.min(...integers), Math.max(...integers));
	return random.between(-2, 12);
}

function randomText({ words }: SeenValues, random: Random): string {
	if (words.length === 0 || random.next() < 0.1) return random.pick(['', 'a', 'test', '1 + 1', '?']);
	return Array.from({ length: random.between(1, 3) }, () => random.pick(words)).join(' ');
}

function randomArray(schema: Schema, seen: SeenValues, random: Random, depth: number): unknown[] {
	if (depth > 2) return [];
	const { items, prefixItems } = schema;
	if (Array.isArray(prefixItems)) return prefixItems.map((one) => randomValue(one as Schema, seen, random, depth + 1));
	const one = (items ?? { type: 'string' }) as Schema;
	return Array.from({ length: random.int(4) }, () => randomValue(one, seen, random, depth + 1));
}
