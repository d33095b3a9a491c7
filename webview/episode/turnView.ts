import { formatDuration, formatNumber } from '../../src/base/format.ts';
import type { BranchDifference, TurnDifference } from '../../src/core/episode/branchDifferences.ts';
import type { EpisodeBranch, ShownTurn } from '../../src/protocol/episodeMessages.ts';
import { type Child, element, fill } from '../lib/dom.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { branchName } from './branchNames.ts';
import type { EpisodeModel } from './episodeModel.ts';
import { longText } from './longText.ts';
import { stateTable } from './stateTable.ts';

type Result = ShownTurn['results'][number];

/** The current turn: calls, results, output, and state. Turn 0 is the reset. */
export class TurnView {
	readonly element = element('section', { class: 'turn', aria: { label: 'Selected turn' } });
	readonly #model: EpisodeModel;
	#drawn: readonly unknown[] = [];

	constructor(model: EpisodeModel) {
		this.#model = model;
	}

	draw(): void {
		const { shown, turn, other, difference } = this.#model;
		this.element.hidden = shown === null;
		// Expanded text stays expanded until another turn is selected.
		const next = [shown, turn, other, difference];
		if (shown === null || next.every((one, i) => one === this.#drawn[i])) return;
		this.#drawn = next;
		if (turn === 0) fill(this.element, ...this.#reset(shown, difference));
		else fill(this.element, ...this.#turn(shown, turn, difference));
	}

	#reset(branch: EpisodeBranch, difference: BranchDifference | null): Child[] {
		const { reset, columns } = branch;
		const given = element(
			'details',
			{ class: 'given' },
			element('summary', null, 'Row'),
			longText('Row', JSON.stringify(columns, null, 2)),
		);
		if (reset === null) return [heading('Reset', []), given];
		const { observation, rest, done, durationMs, logs, state } = reset;
		const other = this.#model.other;
		const differs = difference?.reset.observation === true && other !== null;
		return [
			heading('Reset', [timeOf(durationMs), done === true && 'done']),
			given,
			element('h4', null, 'Observation'),
			observation === null
				? element('p', { class: 'quiet' }, 'reset returned no observation.')
				: longText('Observation', observation, rest?.length),
			differs && this.#otherText(other.reset?.observation ?? null),
			...printed(logs),
			...this.#state(state, undefined, difference?.reset.state ?? []),
		];
	}

	#turn(branch: EpisodeBranch, number: number, difference: BranchDifference | null): Child[] {
		const turn = branch.turns[number - 1] as ShownTurn;
		const { calls, results, done, durationMs, reward, logs, state } = turn;
		const before = number === 1 ? branch.reset?.state : branch.turns[number - 2]?.state;
		const compared = difference?.turns[number - 1] ?? null;
		const failed = number === branch.turns.length && branch.error?.during === 'call';
		return [
			heading(`Turn ${number}`, [
				timeOf(durationMs),
				done === true && 'done',
				typeof reward === 'number' && `reward ${formatNumber(reward, 4)}`,
				failed && 'failed',
			]),
			element('h4', null, calls.length === 1 ? 'Call' : 'Calls'),
			...calls.map(({ name, arguments: given }) => callBlock(name, given)),
			results.length > 0 && element('h4', null, results.length === 1 ? 'Result' : 'Results'),
			...results.flatMap((result, i) => this.#result(result, i, number, compared)),
			...printed(logs),
			...(failed ? [] : this.#state(state, before, compared?.state ?? [])),
		];
	}

	#result(result: Result, i: number, number: number, compared: TurnDifference | null): Child[] {
		const { name, content, rest, failed, line } = result;
		const { other } = this.#model;
		const differs = compared?.kind === 'differs' && compared.results[i] === true && other !== null;
		const block = longText(`Result of ${plainLabel(name, 80)}`, content, rest?.length);
		block.classList.add('result');
		block.classList.toggle('bad', failed);
		return [
			block,
			failed &&
				element(
					'p',
					{ class: 'failed' },
					`${plainLabel(name, 80)} raised an exception. `,
					line !== undefined &&
						element(
							'button',
							{
								class: 'link',
								attributes: { type: 'button' },
								on: { click: () => this.#model.post({ type: 'openFile', line }) },
							},
							`Line ${line}`,
						),
				),
			differs && this.#otherText(other.turns[number - 1]?.results[i]?.content ?? null),
		];
	}

	#otherText(text: string | null): HTMLElement {
		const { other } = this.#model;
		const name = other === null ? '' : branchName(other);
		return element(
			'div',
			{ class: 'other' },
			element('h4', null, `In ${name}`),
			text === null ? element('p', { class: 'quiet' }, 'Nothing.') : longText(`In ${name}`, text),
		);
	}

	#state(state: ShownTurn['state'], before: ShownTurn['state'], changes: TurnDifference['state']): Child[] {
		const { other } = this.#model;
		if (state === undefined)
			return [
				element('h4', null, 'State'),
				element('p', { class: 'quiet' }, 'Not recorded. Replay the episode to see it.'),
			];
		const compared = other === null || changes.length === 0 ? null : { name: `In ${branchName(other)}`, changes };
		return [
			element('h4', null, 'State'),
			Object.keys(state).length === 0
				? element('p', { class: 'quiet' }, 'The instance has no attributes.')
				: stateTable(state, before, compared),
		];
	}
}

function heading(words: string, facts: readonly (string | false | null)[]): HTMLElement {
	return element(
		'div',
		{ class: 'head-line' },
		element('h3', null, words),
		...facts.map((fact) => (fact === false || fact === null ? null : element('span', { class: 'quiet' }, fact))),
	);
}

const timeOf = (ms: number | null) => (ms === null ? null : formatDuration(ms / 1000));

function callBlock(name: string, given: unknown): HTMLElement {
	const line = given === undefined ? '' : typeof given === 'string' ? given : JSON.stringify(given);
	const text = line.length <= 100 || typeof given === 'string' ? line : JSON.stringify(given, null, 2);
	const block = longText(`Call of ${plainLabel(name, 80)}`, text === '{}' ? 'no arguments' : text);
	block.classList.add('call');
	block.prepend(element('strong', { class: 'tool-name' }, plainLabel(name, 120)));
	return block;
}

function printed(logs: readonly string[] | undefined): Child[] {
	if (logs === undefined || logs.length === 0) return [];
	return [element('h4', null, 'Output'), longText('Output', logs.join('\n'))];
}
