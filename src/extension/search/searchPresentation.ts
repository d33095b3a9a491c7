import { basename } from 'node:path';
import { formatCounted } from '../../base/format.ts';
import { stopText } from '../../core/search/stopText.ts';
import { isMadeName, searchLogEnding } from '../../runs/searchLog.ts';
import type { ItemFlag } from '../ids.ts';
import { displayText } from '../runView.ts';
import type { SearchView } from './searchStore.ts';

/** Display text for a row in the *Searches* view. `searchesTree.ts` renders it. */
export interface SearchPresentation {
	readonly label: string;
	readonly description: string;
	readonly icon: { readonly id: string; readonly color: string | null };
	readonly contextValue: string;
	readonly tooltip: readonly (readonly [name: string, value: string])[];
	readonly spoken: string;
}

/** Returns the user-given name, or the problem text if the search was not renamed. */
export function searchName({ log, start }: Pick<SearchView, 'log' | 'start'>): string {
	const stem = displayText(basename(log, searchLogEnding));
	return isMadeName(log) ? displayText(start.problem.prompt, 80) || stem : stem;
}

type State = 'running' | 'right' | 'wrong' | 'failed' | 'ended' | 'torn';

function stateOf({ running, end }: SearchView): State {
	if (running) return 'running';
	if (end === null) return 'torn';
	const failed = end.stop === 'policy' || end.stop === 'scorer';
	// A failed search has not produced a wrong answer.
	if (end.correct === true) return 'right';
	if (failed) return 'failed';
	return end.correct === null ? 'ended' : 'wrong';
}

const icons: Readonly<Record<State, SearchPresentation['icon']>> = {
	running: { id: 'pulse', color: 'charts.green' },
	right: { id: 'pass-filled', color: 'testing.iconPassed' },
	wrong: { id: 'circle-slash', color: 'testing.iconFailed' },
	failed: { id: 'error', color: 'problemsErrorIcon.foreground' },
	ended: { id: 'type-hierarchy', color: null },
	torn: { id: 'debug-pause', color: 'charts.yellow' },
};

const stateWords: Readonly<Record<State, string>> = {
	running: 'running',
	right: 'correct',
	wrong: 'incorrect',
	failed: 'failed',
	ended: 'ended',
	torn: 'interrupted',
};

export function presentSearch(view: SearchView): SearchPresentation {
	const { start, end, nodes, running } = view;
	const state = stateOf(view);
	const label = searchName(view);
	const answer = end?.answer == null ? null : `answer ${displayText(end.answer, 30)}`;
	const count = nodes === null ? null : formatCounted(nodes, 'node');
	const strategy = displayText(start.strategy, 30);
	const said = state === 'ended' ? null : stateWords[state];
	const flags: ItemFlag[] = ['search', running ? 'searching' : 'endedSearch'];
	if (!running && start.spec !== undefined) flags.push('resumableSearch');
	if (start.strategy === 'reflexion') flags.push('research');
	const description = [strategy, count, answer, said].filter((part) => part !== null).join(' · ');
	const oracle = start.scorers.some((scorer) => scorer.oracle);
	const rows: (readonly [string, string | null])[] = [
		['Problem', displayText(start.problem.prompt, 300)],
		['Strategy', strategy],
		['Policy', displayText([start.policy.name, start.policy.model].filter(Boolean).join(', '), 120)],
		['Scorers', start.scorers.map(({ name }) => displayText(name, 60)).join(', ') || null],
		['Upper bound', oracle ? 'a scorer sees the gold answer' : null],
		['Nodes', nodes === null ? null : String(nodes)],
		['Tokens', end === null ? null : String(end.tokens)],
		['Seconds', end === null ? null : end.seconds.toFixed(1)],
		['Answer', end?.answer == null ? null : displayText(end.answer, 120)],
		['Gold answer', start.problem.answer === null ? null : displayText(start.problem.answer, 120)],
		['State', end === null || running ? stateWords[state] : `${stateWords[state]}: ${stopText[end.stop]}`],
		['Message', end?.message === undefined ? null : displayText(end.message, 300)],
		['Log', displayText(view.log, 400)],
	];
	return {
		label,
		description,
		icon: icons[state],
		contextValue: flags.join(' '),
		tooltip: rows.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const])),
		spoken: [label, strategy, stateWords[state], count, answer].filter((part) => part !== null).join(', '),
	};
}
