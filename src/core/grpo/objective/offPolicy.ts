import type { ObjectiveRow } from './objective.ts';

/**
 * Returns whether a completion has left the policy too far to learn from: its advantage is negative, and the mean over
 * its tokens of log(old policy / policy) exceeds the threshold. DeepSeek-V3.2 (2025, arXiv:2512.02556), section 3.1,
 * "off-policy sequence masking".
 */
export function isOffPolicy({ logprobs, oldLogprobs, advantage }: ObjectiveRow, threshold: number): boolean {
	if (advantage >= 0 || oldLogprobs === null) return advantage < 0 && threshold < 0;
	let sum = 0;
	for (let t = 0; t < logprobs.length; t++) sum += (oldLogprobs[t] as number) - (logprobs[t] as number);
	return sum / Math.max(1, logprobs.length) > threshold;
}
