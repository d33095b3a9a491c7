import { Failure } from '../../base/failure.ts';
import type { PolicySpecOf } from '../../protocol/policySpec.ts';
import type { OpenPolicy, PolicyContext } from '../openedPolicy.ts';

/** A model on an OpenAI-compatible server. */
export async function openOpenAiPolicy(spec: PolicySpecOf<'openai'>, _context: PolicyContext): Promise<OpenPolicy> {
	throw new Failure('unsupported', `Servers such as ${spec.baseUrl} cannot be used yet.`);
}
