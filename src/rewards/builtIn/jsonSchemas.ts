import { createContext, Script } from 'node:vm';
import type { Ajv, ValidateFunction } from 'ajv';
import { Failure } from '../../base/failure.ts';
import type { JsonValidator } from '../../core/reward/jsonSchemaReward.ts';

/** Characters of a schema's text. Compiling makes code of it, so it is bounded. */
const largestSchema = 200_000;
/** Of compiling a schema, and of one value. A pattern of a schema may take exponential time. */
const compileMs = 2000;
const validateMs = 200;
const mostCompiled = 200;

/** Runs a function in this process; V8 ends it, also inside a regular expression. */
function withTimeout<T>(run: () => T, ms: number): T {
	box.run = run;
	try {
		return script.runInContext(context, { timeout: ms }) as T;
	} finally {
		box.run = null;
	}
}
const box: { run: (() => unknown) | null } = { run: null };
const context = createContext(box);
const script = new Script('run()');

/** Compiled schemas by their text; the oldest goes first. Each draft has an Ajv of its own, loaded when it is needed. */
export class JsonSchemas {
	readonly #drafts: Readonly<Record<string, Ajv>>;
	readonly #compiled = new Map<string, ValidateFunction>();

	private constructor(drafts: Readonly<Record<string, Ajv>>) {
		this.#drafts = drafts;
	}

	static async load(): Promise<JsonSchemas> {
		const [draft07, draft2019, draft2020] = await Promise.all([
			import('ajv'),
			import('ajv/dist/2019.js'),
			import('ajv/dist/2020.js'),
		]);
		// A dataset's schema may hold words of other tools; formats need a package of their own and are not checked.
		const options = { strict: false, validateFormats: false, addUsedSchema: false, logger: false } as const;
		return new JsonSchemas({
			'07': new draft07.Ajv(options),
			'2019': new draft2019.Ajv2019(options),
			'2020': new draft2020.Ajv2020(options),
		});
	}

	/** Whether a schema accepts a value. Throws `invalid` for what is no schema, `timeout` for one that takes too long. */
	readonly accepts: JsonValidator = (schema, value) => {
		const validate = this.#compile(schema);
		try {
			return withTimeout(() => validate(value), validateMs) === true;
		} catch (error) {
			throw explained(error, 'Checking the answer against the schema');
		}
	};

	/** Throws `invalid` for what is no schema. */
	check(schema: object): void {
		this.#compile(schema);
	}

	#compile(schema: object): ValidateFunction {
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
			validate = withTimeout(() => ajv.compile(copy), compileMs);
		} catch (error) {
			throw explained(error, 'Compiling the JSON Schema');
		} finally {
			ajv.removeSchema(copy);
		}
		this.#compiled.set(text, validate);
		if (this.#compiled.size > mostCompiled) this.#compiled.delete(this.#compiled.keys().next().value as string);
		return validate;
	}

	#draftOf(schema: object): Ajv {
		const named = (schema as { $schema?: unknown }).$schema;
		const draft = typeof named === 'string' ? (/draft-(07|06)|draft\/(2019|2020)/.exec(named)?.slice(1) ?? []) : [];
		const key = draft.find((part) => part !== undefined) ?? '2020';
		return (this.#drafts[key === '06' ? '07' : key] ?? this.#drafts['2020']) as Ajv;
	}
}

function explained(error: unknown, doing: string): Failure {
	if (error instanceof Failure) return error;
	if ((error as { code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') {
		return new Failure('timeout', `${doing} took too long.`, 'Simplify the patterns of the schema.');
	}
	return new Failure('invalid', `${doing} failed: ${(error as Error).message}.`, 'Correct the schema.');
}
