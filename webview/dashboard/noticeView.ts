import type { DashboardAction } from '../../src/protocol/dashboardMessages.ts';
import { button } from '../lib/controls.ts';
import { element, fill } from '../lib/dom.ts';
import { type IconName, icon } from '../lib/icons.ts';
import type { RunNotice } from './runNotice.ts';

const icons: Readonly<Record<RunNotice['kind'], IconName>> = {
	waiting: 'clock',
	info: 'info',
	warning: 'warning',
	error: 'error',
};

/** Renders a notice if it differs from the current one. */
export class NoticeView {
	readonly element = element('div', { class: 'notice', hidden: true });
	readonly #act: (action: DashboardAction) => void;
	#key = '';

	constructor(act: (action: DashboardAction) => void) {
		this.#act = act;
	}

	/** @param alone whether the page is empty apart from the notice */
	show(notice: RunNotice | null, alone: boolean): void {
		const key = JSON.stringify([notice, alone]);
		if (key === this.#key) return;
		this.#key = key;
		this.element.hidden = notice === null;
		if (!notice) return;
		this.element.className = `notice notice-${notice.kind}${alone ? ' notice-alone' : ''}`;
		this.element.setAttribute('role', notice.kind === 'error' ? 'alert' : 'status');
		fill(
			this.element,
			element('span', { class: 'notice-icon' }, icon(icons[notice.kind])),
			element('div', { class: 'notice-text' }, element('strong', null, notice.title), element('p', null, notice.text)),
			notice.actions.length === 0
				? null
				: element(
						'div',
						{ class: 'notice-actions' },
						...notice.actions.map(
							({ action, label }, i) =>
								button({ label, appearance: i === 0 ? 'primary' : 'secondary', onClick: () => this.#act(action) })
									.element,
						),
					),
		);
	}
}
