import type { IDisposable } from '../../src/base/disposable.ts';
import { formatCounted, formatDuration, formatNumber } from '../../src/base/format.ts';
import type { TraceTags } from '../../src/core/trace/trace.ts';
import type { TurnsContent } from '../../src/protocol/explorerMessages.ts';
import { button } from '../lib/controls.ts';
import { element, fill, unseen } from '../lib/dom.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { marksWithin } from '../lib/trace/marks.ts';
import { drawBlock } from '../lib/trace/textBody.ts';
import { VirtualList } from '../lib/virtualList.ts';
import {
	foldsAtFirst,
	isResult,
	type MadeContent,
	type TurnContent,
	type TurnRow,
	TurnTree,
	turnRows,
} from './turnRows.ts';

/** Maximum number of rows rendered without virtualization. */
const drawnWhole = 40;

export interface TurnsBodyOptions {
	readonly label: string;
	readonly content: TurnsContent;
	readonly tags: TraceTags;
	readonly search: string;
}

/**
 * A conversation turn by turn: role, thinking, and tool calls with results. If it branches, the user can switch
 * branches.
 */
export class TurnsBody implements IDisposable {
	readonly element = element('div', { class: 'turns' });
	readonly #options: TurnsBodyOptions;
	readonly #tree: TurnTree;
	readonly #branches = element('div', { class: 'branches' });
	readonly #folds = element('div', { class: 'turn-folds' });
	/** Folded results. */
	readonly #folded: Set<number>;
	/** Messages whose turns have an expanded state. */
	readonly #states = new Set<number>();
	#leaf: number;
	#rows: TurnRow[] = [];
	#list: VirtualList | null = null;
	#surface: HTMLElement = element('div');

	constructor(options: TurnsBodyOptions) {
		this.#options = options;
		this.#tree = new TurnTree(options.content);
		this.#folded = new Set(this.#results().filter((i) => foldsAtFirst(this.#turn(i), options.search)));
		// Default to the last branch, which is the one the run continued with.
		this.#leaf = this.#tree.leaves.at(-1) ?? -1;
		this.#draw();
	}

	dispose(): void {
		this.#list?.dispose();
		this.element.remove();
	}

	#draw(): void {
		const { label, tags, search } = this.#options;
		this.#list?.dispose();
		this.#list = null;
		const [folded, states] = [this.#folded, this.#states];
		this.#rows = turnRows(
			...([this.#tree, this.#leaf, tags, search] as const),
			(message) => folded.has(message),
			(message) => states.has(message),
		);
		if (this.#rows.length <= drawnWhole) {
			this.#surface = element('div', { class: 'text-body', tabIndex: 0, role: 'group', aria: { label } });
			this.#surface.append(...this.#rows.map((row) => this.#row(row)));
		} else {
			const list = new VirtualList({
				label,
				role: 'group',
				rowRole: 'presentation',
				class: 'text-body',
				position: 'none',
				render: (i) => this.#row(this.#rows[i] as TurnRow),
				estimate: (i) => {
					const row = this.#rows[i] as TurnRow;
					if (row.kind !== 'block') return 26;
					return (row.block.breaks + Math.ceil((row.block.end - row.block.start) / 48)) * 19;
				},
			});
			this.#list = list;
			this.#surface = list.element;
			list.setCount(this.#rows.length);
		}
		this.#drawBranches();
		this.#drawFolds();
		fill(
			this.element,
			this.#tree.leaves.length > 1 && this.#branches,
			this.#results().length > 1 && this.#folds,
			this.#surface,
		);
	}

	#turn(message: number): TurnContent {
		return this.#tree.turns[message] as TurnContent;
	}

	/** Returns the results that can be folded. */
	#results(): number[] {
		return this.#tree.turns.flatMap((turn, i) => (isResult(turn) && turn.content !== '' ? [i] : []));
	}

	/** Draws the buttons that expand and collapse all results. */
	#drawFolds(): void {
		const all = this.#results();
		const control = (label: string, disabled: boolean, change: () => void) => {
			const made = button({
				label,
				onClick: () => {
					change();
					this.#draw();
					this.#folds.querySelector<HTMLElement>('button:not([disabled])')?.focus();
				},
			});
			made.setDisabled(disabled);
			return made.element;
		};
		fill(
			this.#folds,
			control('Expand results', this.#folded.size === 0, () => this.#folded.clear()),
			control('Collapse results', this.#folded.size === all.length, () => {
				for (const message of all) this.#folded.add(message);
			}),
		);
	}

	#toggle(message: number): void {
		if (!this.#folded.delete(message)) this.#folded.add(message);
		this.#draw();
		this.#reveal((row) => row.kind === 'head' && row.message === message, false);
		this.element.querySelector<HTMLElement>(`[data-fold="${message}"]`)?.focus();
	}

	/** Draws the current position among the branches, with previous and next buttons. */
	#drawBranches(): void {
		const { leaves } = this.#tree;
		const at = leaves.indexOf(this.#leaf);
		const move = (by: number, label: string, icon: 'previous' | 'next') => {
			const control = button({
				label,
				icon,
				appearance: 'icon',
				onClick: () => this.#show(leaves[at + by] ?? this.#leaf, icon),
			});
			control.element.dataset.move = icon;
			control.setDisabled(leaves[at + by] === undefined);
			return control.element;
		};
		fill(
			this.#branches,
			move(-1, 'Previous branch', 'previous'),
			element(
				'span',
				{ role: 'status' },
				`Branch ${at + 1} of ${leaves.length} · ${this.#tree.path(this.#leaf).length} messages`,
			),
			move(1, 'Next branch', 'next'),
		);
	}

	#show(leaf: number, focus: 'previous' | 'next' | number): void {
		this.#leaf = leaf;
		this.#draw();
		const wanted = typeof focus === 'number' ? `[data-way="${focus}"]` : `[data-move="${focus}"]`;
		if (typeof focus === 'number') this.#reveal((row) => row.kind === 'branch' && row.next.includes(focus));
		this.element.querySelector<HTMLElement>(wanted)?.focus();
	}

	#reveal(matches: (row: TurnRow) => boolean, mark = true): void {
		const at = this.#rows.findIndex(matches);
		if (at === -1) return;
		const node = this.#list ? this.#list.reveal(at) : (this.#surface.children[at] as HTMLElement | undefined);
		node?.scrollIntoView({ block: 'nearest' });
		if (!mark) return;
		node?.classList.add('pointed');
		setTimeout(() => node?.classList.remove('pointed'), 1200);
	}

	#row(row: TurnRow): HTMLElement {
		switch (row.kind) {
			case 'head':
				return this.#head(row);
			case 'block': {
				const { trace, block, region, name } = row;
				const longest = trace.marks.reduce((max, mark) => Math.max(max, mark.end - mark.start), 0);
				return drawBlock(trace.text, block, marksWithin(trace.marks, longest, block.start, block.end), region, name);
			}
			case 'call': {
				const { call, result, made } = row;
				return element(
					'div',
					{ class: 'turn-call' },
					element('span', { class: 'quiet' }, 'Calls '),
					element('code', null, plainLabel(call.name, 120) || '(unnamed)'),
					call.id !== null && element('span', { class: 'quiet call-id' }, ` ${plainLabel(call.id, 60)}`),
					result === null
						? element('span', { class: 'quiet' }, missingResult(call.id, made))
						: this.#link(
								'result',
								`Result of ${plainLabel(call.name, 60)}`,
								(to) => to.kind === 'head' && to.message === result,
							),
					made?.failed === true && element('span', { class: 'badge warning' }, 'failed'),
				);
			}
			case 'state':
				return this.#state(row);
			case 'branch':
				return element(
					'div',
					{ class: 'turn-branch', role: 'group', aria: { label: 'Branches' } },
					element('span', { class: 'quiet' }, formatCounted(row.next.length, 'branch', 'branches')),
					...row.next.map((message, i) => {
						const way = button({
							label: `Branch ${i + 1}`,
							pressed: message === row.chosen,
							onClick: () => this.#show(this.#tree.leafBelow(message), message),
						}).element;
						way.dataset.way = String(message);
						return way;
					}),
				);
		}
	}

	#head({ turn, answers, made, failed, folded, message }: Extract<TurnRow, { kind: 'head' }>): HTMLElement {
		const role = plainLabel(turn.role, 40) || 'unknown';
		const name = turn.name ?? answers?.call.name ?? null;
		const known = ['system', 'user', 'assistant', 'tool'].includes(turn.role) ? turn.role : 'other';
		return element(
			'div',
			{ class: `turn-head role-${known}` },
			element('strong', null, role),
			name !== null && name !== '' && element('code', null, plainLabel(name, 80)),
			turn.callId !== null && element('span', { class: 'quiet call-id' }, plainLabel(turn.callId, 60)),
			answers !== null &&
				this.#link(
					'call',
					`Call to ${plainLabel(answers.call.name, 60)}`,
					(row) => row.kind === 'call' && row.call === answers.call,
				),
			turn.callId !== null && answers === null && element('span', { class: 'badge warning' }, 'no matching call'),
			failed && element('span', { class: 'badge warning' }, 'failed'),
			made !== null && element('span', { class: 'quiet' }, turnFacts(made.number, made.turn)),
			folded !== null && this.#fold(message, folded),
			folded === true && element('span', { class: 'quiet' }, formatCounted(turn.content.length, 'character')),
			folded === true && element('span', { class: 'quiet turn-preview' }, plainLabel(turn.content, 200)),
			turn.content === '' &&
				turn.calls.length === 0 &&
				turn.thinking === null &&
				element('span', { class: 'quiet' }, unseen('message '), 'empty'),
		);
	}

	#state({ message, number, text, folded }: Extract<TurnRow, { kind: 'state' }>): HTMLElement {
		const toggle = () => {
			if (!this.#states.delete(message)) this.#states.add(message);
			this.#draw();
			this.#reveal((row) => row.kind === 'state' && row.message === message, false);
			this.element.querySelector<HTMLElement>(`[data-state="${message}"]`)?.focus();
		};
		const control = foldButton(`state after turn ${number}`, folded, toggle);
		control.dataset.state = String(message);
		return element(
			'div',
			{ class: 'turn-head turn-state' },
			element('span', { class: 'quiet' }, `State after turn ${number}`),
			control,
			folded && element('span', { class: 'quiet turn-preview' }, plainLabel(text, 200)),
		);
	}

	#fold(message: number, folded: boolean): HTMLElement {
		const { name } = this.#turn(message);
		const of = name === null ? 'result' : `result of ${plainLabel(name, 60)}`;
		const control = foldButton(of, folded, () => this.#toggle(message));
		control.dataset.fold = String(message);
		return control;
	}

	#link(text: string, label: string, matches: (row: TurnRow) => boolean): HTMLElement {
		const node = element(
			'button',
			{ class: 'link', attributes: { type: 'button' }, aria: { label }, title: label },
			text === 'result' ? '↓ result' : '↑ call',
		);
		node.addEventListener('click', () => this.#reveal(matches));
		return node;
	}
}

function foldButton(of: string, folded: boolean, click: () => void): HTMLElement {
	return element(
		'button',
		{
			class: 'link',
			attributes: { type: 'button', 'aria-expanded': String(!folded) },
			aria: { label: `${folded ? 'Expand' : 'Collapse'} ${of}` },
			on: { click },
		},
		folded ? '▸ expand' : '▾ collapse',
	);
}

function missingResult(id: string | null, made: { readonly content: string | null } | null): string {
	if (made !== null && made.content !== null) return ' · result not shown to the policy';
	return id === null && made === null ? '' : ' · no result recorded';
}

/** Formats "Turn 2 · reward 0.5 · 12 ms". */
function turnFacts(number: number, { reward, seconds }: MadeContent): string {
	const parts = [`Turn ${number}`];
	if (reward !== null) parts.push(`reward ${formatNumber(reward, 4)}`);
	if (seconds !== null) parts.push(formatDuration(seconds));
	return parts.join(' · ');
}
