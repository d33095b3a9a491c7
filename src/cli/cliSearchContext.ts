import { PolicyPool } from '../search/policyPool.ts';
import type { SearchContext } from '../search/searchContext.ts';

/**
 * What searches take from the command line's own process; the pool is disposed of with the verb.
 * @param args as the person typed them: only the environment variables that they name are read as keys
 */
export function cliSearchContext(engine: string, args: readonly string[]): SearchContext {
	const { env: environment } = process;
	const keyVariables = typedKeyVariables(args);
	return {
		pool: new PolicyPool(0),
		policies: { engine, client: 'reasoning-lab', folder: process.cwd(), environment, keyVariables },
		environment,
	};
}

const option = '--key-variable';

/** Names of variables with keys in arguments: of `--key-variable`, and of policies that are written out as JSON. */
export function typedKeyVariables(args: readonly string[]): string[] {
	return args.flatMap((one, i) => {
		if (one === option) return args.slice(i + 1, i + 2);
		if (one.startsWith(`${option}=`)) return [one.slice(option.length + 1)];
		return [...one.matchAll(/"keyVariable"\s*:\s*"([^"\\]+)"/g)].map((match) => match[1] as string);
	});
}
