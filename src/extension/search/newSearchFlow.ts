import * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';
import type { ScorerScope } from '../../core/search/scorer.ts';
import { type AnyStrategy, strategies, strategyOf, strategyParams } from '../../core/search/strategies.ts';
import { needsOf } from '../../core/search/strategy.ts';
import { decodeOrThrow } from '../../protocol/decode.ts';
import type { PolicySpec } from '../../protocol/policySpec.ts';
import { type SearchSpec, type SearchSpecInput, searchSpecSchema } from '../../protocol/searchSpec.ts';
import type { SearchProblem } from '../../protocol/treeLog.ts';
import type { RewardFileList } from '../rewards/rewardFileList.ts';
import { askBudget } from './budgetQuestion.ts';
import { askParams } from './paramsQuestion.ts';
import { askProblem } from './problemQuestion.ts';
import { askChoice, type NoAnswer, type Question } from './questions.ts';
import { askScorer } from './scorerQuestion.ts';
import { searchSettings } from './searchSettings.ts';

/** A partial search spec; the user is asked for the rest. */
export interface SearchDraft extends Partial<Omit<SearchSpecInput, 'policy'>> {
	readonly policy?: PolicySpec | undefined;
	readonly problem?: SearchProblem | undefined;
}

export interface FlowNeeds {
	readonly files: RewardFileList;
	readonly askPolicy: (question: Question, proposed: PolicySpec | null) => Promise<{ value: PolicySpec } | NoAnswer>;
}

export interface WantedSearch {
	readonly spec: SearchSpec;
	readonly problem: SearchProblem;
}

type Draft = { -readonly [K in keyof SearchDraft]: SearchDraft[K] };

interface Step {
	/** Returns whether this step is needed. */
	readonly asks: (draft: Draft) => boolean;
	readonly ask: (draft: Draft, question: Question) => Promise<{ readonly value: Partial<Draft> } | NoAnswer>;
}

/** Returns what a strategy uses scorers for, given its parameters. */
function scorerNeed(draft: Draft): ScorerScope | undefined {
	const strategy = strategyOf(draft.strategy ?? '');
	return needsOf(strategy, strategyParams(strategy, draft.params)).scorer;
}

/**
 * Asks for the missing parts of a search in several steps that the user can go back through, with defaults from the
 * last search. Returns null if the user canceled.
 */
export async function askSearch(given: SearchDraft, last: SearchDraft, needs: FlowNeeds): Promise<WantedSearch | null> {
	const draft: Draft = { ...given };
	const steps = stepsOf(given, last, needs).filter((step) => step.asks(draft));
	const mayGuide = given.strategy === undefined || given.params === undefined;
	for (let at = 0; at < steps.length; ) {
		const step = steps[at] as Step;
		// Earlier answers can make a later step unnecessary, such as the scorer for a strategy that does not use one.
		if (!step.asks(draft)) {
			at++;
			continue;
		}
		const question = { title: 'New Search', step: at + 1, steps: steps.length };
		const answer = await step.ask(draft, question);
		if (answer === 'cancel') return null;
		if (answer === 'back') {
			do at--;
			while (at > 0 && !asksAgain(steps[at] as Step, draft));
			if (at < 0) return null;
			continue;
		}
		Object.assign(draft, answer.value);
		at++;
	}
	const { problem, ...spec } = draft;
	if (problem === undefined) throw new Failure('invalid', 'The search has no problem.');
	if (mayGuide && spec.guide === undefined && scorerNeed(draft) === undefined) spec.guide = null;
	const { simulations } = spec.budget ?? {};
	// An explicit number of simulations overrides the strategy's default.
	if (given.params === undefined && simulations !== undefined && takesSimulations(draft)) {
		spec.params = { simulations, ...spec.params };
	}
	return { spec: decodeOrThrow(searchSpecSchema, spec, 'The search'), problem };
}

function takesSimulations(draft: Draft): boolean {
	const strategy = strategyOf(draft.strategy ?? '');
	return Object.hasOwn(strategyParams(strategy, draft.params) as object, 'simulations');
}

/** Returns whether an answered step is shown again when the user goes back. */
const asksAgain = (step: Step, draft: Draft): boolean => step.asks({ ...draft, guide: undefined as never });

function stepsOf(given: SearchDraft, last: SearchDraft, { files, askPolicy }: FlowNeeds): Step[] {
	const budget = searchSettings.budget(vscode.workspace.workspaceFolders?.[0]?.uri);
	return [
		{
			asks: () => given.problem === undefined,
			ask: async (_, question) => wrap('problem', await askProblem({ ...question, title: 'New Search: problem' })),
		},
		{
			asks: () => given.policy === undefined,
			ask: async (draft, question) =>
				wrap(
					'policy',
					await askPolicy({ ...question, title: 'New Search: policy' }, draft.policy ?? last.policy ?? null),
				),
		},
		{
			asks: () => given.strategy === undefined,
			ask: async (draft, question) => {
				const proposed = draft.strategy ?? last.strategy;
				const answer = await askStrategy({ ...question, title: 'New Search: strategy' }, proposed);
				if (answer === 'back' || answer === 'cancel') return answer;
				const params = answer.value === last.strategy ? (last.params ?? {}) : {};
				return { value: { strategy: answer.value, params } };
			},
		},
		{
			asks: () => given.strategy === undefined || (given.params === undefined && given.budget === undefined),
			ask: async (draft, question) => {
				const strategy = strategyOf(draft.strategy ?? '');
				const { params = {}, sampling = last.sampling ?? {}, split = last.split, seed, concurrency } = draft;
				const details = { params, sampling, split, seed, concurrency };
				return askParams(
					{ ...question, title: `New Search: parameters of ${strategy.title}` },
					strategy,
					details,
				) as Promise<{ value: Partial<Draft> } | NoAnswer>;
			},
		},
		{
			asks: (draft) =>
				given.guide === undefined &&
				(given.strategy === undefined || draft.strategy === undefined || scorerNeed(draft) !== undefined),
			ask: async (draft, question) => {
				const need = scorerNeed(draft);
				const scope = need === 'step' ? 'step' : 'final';
				const gold = (draft.problem?.answer ?? null) !== null;
				const proposed = draft.guide ?? (last.strategy === draft.strategy ? (last.guide ?? null) : null);
				return wrap(
					'guide',
					await askScorer(
						{ ...question, title: scope === 'step' ? 'New Search: step scorer' : 'New Search: answer scorer' },
						files,
						{ scope, needed: need !== undefined, gold, policy: draft.policy?.kind },
						proposed as never,
					),
				);
			},
		},
		{
			asks: () => given.budget === undefined,
			ask: async (_, question) =>
				wrap('budget', await askBudget({ ...question, title: 'New Search: budget' }, budget, last.budget ?? null)),
		},
	];
}

function wrap<K extends keyof Draft>(
	name: K,
	answer: { readonly value: unknown } | NoAnswer,
): { readonly value: Partial<Draft> } | NoAnswer {
	return answer === 'back' || answer === 'cancel' ? answer : { value: { [name]: answer.value } };
}

export async function askStrategy(
	question: Question,
	proposed: string | undefined,
): Promise<{ readonly value: string } | NoAnswer> {
	return askChoice<string>(
		question,
		strategies.map((strategy: AnyStrategy) => ({
			label: strategy.title,
			description: strategy.source,
			detail: strategy.description,
			value: strategy.name,
		})),
		(name) => name === proposed,
	);
}
