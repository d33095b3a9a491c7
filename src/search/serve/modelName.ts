/**
 * Returns the name under which a policy is served, which clients put into URLs, file names and caches. Everything
 * except letters, digits, `.`, `_`, `/` and `-` becomes `-`: "addition, step 160" becomes `addition-step-160`. This
 * reserves the colon for separating the strategy.
 */
export function modelName(policy: string): string {
	const name = policy
		.normalize('NFC')
		.replace(/[^\p{L}\p{N}._/-]+/gu, '-')
		.replace(/^[-/]+|[-/]+$/g, '');
	return name === '' ? 'policy' : name;
}
