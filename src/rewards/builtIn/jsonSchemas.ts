import { Ajv, type ValidateFunction } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { Failure } from '../../base/failure.ts';
import type { JsonValidator } from '../../core/reward/jsonSchemaReward.ts';
import { withTimeLimit } from '../withTimeLimit.ts';

/** Characters of a schema's text. Compiling makes code of it, so it is bounded. */
const largestSchema = 200_000;
/** Of compiling a schema, and of one value. A pattern of a schema may take exponential time. */
const compileMs = 2000;
const validateMs = 200;
const maxCompiled = 200;

/** Words of a schema by which checking a value may take longer than reading it. */
const slowWords = /"(?:pattern|patternProperties|uniqueItems|\$ref|\$dynamicRef|\$recursiveRef)":/;

interface Compiled {
	readonly validate: ValidateFunction;
	readonly slow: boolean;
}

/** Compiled schemas by their text; the oldest goes first. Each draft has an Ajv of its own. Loads Ajv: import this file when it is needed. */
export class JsonSchemas {
	readonly #drafts: Readonly<Record<string, Ajv>>;
	readonly #compiled = new Map<string, Compiled>();

	constructor() {
		// A dataset's schema may hold words of other tools; formats need a package of their own and are not checked.
		const options = { strict: false, validateFormats: false, addUsedSchema: false, logger: false } as const;
		this.#drafts = { '07': new Ajv(options), '2019': new Ajv2019(options), '2020': new Ajv2020(options) };
	}

	/** Whether a schema accepts a value. Throws `invalid` for what is no schema, `timeout` for one that takes too long. */
	readonly accepts: JsonValidator = (schema, value) => {
		const { validate, slow } = this.#compile(schema);
		try {
			// A watch over time costs more than most checks, so it is there for words that can take long.
			if (!slow) return validate(value) === true;
			return inTime(validateMs, 'Checking the answer against the schema', () => validate(value)) === true;
		} catch (error) {
			throw explained(error, 'Checking the answer against the schema');
		}
	};

	/** Throws `invalid` for what is no schema. */
	check(schema: object): void {
		this.#compile(schema);
	}

	#compile(schema: object): Compiled {
		const text = JSON.stringify(schema);
		const known = this.#compiled.get(text);
		if (known !== undefined) return known;
		if (text.length > largestSchema) {
			throw new Failure('invalid', `The JSON Schema has ${text.length} characters, more than ${largestSchema}.`);
		}
		const ajv = this.#draftOf(schema);
		// Copied, so that Ajv's own cache, which goes by the object, holds nothing of the caller's.
		const copy = JSON.parse(text) as object;
		if ((copy as { $async?: unknown }).$async !== undefined) {
			throw new Failure('invalid', 'The JSON Schema has "$async", which is not supported.', 'Remove it.');
		}
		let validate: ValidateFunction;
		try {
			validate = inTime(compileMs, 'Compiling the JSON Schema', () => ajv.compile(copy));
		} catch (error) {
			throw explained(error, 'Compiling the JSON Schema');
		} finally {
			ajv.removeSchema(copy);
		}
		const compiled = { validate, slow: slowWords.test(text) };
		this.#compiled.set(text, compiled);
		if (this.#compiled.size > maxCompiled) this.#compiled.delete(this.#compiled.keys().next().value as string);
		return compiled;
	}

	#draftOf(schema: object): Ajv {
		const named = (schema as { $schema?: unknown }).$schema;
		const draft = typeof named === 'string' ? (/draft-(07|06)|draft\/(2019|2020)/.exec(named)?.slice(1) ?? []) : [];
		const key = draft.find((part) => part !== undefined) ?? '2020';
		return (this.#drafts[key === '06' ? '07' : key] ?? this.#drafts['2020']) as Ajv;
	}
}

function inTime<T>(ms: number, doing: string, run: () => T): T {
	const timed = withTimeLimit(ms, run);
	if ('value' in timed) return timed.value;
	throw new Failure('timeout', `${doing} took too long.`, 'Simplify the patterns of the schema.');
}

function explained(error: unknown, doing: string): Failure {
	if (error instanceof Failure) return error;
	return new Failure('invalid', `${doing} failed: ${(error as Error).message}.`, 'Fix the schema.');
}
