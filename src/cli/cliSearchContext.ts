import { PolicyPool } from '../search/policyPool.ts';
import type { SearchContext } from '../search/searchContext.ts';

/** What searches take from the command line's own process; the pool is disposed of with the verb. */
export function cliSearchContext(engine: string): SearchContext {
	const { env: environment } = process;
	return {
		pool: new PolicyPool(0),
		policies: { engine, client: 'reasoning-lab', folder: process.cwd(), environment },
		environment,
	};
}
