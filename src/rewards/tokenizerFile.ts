import { parseBoundedJson } from '../base/boundedJson.ts';
import { tokenizerLimits } from '../base/decodingLimits.ts';
import { Failure } from '../base/failure.ts';
import { formatCounted } from '../base/format.ts';
import { readNamed } from '../files/safeFile.ts';

/** Tokenizer steps that transform text, and the key that holds the steps of a sequence. */
const steps = ['normalizer', 'pre_tokenizer', 'post_processor', 'decoder'] as const;
const parts = ['normalizers', 'pretokenizers', 'processors', 'decoders'] as const;

/**
 * Reads the tokenizer.json of an untrusted model and passes it to `make`. Fails with `missing`, `unsupported` or
 * `invalid`, including when `make` throws.
 */
export async function readTokenizer<T>(path: string, make: (value: object) => T): Promise<T> {
	const text = await readNamed(path, { largest: tokenizerLimits.bytes }).catch((error: unknown) => {
		if (!(error instanceof Failure) || error.reason !== 'missing') throw error;
		throw new Failure('missing', `${path} does not exist.`, 'Use the original tokenizer.json.');
	});
	try {
		const value = parseBoundedJson(text.toString('utf8'));
		checkTokenizer(value);
		return make(value);
	} catch (error) {
		throw new Failure(
			'invalid',
			`${path} is not a valid tokenizer.json: ${(error as Error).message}.`,
			"Use the model's original file.",
		);
	}
}

/** Throws an Error if a tokenizer's steps would greatly expand its input, or if its patterns are too long. */
export function checkTokenizer(value: unknown): asserts value is object {
	if (!isObject(value)) throw new Error('it is not an object');
	for (const name of steps) {
		let growth = 1;
		for (const step of stepsOf(value[name], 0)) {
			const pattern = isObject(step.pattern) ? (step.pattern.Regex ?? step.pattern.String) : undefined;
			if (typeof pattern === 'string' && pattern.length > tokenizerLimits.pattern) {
				throw new Error(`a pattern in its ${name} is ${formatCounted(pattern.length, 'character')} long`);
			}
			for (const made of [step.content, step.prepend, step.replacement]) {
				if (typeof made === 'string') growth *= Math.max(1, made.length);
			}
			if (growth > tokenizerLimits.growth) {
				throw new Error(`its ${name} expands a character to more than ${tokenizerLimits.growth} characters`);
			}
		}
	}
}

function* stepsOf(step: unknown, depth: number): Generator<Record<string, unknown>> {
	if (!isObject(step)) return;
	if (depth > 8) throw new Error('its steps are nested too deeply');
	yield step;
	for (const name of parts) {
		for (const part of Array.isArray(step[name]) ? step[name] : []) yield* stepsOf(part, depth + 1);
	}
}

function isObject(value: unknown): value is Record<string, unknown> {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}
