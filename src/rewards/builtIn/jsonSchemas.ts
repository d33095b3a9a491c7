import { Ajv, type ValidateFunction } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { Failure } from '../../base/failure.ts';
import type { JsonValidator } from '../../core/reward/jsonSchemaReward.ts';
import { withTimeLimit } from '../withTimeLimit.ts';

/** Maximum length of a schema, in characters. Schemas are compiled to code, so their size is limited. */
const largestSchema = 200_000;
/** Timeouts for compiling a schema and for validating one value. Schema patterns can take exponential time. */
const compileMs = 2000;
const validateMs = 200;
const maxCompiled = 200;

/** Schema keywords that can make validating a value take longer than reading it. */
const slowWords = /"(?:pattern|patternProperties|uniqueItems|\$ref|\$dynamicRef|\$recursiveRef)":/;

interface Compiled {
	readonly validate: ValidateFunction;
	readonly slow: boolean;
}

/**
 * Compiled schemas, keyed by source text; the oldest is evicted first. Each draft has its own Ajv. Importing this file
 * loads Ajv, so import it only when needed.
 */
export class JsonSchemas {
	readonly #drafts: Readonly<Record<string, Ajv>>;
	readonly #compiled = new Map<string, Compiled>();

	constructor() {
		// A dataset's schema can contain keywords from other tools. Formats are not checked because that requires another
		// package.
		const options = { strict: false, validateFormats: false, addUsedSchema: false, logger: false } as const;
		this.#drafts = { '07': new Ajv(options), '2019': new Ajv2019(options), '2020': new Ajv2020(options) };
	}

	/**
	 * Returns whether a value matches a schema. Throws `invalid` for an invalid schema and `timeout` if validation takes
	 * too long.
	 */
	readonly accepts: JsonValidator = (schema, value) => {
		const { validate, slow } = this.#compile(schema);
		try {
			// Enforcing a time limit costs more than most checks, so do it only for keywords that can be slow.
			if (!slow) return validate(value) === true;
			return inTime(validateMs, 'Validating the answer against the schema', () => validate(value)) === true;
		} catch (error) {
			throw explained(error, 'Validating the answer against the schema');
		}
	};

	/** Throws `invalid` if the schema is invalid. */
	check(schema: object): void {
		this.#compile(schema);
	}

	#compile(schema: object): Compiled {
		const text = JSON.stringify(schema);
		const known = this.#compiled.get(text);
		if (known !== undefined) return known;
		if (text.length > largestSchema) {
			throw new Failure(
				'invalid',
				`The JSON Schema has ${text.length} characters, which exceeds the limit of ${largestSchema}.`,
			);
		}
		const ajv = this.#draftOf(schema);
		// Copy the schema: Ajv caches by object and would otherwise retain the caller's object.
		const copy = JSON.parse(text) as object;
		if ((copy as { $async?: unknown }).$async !== undefined) {
			throw new Failure('invalid', 'The JSON Schema uses "$async", which is not supported.', 'Remove "$async".');
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
	throw new Failure('timeout', `${doing} took too long.`, 'Simplify the patterns in the schema.');
}

function explained(error: unknown, doing: string): Failure {
	if (error instanceof Failure) return error;
	return new Failure('invalid', `${doing} failed: ${(error as Error).message}.`, 'Fix the schema.');
}
