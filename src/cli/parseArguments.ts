import { parseArgs } from 'node:util';
import { Failure } from '../base/failure.ts';
import { didYouMean, suggest } from '../core/recipe/suggest.ts';
import { type Argument, commonOptions, type Option, type Options, type OptionValues } from './options.ts';

export interface Accepted<T extends Options> {
	readonly name: string;
	readonly arguments: readonly Argument[];
	readonly options: T;
}

export interface Parsed<T extends Options> {
	readonly values: OptionValues<T>;
	readonly positionals: string[];
}

/**
 * Parses the arguments of a verb according to its declaration. Fails with `invalid` for an unknown option, a value of
 * the wrong type, or too few or too many arguments.
 */
export function parseArguments<T extends Options>(verb: Accepted<T>, args: readonly string[]): Parsed<T> {
	const options: Options = { ...verb.options, ...commonOptions };
	const parsed = parse(verb.name, args, options);
	checkCount(verb, parsed.positionals);
	for (const [i, one] of parsed.positionals.entries()) {
		const { name, type } = (verb.arguments[i] ?? verb.arguments.at(-1)) as Argument;
		if (typeof type !== 'string') oneOf(one, type, `The ${name} of reasoning-lab ${verb.name}`);
	}
	const given = Object.entries(parsed.values).filter(([name]) => !Object.hasOwn(commonOptions, name));
	const values = given.map(([name, written]) => {
		const option = options[name] as Option;
		const read = (one: unknown) => readValue(option, one as string | boolean, `--${name}`);
		return [name, Array.isArray(written) ? written.map(read) : read(written)] as const;
	});
	return { values: Object.fromEntries(values) as OptionValues<T>, positionals: parsed.positionals };
}

function parse(verb: string, args: readonly string[], options: Options) {
	const config = Object.entries(options).map(([name, { type, repeatable = false }]) => {
		return [name, { type: type === 'flag' ? 'boolean' : 'string', multiple: repeatable }] as const;
	});
	try {
		return parseArgs({ args: [...args], options: Object.fromEntries(config), allowPositionals: true, strict: true });
	} catch (error) {
		const { message } = error as Error;
		const unknown = /^Unknown option '(-[^']*)'/.exec(message)?.[1];
		if (unknown !== undefined) throw unknownOption(verb, unknown, Object.keys(options));
		const text = message.replace(/\. To specify.*$/s, '').replace(/\.?$/, '.');
		throw new Failure('invalid', text, `See reasoning-lab help ${verb}.`);
	}
}

function checkCount({ name, arguments: declared }: Accepted<Options>, given: readonly string[]): void {
	const max = declared.reduce((sum, one) => sum + (one.max ?? 1), 0);
	if (given.length > max) {
		throw new Failure(
			'invalid',
			`Unexpected argument ${JSON.stringify(given[max])} for reasoning-lab ${name}.`,
			`See reasoning-lab help ${name}.`,
		);
	}
	const missing = declared[given.length];
	if (missing !== undefined && missing.optional === undefined) throw missingArgument(name, missing.phrase);
}

/** @param phrase noun phrase for the argument, such as "a recipe file" */
export function missingArgument(verb: string, phrase: string): Failure {
	return new Failure('invalid', `reasoning-lab ${verb} needs ${phrase}.`, `See reasoning-lab help ${verb}.`);
}

function unknownOption(verb: string, option: string, known: readonly string[]): Failure {
	const near = suggest(option.replace(/^-+/, ''), known);
	const advice = near === null ? `See reasoning-lab help ${verb}.` : `Did you mean "--${near}"?`;
	return new Failure('invalid', `Unknown option "${option.slice(0, 80)}" for reasoning-lab ${verb}.`, advice);
}

function readValue({ type, min }: Option, written: string | boolean, option: string): string | number | boolean {
	if (typeof written === 'boolean') return written;
	if (type === 'integer') return integerOf(written, option, min ?? 0);
	if (type === 'number') return numberOf(written, option);
	return typeof type === 'string' ? written : oneOf(written, type, option);
}

/** Returns `text` if it is a known name. Otherwise fails with `invalid` and suggests a similar name. */
export function oneOf<T extends string>(text: string, known: readonly T[], option: string): T {
	const found = known.find((name) => name === text);
	if (found !== undefined) return found;
	const near = didYouMean(text, known);
	const names = known.length === 1 ? `The only valid value is ${known[0]}.` : `Choose one of ${known.join(', ')}.`;
	throw new Failure('invalid', `${option} is "${text.slice(0, 80)}".`, near === null ? names : `${names} ${near}`);
}

function integerOf(text: string, option: string, min: number): number {
	const value = Number(text);
	if (!/^\d+$/.test(text) || !Number.isSafeInteger(value)) {
		throw new Failure('invalid', `${option} value "${text}" is not an integer.`, `Example: ${option} 1.`);
	}
	if (value >= min) return value;
	throw new Failure('invalid', `${option} is ${value}, but the minimum is ${min}.`);
}

function numberOf(text: string, option: string): number {
	const value = Number(text);
	if (text.trim() !== '' && Number.isFinite(value)) return value;
	throw new Failure('invalid', `${option} value "${text}" is not a number.`, `Example: ${option} 0.5.`);
}
