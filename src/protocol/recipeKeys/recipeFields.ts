import * as v from 'valibot';

/** Value types used in recipes. Every message starts with "must": see core/recipe/explainFaults. */

export const described = <S extends v.GenericSchema>(schema: S, text: string) => v.pipe(schema, v.description(text));

export const count = (text: string, low = 1, high = 1e9) =>
	described(
		v.pipe(
			v.number('must be a whole number'),
			v.integer('must be a whole number'),
			v.minValue(low, `must be at least ${low}`),
			v.maxValue(high, `must be at most ${high}`),
		),
		text,
	);

export const real = (text: string, low: number, high = Number.MAX_VALUE) =>
	described(
		v.pipe(
			v.number('must be a number'),
			v.minValue(low, `must be at least ${low}`),
			v.maxValue(high, `must be at most ${high}`),
		),
		text,
	);

export const flag = (text: string) => described(v.boolean('must be true or false'), text);

export const text = (words: string) =>
	described(v.pipe(v.string('must be a string'), v.minLength(1, 'must not be empty')), words);

export const choice = <const T extends readonly string[]>(options: T, words: string) =>
	described(v.picklist(options, `must be one of ${options.map((o) => `"${o}"`).join(', ')}`), words);
