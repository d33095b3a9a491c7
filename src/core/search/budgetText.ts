import { formatCount } from '../../base/format.ts';
import type { SearchBudget } from '../../protocol/treeLog.ts';

export const budgetNames = ['nodes', 'tokens', 'simulations', 'seconds', 'cost'] as const;

/** Budgets to choose from. */
export const offeredBudgets: readonly SearchBudget[] = [
	{ tokens: 2000 },
	{ tokens: 20_000 },
	{ tokens: 200_000 },
	{ simulations: 100 },
	{ nodes: 200 },
	{ seconds: 60 },
];

export function budgetText(budget: SearchBudget): string {
	const parts = budgetNames.flatMap((name) =>
		budget[name] === undefined ? [] : [`${formatCount(budget[name])} ${name}`],
	);
	return parts.length === 0 ? 'unlimited' : parts.join(', ');
}

/** Parses a budget such as "tokens 20000, seconds 60". */
export function readBudget(text: string): SearchBudget | null {
	const budget: Record<string, number> = {};
	for (const part of text.split(/[,;]/)) {
		const match = /^\s*(?:([a-z]+)\s*[= ]\s*(\d+(?:\.\d+)?)|(\d+(?:\.\d+)?)\s*([a-z]+))\s*$/.exec(part);
		const name = match?.[1] ?? match?.[4];
		if (name === undefined || !(budgetNames as readonly string[]).includes(name)) return null;
		budget[name] = Number(match?.[2] ?? match?.[3]);
	}
	return budget;
}

/** Describes the budget format that {@link readBudget} accepts. */
export const budgetFormat = `Use the format "20000 tokens, 60 seconds". Limits: ${budgetNames.join(', ')}.`;
