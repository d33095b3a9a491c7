/**
 * The name that a policy is served under: what clients put into URLs, file names and caches. Everything but letters, digits, `.`,
 * `_`, `/` and `-` becomes `-`: "addition, step 160" is `addition-step-160`. A colon is left to separate the strategy.
 */
export function modelName(policy: string): string {
	const name = policy
		.normalize('NFC')
		.replace(/[^\p{L}\p{N}._/-]+/gu, '-')
		.replace(/^[-/]+|[-/]+$/g, '');
	return name === '' ? 'policy' : name;
}
