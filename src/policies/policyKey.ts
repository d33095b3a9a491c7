import type { PolicySpecOf } from '../protocol/policySpec.ts';

/**
 * Returns the name under which a server policy's API key is stored and looked up: policy name plus origin. With the
 * name alone, someone else's settings or log could redirect the key to another server.
 */
export function policyKeyName({ name, baseUrl }: Pick<PolicySpecOf<'openai'>, 'name' | 'baseUrl'>): string {
	try {
		return `${name} ${new URL(baseUrl).origin}`;
	} catch {
		// Not a valid URL, so no key will ever be sent.
		return name;
	}
}
