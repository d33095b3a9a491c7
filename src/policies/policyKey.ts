import type { PolicySpecOf } from '../protocol/policySpec.ts';

/**
 * Under which the API key of a server's policy is kept and handed over: its name and its origin. By the name alone, settings or
 * a log of somebody else could have it sent elsewhere.
 */
export function policyKeyName({ name, baseUrl }: Pick<PolicySpecOf<'openai'>, 'name' | 'baseUrl'>): string {
	try {
		return `${name} ${new URL(baseUrl).origin}`;
	} catch {
		// No address, so nothing is ever sent.
		return name;
	}
}
