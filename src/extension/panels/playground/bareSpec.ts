import type { PolicySpec } from '../../../protocol/policySpec.ts';

/** A policy without a system message and a template of its own: the playground puts them, so that they are seen and can be changed. */
export function bareSpec(spec: PolicySpec): PolicySpec {
	if (spec.kind !== 'openai') return spec;
	const { system: _, template: __, ...bare } = spec;
	return bare;
}
