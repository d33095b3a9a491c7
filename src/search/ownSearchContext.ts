import { PolicyPool } from './policyPool.ts';
import type { SearchContext } from './searchContext.ts';

/**
 * Returns a context with a separate policy pool, which the caller disposes of, and with this process's environment.
 * Policies are closed as soon as they are no longer used.
 */
export function ownSearchContext(policies: Omit<SearchContext['policies'], 'environment'>): SearchContext {
	const { env: environment } = process;
	return { pool: new PolicyPool(0), policies: { ...policies, environment }, environment };
}
