import { formatCount } from '../../base/format.ts';
import type { SearchBudget } from '../../protocol/treeLog.ts';
import { askChoice, askText, type NoAnswer, type Question } from './questions.ts';

type Answer = { readonly value: SearchBudget } | NoAnswer;

const names = ['nodes', 'tokens', 'simulations', 'seconds', 'cost'] as const;
const offered: readonly SearchBudget[] = [
	{ tokens: 2000 },
	{ tokens: 20_000 },
	{ tokens: 200_000 },
	{ simulations: 100 },
	{ nodes: 200 },
	{ seconds: 60 },
];

export function budgetText(budget: SearchBudget): string {
	const parts = names.flatMap((name) => (budget[name] === undefined ? [] : [`${formatCount(budget[name])} ${name}`]));
	return parts.length === 0 ? 'unlimited' : parts.join(', ');
}

/** Parses a budget such as "tokens 20000, seconds 60". */
export function readBudget(text: string): SearchBudget | null {
	const budget: Record<string, number> = {};
	for (const part of text.split(/[,;]/)) {
		const match = /^\s*(?:([a-z]+)\s*[= ]\s*(\d+(?:\.\d+)?)|(\d+(?:\.\d+)?)\s*([a-z]+))\s*$/.exec(part);
		const name = match?.[1] ?? match?.[4];
		if (name === undefined || !(names as readonly string[]).includes(name)) return null;
		budget[name] = Number(match?.[2] ?? match?.[3]);
	}
	return budget;
}

/** Asks for the budget of a search. */
export async function askBudget(
	question: Question,
	standard: SearchBudget,
	last: SearchBudget | null,
): Promise<Answer> {
	const all = [...(last === null ? [] : [last]), standard, ...offered];
	const budgets = [...new Map(all.map((budget) => [budgetText(budget), budget])).values()];
	const answer = await askChoice<SearchBudget | null>(question, [
		...budgets.map((budget) => ({
			label: budgetText(budget),
			...(budget === last
				? { description: 'same as last time' }
				: budget === standard
					? { description: 'default' }
					: {}),
			value: budget,
		})),
		{ label: '$(edit) Another...', value: null },
	]);
	if (answer === 'back' || answer === 'cancel') return answer;
	if (answer.value !== null) return { value: answer.value };
	const text = await askText(
		{ ...question, placeholder: '20000 tokens, 60 seconds' },
		budgetText(last ?? standard).replaceAll(/(\d),(?=\d)/g, '$1'),
		(typed) =>
			readBudget(typed) === null ? `Use the format "20000 tokens, 60 seconds". Limits: ${names.join(', ')}.` : null,
	);
	return text === 'back' || text === 'cancel' ? text : { value: readBudget(text.value) as SearchBudget };
}
