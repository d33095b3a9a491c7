/** Environment variable with a JSON object of API keys by origin: `{"https://api.example.com": "..."}`. */
export const apiKeysVariable = 'REASONING_LAB_API_KEYS';

/**
 * Returns the API keys passed to the process, by origin. The result is empty if there are none. A key is sent only to
 * its own origin.
 */
export function apiKeysOf(environment: Readonly<Record<string, string | undefined>>): Record<string, string> {
	try {
		const keys: unknown = JSON.parse(environment[apiKeysVariable] ?? '{}');
		if (typeof keys !== 'object' || keys === null) return {};
		return Object.fromEntries(Object.entries(keys).filter(([, key]) => typeof key === 'string' && key !== ''));
	} catch {
		return {};
	}
}
