import { resolve } from 'node:path';
import { checkAborted } from '../base/async.ts';
import type { PolicySpec } from '../protocol/policySpec.ts';
import type { OpenPolicy, PolicyContext } from './openedPolicy.ts';

/**
 * Opens a policy: connects to its engine, serves its checkpoint, or probes its server with a few small requests.
 * Dependencies needed by only one kind of policy are loaded on demand.
 *
 * Fails with `unavailable` (no engine or server), `missing` (no checkpoint, file or key), `invalid` (malformed script
 * or address), `denied` (wrong key), `timeout` or `cancelled`.
 */
export async function openPolicy(spec: PolicySpec, context: PolicyContext): Promise<OpenPolicy> {
	checkAborted(context.signal);
	switch (spec.kind) {
		case 'checkpoint': {
			const { openCheckpointPolicy } = await import('./control/openEnginePolicy.ts');
			return openCheckpointPolicy(resolve(context.folder, spec.folder), context);
		}
		case 'engine': {
			const { openRunPolicy } = await import('./control/openEnginePolicy.ts');
			return openRunPolicy(resolve(context.folder, spec.run), context);
		}
		case 'openai': {
			const { openOpenAiPolicy } = await import('./openai/openOpenAiPolicy.ts');
			return openOpenAiPolicy(spec, context);
		}
		case 'scripted': {
			const { openScriptedPolicy } = await import('./scripted/openScriptedPolicy.ts');
			return openScriptedPolicy(resolve(context.folder, spec.file));
		}
	}
}
