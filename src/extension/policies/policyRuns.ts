import type { PolicySpec } from '../../protocol/policySpec.ts';
import type { SearchResult } from '../../protocol/searchWorker.ts';
import type { ServerPolicy } from './policySettings.ts';

/** Policy operations outside of searches. They run in a separate process and require a trusted workspace. */
export interface PolicyRuns {
	probe(policy: PolicySpec, signal: AbortSignal): Promise<SearchResult<'probe'>>;
	models(server: ServerPolicy, key: string): Promise<readonly string[]>;
}
