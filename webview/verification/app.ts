import { Disposable } from '../../src/base/disposable.ts';
import type { ResultsView } from '../../src/protocol/verificationMessages.ts';
import { LiveRegion } from '../lib/a11y.ts';
import { element, fill } from '../lib/dom.ts';
import { whenShown } from '../lib/frames.ts';
import { Tooltip } from '../lib/tooltip.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { AuditView } from './auditView.ts';
import { ComparisonView } from './comparisonView.ts';
import { PageHeader } from './pageHeader.ts';
import type { Change, ResultsModel } from './resultsModel.ts';
import { absenceView, failureNotice } from './statusNotice.ts';
import { VerificationView } from './verificationView.ts';

/** Verification panel: header, notice, and the current result. */
export class App extends Disposable {
	readonly #model: ResultsModel;
	readonly #live = this.register(new LiveRegion());
	readonly #header: PageHeader;
	readonly #notice = element('div', { class: 'notice-place' });
	readonly #body = element('div', { class: 'page-body' });
	readonly #tooltip: Tooltip;
	#view: VerificationView | AuditView | ComparisonView | null = null;
	#phase = '';

	constructor(root: HTMLElement, model: ResultsModel) {
		super();
		this.#model = model;
		const layer = element('div');
		this.#tooltip = this.register(new Tooltip(layer));
		this.#header = this.register(new PageHeader(model));
		this.register(
			model.onChange(
				whenShown((changes) => {
					if (!this.#header.element.isConnected) {
						fill(root, this.#header.element, this.#notice, this.#body, layer, this.#live.element);
					}
					this.#update(changes);
				}),
			),
		);
		const onKey = (event: KeyboardEvent): void => this.#onKey(event);
		document.addEventListener('keydown', onKey);
		this.register({ dispose: () => document.removeEventListener('keydown', onKey) });
	}

	#update(changes: ReadonlySet<Change>): void {
		const { content, place, status } = this.#model;
		if (place === null) return;
		if (changes.has('place') || changes.has('content')) this.#header.update();
		if (changes.has('status')) {
			this.#header.updateStatus();
			this.#sayPhase();
		}
		const absent = content === null || status.result === 0;
		fill(this.#notice, absent ? null : failureNotice(this.#model));
		if (absent) {
			this.#view?.dispose();
			this.#view = null;
			// Do not show the empty state while the first rows are loading.
			if (status.result === 0 || !changes.has('place')) fill(this.#body, absenceView(this.#model, place));
			return;
		}
		if (!this.#fits(content.view)) this.#make(content.view);
		else this.#view?.update(changes);
	}

	#fits(view: ResultsView): boolean {
		const made = this.#view;
		if (view === 'audit') return made instanceof AuditView;
		return view === 'verification' ? made instanceof VerificationView : made instanceof ComparisonView;
	}

	#make(view: ResultsView): void {
		this.#view?.dispose();
		const say = (text: string) => this.#live.announce(plainLabel(text, 300));
		this.#view =
			view === 'audit'
				? new AuditView(this.#model, say)
				: view === 'verification'
					? new VerificationView(this.#model, this.#tooltip, say)
					: new ComparisonView(this.#model, this.#tooltip, say);
		fill(this.#body, this.#view.element);
		this.#view.update(new Set<Change>(['content', 'rows', 'row', 'groups', 'probes']));
	}

	#sayPhase(): void {
		const { phase } = this.#model.status;
		if (this.#phase !== '' && this.#phase !== phase && phase === 'done') this.#live.announce('Results updated');
		this.#phase = phase;
	}

	/** `/` focuses the search box; `j` and `k` open the next and previous row. */
	#onKey(event: KeyboardEvent): void {
		if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey) return;
		const target = event.composedPath()[0];
		const rows = this.#view instanceof AuditView ? null : this.#view?.rows;
		if (!rows || (target instanceof Element && target.matches('input, textarea, select'))) return;
		if (target instanceof Element && target.closest('vscode-dropdown, vscode-text-field')) return;
		switch (event.key) {
			case '/':
				rows.focusSearch();
				break;
			case 'j':
			case 'k':
				this.#model.moveRow(event.key === 'j' ? 1 : -1);
				rows.focusList();
				break;
			default:
				return;
		}
		event.preventDefault();
	}
}
