import { budgetFormat, budgetText, offeredBudgets, readBudget } from '../../core/search/budgetText.ts';
import type { SearchBudget } from '../../protocol/treeLog.ts';
import { askChoice, askText, type NoAnswer, type Question } from './questions.ts';

type Answer = { readonly value: SearchBudget } | NoAnswer;

/** Asks for a search budget. */
export async function askBudget(
	question: Question,
	standard: SearchBudget,
	last: SearchBudget | null,
): Promise<Answer> {
	const all = [...(last === null ? [] : [last]), standard, ...offeredBudgets];
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
		(typed) => (readBudget(typed) === null ? budgetFormat : null),
	);
	return text === 'back' || text === 'cancel' ? text : { value: readBudget(text.value) as SearchBudget };
}
