/** What an option or an argument takes; a list: one of its names. */
export type ValueType = 'flag' | 'text' | 'integer' | 'number' | 'path' | 'verb' | readonly string[];

/** One option of a verb. Parsing, help and shell completion all read this declaration. */
export interface Option {
	readonly type: ValueType;
	/** Placeholder of the value in the help, such as `FILE`. */
	readonly value: string;
	/** One or two sentences. The names of a choice are added to it. */
	readonly meaning: string;
	/** Heading in the help. */
	readonly group?: string;
	/** May be given several times. */
	readonly repeatable?: true;
	/** Least value of a number. */
	readonly min?: number;
}

/** Name without the dashes -> option. */
export type Options = Readonly<Record<string, Option>>;

/** One positional argument of a verb. */
export interface Argument {
	/** As the usage line shows it, such as `recipe`. */
	readonly name: string;
	/** As a sentence names it, such as `a recipe file`. */
	readonly phrase: string;
	readonly type: ValueType;
	readonly optional?: true;
	/** How many values the last argument takes; 1 unless stated. */
	readonly max?: number;
}

type ValueOf<T extends Option> = T['type'] extends 'flag'
	? boolean
	: T['type'] extends 'integer' | 'number'
		? number
		: T['type'] extends readonly (infer Name)[]
			? Name
			: string;

/** What a command line gave for each option; options that were not given are absent. */
export type OptionValues<T extends Options> = {
	readonly [K in keyof T]?: T[K] extends { readonly repeatable: true } ? ValueOf<T[K]>[] : ValueOf<T[K]>;
};

export const flag = (meaning: string) => ({ type: 'flag', value: '', meaning }) as const;
export const text = (value: string, meaning: string) => ({ type: 'text', value, meaning }) as const;
/** A file or a folder. */
export const path = (value: string, meaning: string) => ({ type: 'path', value, meaning }) as const;
/** A whole number, zero included unless `min` says otherwise. */
export const integer = (value: string, meaning: string, min = 0) => ({ type: 'integer', value, meaning, min }) as const;
export const number = (value: string, meaning: string) => ({ type: 'number', value, meaning }) as const;
export const choice = <const T extends readonly string[]>(type: T, value: string, meaning: string) =>
	({ type, value, meaning }) as const;
export const repeatable = <const T extends Option>(option: T) => ({ ...option, repeatable: true }) as const;

/** The same options under one heading of the help. */
export const group = <const T extends Options>(heading: string, options: T): T =>
	Object.fromEntries(Object.entries(options).map(([name, option]) => [name, { ...option, group: heading }])) as T;

/** Options of every verb. */
export const commonOptions = {
	json: flag('Print JSON, one object per line, and nothing else on stdout.'),
	help: flag('Show this help.'),
} as const satisfies Options;
