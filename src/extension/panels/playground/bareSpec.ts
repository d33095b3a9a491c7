import type { PolicySpec } from '../../../protocol/policySpec.ts';

/**
 * Removes a policy's own system message and template. The playground adds them itself, which makes them visible and
 * editable.
 */
export function bareSpec(spec: PolicySpec): PolicySpec {
	if (spec.kind !== 'openai') return spec;
	const { system: _, template: __, ...bare } = spec;
	return bare;
}
