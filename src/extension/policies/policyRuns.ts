import type { PolicySpec } from '../../protocol/policySpec.ts';
import type { SearchResult } from '../../protocol/searchWorker.ts';
import type { ServerPolicy } from './policySettings.ts';

/** What is asked of policies outside of searches; in a separate process, and only where the workspace is trusted. */
export interface PolicyRuns {
	probe(policy: PolicySpec, signal: AbortSignal): Promise<SearchResult<'probe'>>;
	models(server: ServerPolicy, key: string): Promise<readonly string[]>;
}
