import { checkValue } from '../rewardValue.ts';

/** Turn rewards, which an environment appends to its `turnRewards` property. Ignored if it is not a list. */
type Owner = { readonly turnRewards?: unknown } | undefined;

const contains = 'turnRewards contains';

/** Returns the number of rewards so far. */
export const turnRewardCount = (instance: Owner): number => listOf(instance).length;

/** Returns the sum of the rewards after the first `count` (null if there are none), or an error if they are invalid. */
export function earnedSince(
	instance: Owner,
	count: number,
): { readonly value: number | null } | { readonly fault: string } {
	const rewards = listOf(instance);
	if (rewards.length < count) return { fault: 'turnRewards became shorter during a turn; only append to it' };
	let value: number | null = null;
	for (const reward of rewards.slice(count)) {
		let checked = checkValue(reward, contains);
		if ('value' in checked && checked.value !== null) {
			value = (value ?? 0) + checked.value;
			checked = checkValue(value, contains);
		}
		if ('fault' in checked) return checked;
	}
	return { value };
}

function listOf(instance: Owner): readonly unknown[] {
	try {
		const rewards = instance?.turnRewards;
		return Array.isArray(rewards) ? rewards : [];
	} catch {
		return []; // A getter that throws.
	}
}
