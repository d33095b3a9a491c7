import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { Failure } from '../base/failure.ts';
import { didYouMean, suggest } from '../core/recipe/suggest.ts';

/** `--json` is an option of every verb. */
const common = { json: { type: 'boolean' } } as const satisfies ParseArgsOptionsConfig;

/** Reads the arguments of a verb. Fails with `invalid` for an unknown option or a wrong number of arguments. */
export function parseArguments<const T extends ParseArgsOptionsConfig>(
	verb: string,
	args: readonly string[],
	options: T,
	positionals: { readonly names: readonly string[]; readonly least: number; readonly most: number },
) {
	let parsed: ReturnType<typeof parseArgs<{ options: T & typeof common; allowPositionals: true; strict: true }>>;
	try {
		parsed = parseArgs({ args: [...args], options: { ...common, ...options }, allowPositionals: true, strict: true });
	} catch (error) {
		const unknown = /^Unknown option '(-[^']*)'/.exec((error as Error).message)?.[1];
		if (unknown !== undefined) throw unknownOption(verb, unknown, [...Object.keys(common), ...Object.keys(options)]);
		const text = (error as Error).message.replace(/\. To specify.*$/s, '').replace(/\.?$/, '.');
		throw new Failure('invalid', text, `See reasoning-lab help ${verb}.`);
	}
	const { length } = parsed.positionals;
	if (length < positionals.least || length > positionals.most) {
		const missing = positionals.names[length];
		throw new Failure(
			'invalid',
			length < positionals.least
				? `reasoning-lab ${verb} needs ${missing ?? 'another argument'}.`
				: `reasoning-lab ${verb} does not know what to do with ${JSON.stringify(parsed.positionals[positionals.most])}.`,
			`See reasoning-lab help ${verb}.`,
		);
	}
	return parsed;
}

function unknownOption(verb: string, option: string, known: readonly string[]): Failure {
	const near = suggest(option.replace(/^-+/, ''), known);
	const advice = near === null ? `See reasoning-lab help ${verb}.` : `Did you mean "--${near}"?`;
	return new Failure('invalid', `Unknown option "${option.slice(0, 80)}" of reasoning-lab ${verb}.`, advice);
}

/** One of some names that an option or an argument may have. Fails with `invalid` for another, with the one that is near. */
export function oneOf<T extends string>(text: string, known: readonly T[], option: string): T {
	const found = known.find((name) => name === text);
	if (found !== undefined) return found;
	const near = didYouMean(text, known);
	const advice = `It is one of ${known.join(', ')}.${near === null ? '' : ` ${near}`}`;
	throw new Failure('invalid', `${option} is "${text.slice(0, 80)}".`, advice);
}

/** A whole number option. */
export function wholeNumber(text: string | undefined, option: string): number | undefined {
	if (text === undefined) return undefined;
	const value = Number(text);
	if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value;
	throw new Failure('invalid', `${option} is "${text}", which is not a whole number.`, `Write it like ${option} 1.`);
}

/** A number option. */
export function realNumber(text: string | undefined, option: string): number | undefined {
	if (text === undefined) return undefined;
	const value = Number(text);
	if (text.trim() !== '' && Number.isFinite(value)) return value;
	throw new Failure('invalid', `${option} is "${text}", which is not a number.`, `Write it like ${option} 0.6.`);
}
