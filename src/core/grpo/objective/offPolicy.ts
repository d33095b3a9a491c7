import { logRatios } from './importanceRatio.ts';
import type { ObjectiveRow } from './objective.ts';

/**
 * Returns whether a completion is too far off-policy to learn from: its advantage is negative, and the mean over its
 * tokens of log(sampler / policy) exceeds the threshold. The sampler is the old policy unless the row specifies
 * another. DeepSeek-V3.2 (2025, arXiv:2512.02556), section 3.1, "off-policy sequence masking".
 */
export function isOffPolicy(row: ObjectiveRow, threshold: number): boolean {
	return row.advantage < 0 && (row.samplerDrift ?? 0) - (logRatios(row, 'sequence')[0] ?? 0) > threshold;
}
