import type { PolicySpec } from '../../src/protocol/policySpec.ts';

/** Returns a name for a policy that is not in the panel's list: the end of its path, or the name of its server. */
export function nameOfPolicy(policy: PolicySpec): string {
	const name =
		policy.kind === 'openai'
			? policy.name
			: policy.kind === 'engine'
				? policy.run
				: policy.kind === 'checkpoint'
					? policy.folder
					: policy.file;
	return name.split(/[\\/]/).slice(-3).join('/').slice(-200);
}
