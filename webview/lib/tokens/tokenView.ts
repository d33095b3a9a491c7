import type { IDisposable } from '../../../src/base/disposable.ts';
import { formatCount, formatCounted } from '../../../src/base/format.ts';
import { type TokenKind, tokenKinds } from '../../../src/core/search/forkRule.ts';
import type { TokenDetail } from '../../../src/core/search/policy.ts';
import type { TokenStatistic } from '../../../src/core/search/tokenStatistics.ts';
import { button, dropdown } from '../controls.ts';
import { element, fill, setText } from '../dom.ts';
import { alternativeList, alternativesAt, tokenLabel } from './alternativeList.ts';
import {
	highestLevel,
	kindNames,
	kindsOf,
	kindWords,
	knownStatistics,
	levelOf,
	type StatisticColumn,
	statisticColumn,
	statisticNames,
	statisticWords,
	tokenWords,
	valueWords,
} from './statisticScale.ts';
import { TokenHover } from './tokenHover.ts';
import { TokenStrip } from './tokenStrip.ts';
import { TokenText } from './tokenText.ts';

export interface TokenViewOptions {
	readonly label: string;
	/** Token details from the `tokens` event of a node. */
	readonly detail: TokenDetail;
	/** Statistic initially used for colors, if available. */
	readonly statistic: TokenStatistic;
	/** true if tokens can be forced; otherwise, the reason why they cannot. */
	readonly canForce: true | string;
	/** Called to continue from a different token at this position. */
	readonly onForce: (token: number, text: string) => void;
	/** Message shown if there are no alternatives. Default: how to record them in a search. */
	readonly noAlternatives?: string;
	readonly onStatistic?: (statistic: TokenStatistic) => void;
}

/**
 * Text of a node, displayed token by token and colored by a statistic of the next-token distribution. Also shows
 * a sparkline of the statistic, the positions where the fork rule finds an alternative continuation, and the alternatives at each token.
 */
export class TokenView implements IDisposable {
	readonly element: HTMLElement;
	readonly #options: TokenViewOptions;
	readonly #kinds: readonly (TokenKind | null)[];
	readonly #forks: readonly number[];
	#column: StatisticColumn | null;
	readonly #text: TokenText;
	readonly #strip = new TokenStrip((token) => this.#go(token));
	readonly #hover = new TokenHover();
	readonly #legend = element('p', { class: 'token-legend' });
	readonly #facts = element('p', { class: 'token-facts', role: 'status' });
	readonly #alternatives = element('div', {
		class: 'token-alternatives',
		role: 'group',
		aria: { label: 'Alternatives' },
	});
	#shown = -1;

	constructor(options: TokenViewOptions) {
		this.#options = options;
		const { detail, label } = options;
		this.#kinds = kindsOf(detail);
		this.#forks = this.#kinds.flatMap((kind, i) => (kind === null || kind === 'greedy' ? [] : [i]));
		const known = knownStatistics(detail);
		const first = known.includes(options.statistic) ? options.statistic : known[0];
		this.#column = first === undefined ? null : statisticColumn(detail, first);
		this.#text = new TokenText({
			label: `${label}: use arrow keys to move between tokens, Enter to open the alternatives`,
			text: detail.text,
			start: this.#forks[0] ?? 0,
			classOf: (i) => this.#classOf(i),
			onShow: (token, moved) => (moved ? this.#show(token) : this.#point(token)),
			onLeave: () => this.#hover.hide(),
			onPick: () => this.#hover.hide(),
		});
		this.#text.element.addEventListener('keydown', (event) => this.#onKey(event));
		this.#alternatives.addEventListener('keydown', (event) => this.#onAlternativeKey(event));
		this.element = element(
			'div',
			{ class: 'token-view' },
			this.#tools(known, first),
			this.#column !== null && this.#strip.element,
			this.#text.element,
			this.#facts,
			this.#alternatives,
			this.#hover.element,
		);
		this.#draw();
		if (detail.text.length > 0) this.#show(this.#forks[0] ?? 0);
	}

	dispose(): void {
		this.#hover.dispose();
		this.#text.dispose();
		this.element.remove();
	}

	#tools(known: readonly TokenStatistic[], first: TokenStatistic | undefined): HTMLElement {
		const forks = this.#forks.length;
		const hasKinds = this.#kinds.some((kind) => kind !== null);
		const move = (by: 1 | -1, label: string, icon: 'previous' | 'next') => {
			const control = button({ label, icon, appearance: 'icon', onClick: () => this.#goToFork(by) });
			control.setDisabled(forks === 0);
			return control.element;
		};
		return element(
			'div',
			{ class: 'token-tools' },
			first !== undefined &&
				dropdown({
					label: 'Color by',
					showLabel: true,
					choices: known.map((value) => ({ value, label: statisticNames[value] })),
					value: first,
					onChange: (value) => this.#colorBy(value as TokenStatistic),
				}).element,
			hasKinds && move(-1, 'Previous fork', 'previous'),
			hasKinds && move(1, 'Next fork', 'next'),
			hasKinds && element('span', { class: 'quiet' }, formatCounted(forks, 'fork')),
			this.#legend,
		);
	}

	#colorBy(name: TokenStatistic): void {
		this.#column = statisticColumn(this.#options.detail, name);
		this.#text.refresh();
		this.#draw();
		this.#options.onStatistic?.(name);
	}

	#classOf(token: number): string {
		const level = this.#column === null ? null : levelOf(this.#column, token);
		const kind = this.#kinds[token] ?? null;
		return `level-${level ?? 'none'}${kind === null ? '' : ` kind-${kind}`}`;
	}

	#draw(): void {
		const column = this.#column;
		if (column === null) {
			fill(this.#legend, 'No data for these tokens.');
			return;
		}
		this.#strip.draw(column, this.#forks);
		this.#strip.mark(Math.max(0, this.#shown));
		const levels = Array.from({ length: highestLevel + 1 }, (_, level) =>
			element('span', { class: `swatch level-${level}`, aria: { hidden: true } }),
		);
		const present = new Set(this.#kinds);
		const marks = tokenKinds.filter((kind) => kind !== 'greedy' && present.has(kind));
		fill(
			this.#legend,
			element('span', { title: statisticWords[column.name] }, `${column.low} `, ...levels, ` ${column.high}`),
			...marks.map((kind) => element('span', { class: `mark-name kind-${kind}` }, kindNames[kind])),
			column.partial && element('span', null, '≈ from recorded alternatives only'),
		);
	}

	/** Selects a token: shows its values and alternatives, and its position in the sparkline. */
	#show(token: number): void {
		if (token === this.#shown) return;
		this.#shown = token;
		const { detail, canForce, onForce } = this.#options;
		this.#strip.mark(token);
		const place = `Token ${formatCount(token + 1)} of ${formatCount(detail.text.length)}`;
		setText(this.#facts, `${place}, “${tokenLabel(detail.text[token] ?? '')}”: ${this.#words(token)}`);
		const alternatives = alternativesAt(detail, token);
		fill(
			this.#alternatives,
			element('h3', null, 'Alternatives'),
			alternatives.length === 0
				? element(
						'p',
						{ class: 'quiet' },
						this.#options.noAlternatives ??
							'The policy returned no alternatives here. To record them, set "tokens" in the search’s sampling settings.',
					)
				: alternativeList(alternatives, canForce === true ? (text) => onForce(token, text) : undefined),
			alternatives.length > 0 && canForce !== true && element('p', { class: 'quiet' }, canForce),
		);
	}

	#point(token: number): void {
		const anchor = this.#text.elementOf(token);
		if (anchor === null) return;
		const { detail } = this.#options;
		const name = element('strong', null, tokenLabel(detail.text[token] ?? ''));
		const value = this.#column === null ? null : valueWords(detail, token, this.#column.name);
		const kind = this.#kinds[token] ?? null;
		const words = [value, kind === null ? null : kindWords[kind]].filter((one) => one !== null);
		const facts = element('p', null, words.join(' · '));
		this.#hover.show(anchor, name, facts, alternativeList(alternativesAt(detail, token).slice(0, 6)));
	}

	#words(token: number): string {
		return tokenWords(this.#options.detail, token, this.#kinds[token] ?? null);
	}

	#go(token: number): void {
		this.#hover.hide();
		this.#text.move(token);
	}

	#goToFork(by: 1 | -1): void {
		const at = this.#text.current;
		const next = by === 1 ? this.#forks.find((fork) => fork > at) : this.#forks.findLast((fork) => fork < at);
		const token = next ?? (by === 1 ? this.#forks[0] : this.#forks.at(-1));
		if (token !== undefined) this.#go(token);
	}

	#onKey(event: KeyboardEvent): void {
		if (event.ctrlKey || event.altKey || event.metaKey) return;
		if (event.key === 'Escape') this.#hover.hide();
		else if (event.key === 'Enter') this.#alternatives.querySelector('button')?.focus();
		else if (event.key === 'n' || event.key === 'p') this.#goToFork(event.key === 'n' ? 1 : -1);
		else return;
		event.preventDefault();
		event.stopPropagation();
	}

	#onAlternativeKey(event: KeyboardEvent): void {
		const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (event.key === 'Escape') this.#text.element.focus();
		else if (by !== undefined) {
			const buttons = [...this.#alternatives.querySelectorAll('button')];
			const at = buttons.indexOf(event.target as HTMLButtonElement);
			buttons[at + by]?.focus();
		} else return;
		event.preventDefault();
		event.stopPropagation();
	}
}
