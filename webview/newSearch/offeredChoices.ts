import { environmentName, isSameEnvironment } from '../../src/core/episode/sameEnvironment.ts';
import type {
	NewSearchEvent,
	OfferedEnvironment,
	OfferedPolicy,
	PolicyFacts,
} from '../../src/protocol/newSearchMessages.ts';
import type { PolicySpec } from '../../src/protocol/policySpec.ts';
import type { SearchEnvironment } from '../../src/protocol/searchSpec.ts';
import { nameOfPolicy } from './policyName.ts';

type Contents = NewSearchEvent | null;

/** Returns the available policies, including a selected one that is not in the list. */
export function policyChoices(contents: Contents, policy: PolicySpec | undefined): readonly OfferedPolicy[] {
	const listed = contents?.policies ?? [];
	if (policy === undefined || listed.some(({ spec }) => JSON.stringify(spec) === JSON.stringify(policy))) return listed;
	return [...listed, { group: 'Other', label: nameOfPolicy(policy), detail: '', spec: policy }];
}

/**
 * Returns the environments to choose from: the one in which the policy was trained, those in the workspace, and the
 * selected one if it is neither.
 */
export function environmentChoices(
	contents: Contents,
	facts: PolicyFacts | null,
	environment: SearchEnvironment | null,
): readonly OfferedEnvironment[] {
	const trained = facts?.environment ?? null;
	const listed = [...(trained === null ? [] : [trained]), ...(contents?.environments ?? [])];
	if (environment === null || listed.some(({ spec }) => isSameEnvironment(spec, environment))) return listed;
	return [...listed, { label: environmentName(environment), description: '', spec: environment }];
}
