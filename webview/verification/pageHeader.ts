import { Disposable } from '../../src/base/disposable.ts';
import { formatCounted } from '../../src/base/format.ts';
import type { ResultPart, ResultsView } from '../../src/protocol/verificationMessages.ts';
import { button, dropdown } from '../lib/controls.ts';
import { element, fill, setAria, setText } from '../lib/dom.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { ResultsModel } from './resultsModel.ts';

const partNames: Readonly<Record<ResultPart, string>> = {
	data: 'Dataset and cases',
	rollouts: 'Recorded rollouts',
	selection: 'Selected text',
};
const againNames = { verification: 'Verify Again', audit: 'Audit Again', comparison: 'Compare Again' } as const;
const phaseWords = { idle: '', loading: 'Loading…', running: 'Running…', done: '', failed: 'Failed' } as const;

/** Header with the reward, data, freshness and actions. */
export class PageHeader extends Disposable {
	readonly element: HTMLElement;
	readonly #model: ResultsModel;
	readonly #title = element('h1');
	readonly #file = element('button', { class: 'link file', attributes: { type: 'button' } });
	readonly #phase = element('span', { class: 'phase', role: 'status' });
	readonly #again;
	readonly #cancel;
	readonly #verify;
	readonly #audit;
	readonly #compare;
	readonly #log;
	readonly #part;
	readonly #data = element('p', { class: 'data' });
	readonly #remarks = element('div', { class: 'remarks' });

	constructor(model: ResultsModel) {
		super();
		this.#model = model;
		this.#file.addEventListener('click', () => model.post({ type: 'openFile', line: null }));
		const view = (label: string, to: ResultsView) =>
			button({ label, onClick: () => model.post({ type: 'openView', view: to }) });
		this.#again = button({
			label: 'Verify Again',
			icon: 'reset',
			appearance: 'primary',
			onClick: () => model.post({ type: 'again' }),
		});
		this.#cancel = button({ label: 'Cancel', icon: 'stop', onClick: () => model.post({ type: 'cancel' }) });
		this.#verify = view('Results', 'verification');
		this.#audit = view('Audit', 'audit');
		this.#compare = view('Compare', 'comparison');
		this.#log = button({ label: 'Log', onClick: () => model.post({ type: 'openLog' }) });
		this.#part = dropdown({
			label: 'Data',
			choices: [],
			value: '',
			onChange: (part) => model.post({ type: 'choosePart', part: part as ResultPart }),
		});
		this.element = element(
			'header',
			{ class: 'page-head' },
			element(
				'div',
				{ class: 'head-line' },
				this.#title,
				this.#file,
				this.#phase,
				element('span', { class: 'spacer' }),
				element(
					'span',
					{ class: 'head-actions' },
					this.#cancel.element,
					this.#again.element,
					this.#verify.element,
					this.#audit.element,
					this.#compare.element,
					this.#log.element,
				),
			),
			element('div', { class: 'head-line' }, this.#part.element, this.#data),
			this.#remarks,
		);
	}

	update(): void {
		const { place, fileLabel, content } = this.#model;
		if (place === null) return;
		setText(this.#title, plainLabel(place.reward, 200));
		setText(this.#file, plainLabel(fileLabel, 300));
		setAria(this.#file, 'label', `Open ${plainLabel(fileLabel, 300)}`);
		this.#again.setLabel(againNames[place.view]);
		this.#verify.setHidden(place.view === 'verification');
		this.#audit.setHidden(place.view === 'audit');
		this.#compare.setHidden(place.view === 'comparison');
		const printed = content?.view === 'verification' ? content.printed : 0;
		this.#log.setHidden(printed === 0);
		this.#log.setLabel(`Log (${formatCounted(printed, 'line')})`);
		this.#drawData();
		this.updateStatus();
	}

	updateStatus(): void {
		const { status, busy, loading } = this.#model;
		const stale = status.stale ? element('span', { class: 'badge warning' }, 'Outdated (file changed)') : null;
		const words = loading > 0 ? 'Loading rows…' : phaseWords[status.phase];
		fill(this.#phase, words !== '' && element('span', { class: 'badge' }, words), stale);
		this.#cancel.setHidden(!busy);
		// Without a result, the empty state shows the actions.
		this.#again.setHidden(busy || status.result === 0);
	}

	#drawData(): void {
		const { content } = this.#model;
		const parts = content?.view === 'verification' ? content.parts : [];
		this.#part.setHidden(parts.length < 2);
		if (content?.view === 'verification') {
			this.#part.setChoices(
				parts.map(({ part }) => ({ value: part, label: partNames[part] })),
				content.part,
			);
		}
		const data =
			content === null
				? []
				: content.view === 'comparison'
					? [`run ${content.run}`, stepWords(content.steps), `${content.before} → ${content.after}`]
					: content.data;
		setText(
			this.#data,
			content === null ? '' : `On ${data.map((words) => plainLabel(words, 300)).join(', ') || 'no data'}`,
		);
		const faults = content?.view === 'verification' ? content.faults : [];
		const remarks = [...faults, ...(content?.remarks ?? [])];
		fill(
			this.#remarks,
			remarks.length > 0 &&
				element(
					'ul',
					{ aria: { label: 'Notes' } },
					...remarks.slice(0, 20).map((words) => element('li', null, plainLabel(words, 500))),
					remarks.length > 20 && element('li', { class: 'quiet' }, `and ${remarks.length - 20} more`),
				),
		);
	}
}

function stepWords(steps: readonly number[]): string {
	const [first] = steps;
	if (first === undefined) return 'steps not recorded';
	return steps.length === 1 ? `step ${first}` : `${steps.length} steps from ${first} to ${steps.at(-1)}`;
}
