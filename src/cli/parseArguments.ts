import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { Failure } from '../base/failure.ts';

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
