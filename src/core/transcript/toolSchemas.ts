import type { MadeCall } from './calls.ts';
import { field, isTable } from './pythonValue.ts';
import type { DeclaredTool } from './transcript.ts';

/** Expected tool arguments, and the source of the expectation. */
export interface ToolSchema {
	/** JSON Schema; only `required`, `properties` and `type` are used. */
	readonly schema: unknown;
	/** Description of the source: "the schema in the file". */
	readonly source: string;
}

const text = { type: 'string' };
const texts = { type: 'array', items: text };
const answer = {
	type: 'object',
	required: ['answer', 'reflection', 'search_queries'],
	properties: {
		answer: text,
		reflection: {
			type: 'object',
			required: ['missing', 'superfluous'],
			properties: { missing: text, superfluous: text },
		},
		search_queries: texts,
	},
};

/**
 * Tools of a Reflexion research agent (Shinn et al. 2023, as in the LangGraph tutorial): a draft, and its revisions
 * with references.
 */
const reflexionTools: Readonly<Record<string, unknown>> = {
	AnswerQuestion: answer,
	ReviseAnswer: { ...answer, properties: { ...answer.properties, references: texts } },
};

/** Returns the schema declared in the file or, if there is none, the known schema for a tool with this name. */
export function schemaOf(name: string, declared: readonly DeclaredTool[]): ToolSchema | null {
	const own = declared.find((tool) => tool.name === name);
	if (isTable(own?.schema)) return { schema: own.schema, source: 'the schema in the file' };
	if (!Object.hasOwn(reflexionTools, name)) return null;
	return { schema: reflexionTools[name], source: 'the Reflexion agent schema' };
}

/** Returns the required fields in a schema. */
export function requiredOf(schema: unknown): string[] {
	const required = field(schema, 'required');
	return Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
}

export function propertiesOf(schema: unknown): Readonly<Record<string, unknown>> {
	const properties = field(schema, 'properties');
	return isTable(properties) ? properties : {};
}

/** Matches pydantic's error format: the field on one line, the error on the next. */
const pydanticMissing = /^(\w[\w.]*)\r?\n\s+(?:Field required|field required)/gm;

/** Returns the fields that validators in the transcript require of a tool, with the message that contains the error. */
export function demandedFields(calls: readonly MadeCall[], name: string): Map<string, number> {
	const demanded = new Map<string, number>();
	for (const { call, results } of calls) {
		if (call.name !== name) continue;
		for (const { text: words, index } of results) {
			for (const [, missing = ''] of words.slice(0, 20_000).matchAll(pydanticMissing)) {
				if (!demanded.has(missing)) demanded.set(missing, index);
			}
		}
	}
	return demanded;
}
