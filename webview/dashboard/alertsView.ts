import type { DashboardAlert, DashboardAlerts } from '../../src/protocol/dashboardMessages.ts';
import { nextFocus } from '../lib/a11y.ts';
import { element, fill, setAria, setText, uniqueId } from '../lib/dom.ts';
import { icon } from '../lib/icons.ts';
import { type AlertActions, alertItem } from './alertItem.ts';
import { countAlerts } from './alertOrder.ts';

export interface AlertsNeeds extends AlertActions {
	readonly collapsed: boolean;
	readonly onCollapse: (collapsed: boolean) => void;
	readonly openSetting: () => void;
	/** Announces a message to screen readers. */
	readonly announce: (words: string) => void;
}

/** List of the run's issues, similar to VS Code's Problems view, headed by a sentence about the likely cause. */
export class AlertsView {
	readonly element: HTMLElement;
	readonly #needs: AlertsNeeds;
	readonly #list: HTMLUListElement;
	readonly #head = element('h2', { class: 'alerts-head' });
	readonly #button: HTMLButtonElement;
	readonly #counts = element('span', { class: 'alerts-counts' });
	readonly #line = element('p', { class: 'alerts-line' });
	readonly #more: HTMLButtonElement;
	#collapsed: boolean;
	#showsDismissed = false;
	#alerts: DashboardAlerts | null = null;
	#key = '';
	/** Ids of announced alerts; null before the first update. */
	#known: Set<string> | null = null;

	constructor(needs: AlertsNeeds) {
		this.#needs = needs;
		this.#collapsed = needs.collapsed;
		const listId = uniqueId('alerts');
		this.#list = element('ul', { class: 'alerts-list', id: listId, aria: { label: 'Alerts' } });
		this.#button = element(
			'button',
			{
				class: 'group-button',
				attributes: { type: 'button' },
				aria: { controls: listId },
				on: { click: () => this.#toggle() },
			},
			icon('expand'),
			'Alerts',
			this.#counts,
		);
		this.#head.append(this.#button);
		this.#more = element('button', {
			class: 'link alerts-more',
			attributes: { type: 'button' },
			on: { click: () => this.#toggleDismissed() },
		});
		this.#list.addEventListener('keydown', (event) => this.#onKey(event));
		this.element = element(
			'section',
			{ class: 'alerts', aria: { label: 'Diagnosis' }, hidden: true },
			this.#head,
			this.#line,
			this.#list,
			this.#more,
		);
	}

	show(alerts: DashboardAlerts | null, hidden: boolean): void {
		this.#alerts = alerts;
		this.element.hidden = hidden || alerts === null;
		this.#announce();
		this.#render();
	}

	#render(): void {
		const alerts = this.#alerts;
		const key = JSON.stringify([alerts, this.#collapsed, this.#showsDismissed]);
		if (alerts === null || key === this.#key) return;
		this.#key = key;
		const counts = countAlerts(alerts.alerts);
		this.#head.hidden = counts.shown === 0;
		setAria(this.#button, 'expanded', !this.#collapsed);
		fill(
			this.#counts,
			...(['error', 'warning', 'info'] as const).flatMap((level) =>
				counts[level] === 0
					? []
					: [
							element(
								'span',
								{ class: `alerts-count alert-${level}` },
								element('span', { class: 'alert-icon', role: 'img', aria: { label: levelWords[level] } }, icon(level)),
								String(counts[level]),
							),
						],
			),
		);
		this.#renderLine(alerts, counts.shown);
		this.#renderList(alerts.alerts);
		this.#more.hidden = counts.dismissed === 0 || (this.#collapsed && counts.shown > 0);
		setText(this.#more, this.#showsDismissed ? 'Hide dismissed alerts' : `Show ${counts.dismissed} dismissed`);
	}

	#renderLine({ phase, summary }: DashboardAlerts, shown: number): void {
		const isShown = shown === 0 || (phase === 'ready' && summary?.kind === 'alerts');
		this.#line.hidden = !isShown;
		if (!isShown) return;
		if (shown > 0) fill(this.#line, element('span', null, summary?.text ?? ''));
		else if (phase === 'off') {
			const on = element(
				'button',
				{ class: 'link', attributes: { type: 'button' }, on: { click: this.#needs.openSetting } },
				'Open Setting',
			);
			fill(this.#line, icon('info'), element('span', null, 'Diagnosis is turned off.'), on);
		} else if (phase === 'reading') {
			fill(this.#line, icon('clock'), element('span', null, 'Diagnosing the run…'));
		} else if (summary?.kind === 'short') {
			fill(this.#line, icon('info'), element('span', null, summary.text));
		} else {
			// A run with all alerts dismissed still has issues.
			const isClear = summary?.kind === 'clear';
			fill(
				this.#line,
				icon(isClear ? 'check' : 'info'),
				element('span', null, isClear ? summary.text : 'All alerts have been dismissed.'),
			);
		}
	}

	#renderList(alerts: readonly DashboardAlert[]): void {
		const shown = alerts.filter((alert) => this.#showsDismissed || !alert.dismissed);
		const focused = this.#focused();
		this.#list.hidden = shown.length === 0 || (this.#collapsed && alerts.some((alert) => !alert.dismissed));
		const items = shown.map((alert) => alertItem(alert, this.#needs));
		fill(this.#list, ...items);
		if (items[0]) items[0].tabIndex = 0;
		if (focused === null) return;
		// Keep focus on the element, or move it to the element that replaced it.
		const at = Math.max(
			0,
			shown.findIndex(({ id }) => id === focused.id),
		);
		const next = shown.some(({ id }) => id === focused.id) ? items[at] : (items[focused.index] ?? items.at(-1));
		if (next) this.#focus(next);
		else if (!this.#more.hidden) this.#more.focus();
	}

	#focused(): { readonly id: string; readonly index: number } | null {
		const item = document.activeElement?.closest<HTMLElement>('.alert');
		if (!item || !this.#list.contains(item)) return null;
		return { id: item.dataset.alert ?? '', index: [...this.#list.children].indexOf(item) };
	}

	#focus(item: HTMLElement): void {
		for (const other of this.#list.children) (other as HTMLElement).tabIndex = other === item ? 0 : -1;
		item.focus();
	}

	#onKey(event: KeyboardEvent): void {
		const focused = this.#focused();
		if (focused === null || event.ctrlKey || event.altKey || event.metaKey) return;
		if (event.key === 'Delete') {
			const alert = this.#alerts?.alerts.find(({ id }) => id === focused.id);
			if (alert && !alert.dismissed) this.#needs.dismiss(alert, true);
			event.preventDefault();
			return;
		}
		if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') return;
		const next = nextFocus(event.key, focused.index, this.#list.children.length);
		if (next === null) return;
		event.preventDefault();
		this.#focus(this.#list.children[next] as HTMLElement);
	}

	#toggle(): void {
		this.#collapsed = !this.#collapsed;
		this.#needs.onCollapse(this.#collapsed);
		this.#render();
	}

	#toggleDismissed(): void {
		this.#showsDismissed = !this.#showsDismissed;
		this.#render();
	}

	/** Announces new alerts, except those present when the panel opens, which screen readers read in document order. */
	#announce(): void {
		if (this.#alerts === null || this.#alerts.phase === 'reading') return;
		const holding = this.#alerts.alerts.filter(({ holds, dismissed }) => holds && !dismissed);
		const known = this.#known;
		this.#known = new Set([...(known ?? []), ...holding.map(({ id }) => id)]);
		if (known === null) return;
		for (const { id, title, level } of holding) {
			if (!known.has(id)) this.#needs.announce(`${levelWords[level]}: ${title}`);
		}
	}
}

const levelWords = { error: 'Errors', warning: 'Warnings', info: 'Information' } as const;
