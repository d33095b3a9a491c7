import type { RewardSignature } from '../rewards/rewardSignatures.ts';

/**
 * Returns the zero-based line where a debugger should stop inside a reward: the first line of code after the signature,
 * or the signature's line if the entire reward is on it.
 */
export function bodyLine(
	text: string,
	signature: Pick<RewardSignature, 'endLine'>,
	language: 'python' | 'script',
): number {
	const lines = text.split('\n');
	const own = lines[signature.endLine] ?? '';
	const opens = language === 'python' ? /:\s*(?:#.*)?$/ : /[{(>]\s*(?:\/\/.*)?$/;
	if (!opens.test(own)) return signature.endLine;
	let quote: string | null = null;
	for (let i = signature.endLine + 1; i < lines.length; i++) {
		const line = (lines[i] as string).trim();
		if (quote !== null) {
			if (line.includes(quote)) quote = null;
			continue;
		}
		if (line === '' || (language === 'python' ? line.startsWith('#') : /^(?:\/\/|\/\*|\*)/.test(line))) continue;
		const docstring = language === 'python' ? /^[rRbBuU]*("""|''')/.exec(line) : null;
		if (docstring === null) return i;
		const mark = docstring[1] as string;
		if (!line.slice(docstring[0].length).includes(mark)) quote = mark;
	}
	return signature.endLine;
}
