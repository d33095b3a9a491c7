/** Value type of an option or argument; a list contains the allowed names. */
export type ValueType = 'flag' | 'text' | 'integer' | 'number' | 'path' | 'verb' | readonly string[];

/** An option of a subcommand. Argument parsing, help, and shell completion all use this declaration. */
export interface Option {
	readonly type: ValueType;
	/** Placeholder for the value in the help text, such as `FILE`. */
	readonly value: string;
	/** Description in one or two sentences. The choices are appended automatically. */
	readonly meaning: string;
	/** Heading in the help text. */
	readonly group?: string;
	/** Whether the option can be repeated. */
	readonly repeatable?: true;
	/** Minimum value of a number. */
	readonly min?: number;
}

/** Maps option names without dashes to their declarations. */
export type Options = Readonly<Record<string, Option>>;

/** A positional argument of a verb. */
export interface Argument {
	/** Name in the usage line, such as `recipe`. */
	readonly name: string;
	/** Noun phrase for error messages, such as `a recipe file`. */
	readonly phrase: string;
	readonly type: ValueType;
	readonly optional?: true;
	/** Maximum number of values for the last argument; defaults to 1. */
	readonly max?: number;
}

type ValueOf<T extends Option> = T['type'] extends 'flag'
	? boolean
	: T['type'] extends 'integer' | 'number'
		? number
		: T['type'] extends readonly (infer Name)[]
			? Name
			: string;

/** Parsed option values. Options not given on the command line are omitted. */
export type OptionValues<T extends Options> = {
	readonly [K in keyof T]?: T[K] extends { readonly repeatable: true } ? ValueOf<T[K]>[] : ValueOf<T[K]>;
};

export const flag = (meaning: string) => ({ type: 'flag', value: '', meaning }) as const;
export const text = (value: string, meaning: string) => ({ type: 'text', value, meaning }) as const;
/** Declares a file or folder option. */
export const path = (value: string, meaning: string) => ({ type: 'path', value, meaning }) as const;
/** Declares an integer option, non-negative unless `min` says otherwise. */
export const integer = (value: string, meaning: string, min = 0) => ({ type: 'integer', value, meaning, min }) as const;
export const number = (value: string, meaning: string) => ({ type: 'number', value, meaning }) as const;
export const choice = <const T extends readonly string[]>(type: T, value: string, meaning: string) =>
	({ type, value, meaning }) as const;
export const repeatable = <const T extends Option>(option: T) => ({ ...option, repeatable: true }) as const;

/** Places options under a common help heading. */
export const group = <const T extends Options>(heading: string, options: T): T =>
	Object.fromEntries(Object.entries(options).map(([name, option]) => [name, { ...option, group: heading }])) as T;

/** Options supported by every verb. */
export const commonOptions = {
	json: flag('Print only JSON to stdout, one object per line.'),
	help: flag('Show this help.'),
} as const satisfies Options;
