import { ownSearchContext } from '../search/ownSearchContext.ts';
import type { SearchContext } from '../search/searchContext.ts';

/**
 * Creates the search context for the CLI process. The pool is disposed when the verb finishes.
 * @param args arguments as typed by the user; only environment variables named in them are read as API keys
 * @param python interpreter for environments, if the user chose one
 */
export function cliSearchContext(engine: string, args: readonly string[], python?: string): SearchContext {
	const keyVariables = typedKeyVariables(args);
	const own = ownSearchContext({ engine, client: 'reasoning-lab', folder: process.cwd(), keyVariables });
	return python === undefined ? own : { ...own, python };
}

const option = '--key-variable';

/** Returns the API key variables named in the arguments, either by `--key-variable` or in JSON policies. */
export function typedKeyVariables(args: readonly string[]): string[] {
	return args.flatMap((one, i) => {
		if (one === option) return args.slice(i + 1, i + 2);
		if (one.startsWith(`${option}=`)) return [one.slice(option.length + 1)];
		return [...one.matchAll(/"keyVariable"\s*:\s*"([^"\\]+)"/g)].map((match) => match[1] as string);
	});
}
