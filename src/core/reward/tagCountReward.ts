import { templateTags } from '../text/template.ts';
import type { TraceTags } from '../trace/trace.ts';
import type { RewardSample } from './rewardSample.ts';

/**
 * Gives equal credit for each template tag that occurs exactly once: 0.25 each with think and answer tags (open-r1's
 * `tag_count_reward`, without the line break requirement). Provides a gradient toward the strict format. Returns null
 * if the template has no tags.
 */
export function tagCountReward({ completion, trace }: RewardSample, tags: TraceTags): number | null {
	const wanted = templateTags(tags);
	if (wanted.length === 0) return null;
	const found = trace.tags.map(({ start, end }) => completion.slice(start, end));
	const once = wanted.filter((tag) => found.filter((one) => one === tag).length === 1);
	return once.length / wanted.length;
}
