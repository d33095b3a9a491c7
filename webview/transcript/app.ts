import { Disposable } from '../../src/base/disposable.ts';
import { formatCounted } from '../../src/base/format.ts';
import { LiveRegion } from '../lib/a11y.ts';
import { element, fill } from '../lib/dom.ts';
import { emptyState } from '../lib/emptyState.ts';
import { whenShown } from '../lib/frames.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { ContextChart } from './contextChart.ts';
import { FindingsList } from './findingsList.ts';
import { PageHeader } from './pageHeader.ts';
import { ReferencesView } from './referencesView.ts';
import { Timeline } from './timeline.ts';
import type { Change, TranscriptModel } from './transcriptModel.ts';

/** Transcript panel: header, findings and messages. */
export class App extends Disposable {
	readonly #model: TranscriptModel;
	readonly #live = this.register(new LiveRegion());
	readonly #header: PageHeader;
	readonly #findings: FindingsList;
	readonly #context: ContextChart;
	readonly #references: ReferencesView;
	readonly #timeline: Timeline;
	readonly #notice = element('div', { class: 'notice-place' });
	readonly #body = element('div', { class: 'page-body' });
	readonly #view: HTMLElement;

	constructor(root: HTMLElement, model: TranscriptModel) {
		super();
		this.#model = model;
		this.#header = new PageHeader(model);
		this.#findings = new FindingsList(model);
		this.#context = new ContextChart(model);
		this.#references = new ReferencesView(model);
		this.#timeline = this.register(new Timeline(model));
		this.#view = element(
			'div',
			{ class: 'view' },
			element(
				'div',
				{ class: 'side', role: 'region', tabIndex: 0, aria: { label: 'Findings, tokens and references' } },
				this.#context.element,
				this.#findings.element,
				this.#references.element,
			),
			this.#timeline.element,
		);
		this.register(
			model.onChange(
				whenShown((changes) => {
					if (!this.#header.element.isConnected) {
						fill(root, this.#header.element, this.#notice, this.#body, this.#live.element);
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
		const { phase, failure, count } = this.#model;
		if (changes.has('source') || changes.has('content')) this.#header.update();
		if (count === 0) {
			if (phase === 'failed' && failure !== null) fill(this.#body, this.#failed(failure));
			else if (phase === 'loading') fill(this.#body, element('p', { class: 'quiet loading' }, 'Loading transcript…'));
			return;
		}
		// Keep showing the previous content while the file cannot be read.
		if (changes.has('source')) {
			fill(
				this.#notice,
				phase === 'failed' &&
					failure !== null &&
					element(
						'div',
						{ class: 'notice', role: 'alert' },
						plainLabel(`${failure.message} ${failure.action ?? ''}`, 1000),
					),
			);
		}
		if (!this.#view.isConnected) fill(this.#body, this.#view);
		if (changes.has('content') || changes.has('inspected')) {
			this.#findings.draw();
			this.#context.draw();
			this.#references.reset();
			if (changes.has('content')) this.#timeline.draw();
			else this.#timeline.redraw();
			this.#live.announce(this.#announcement(count));
			return;
		}
		if (changes.has('open') || changes.has('selected')) {
			this.#timeline.update(changes.has('open') && changes.has('selected'));
		}
	}

	#announcement(count: number): string {
		const { inspection } = this.#model;
		const messages = formatCounted(count, 'message');
		if (inspection === null || !inspection.checked) return messages;
		const { error, warning } = inspection.counts;
		return `${messages}, ${formatCounted(error, 'error')}, ${formatCounted(warning, 'warning')}`;
	}

	#failed({ message, action }: { readonly message: string; readonly action: string | null }): HTMLElement {
		return emptyState({
			title: 'No transcript to show',
			text: plainLabel(action === null ? message : `${message} ${action}`, 1500),
			actions: [
				{ label: 'Reload', run: () => this.#model.post({ type: 'again' }) },
				{ label: 'Open Another', run: () => this.#model.post({ type: 'openOther' }) },
			],
		});
	}

	/** `n` and `p` move between findings. `o` expands or collapses the selected message. */
	#onKey(event: KeyboardEvent): void {
		if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey) return;
		const target = event.composedPath()[0];
		if (target instanceof Element && target.closest('input, textarea, select, vscode-dropdown, vscode-text-field'))
			return;
		switch (event.key) {
			case 'n':
			case 'p': {
				const finding = this.#model.moveFinding(event.key === 'n' ? 1 : -1);
				if (finding) {
					this.#findings.mark(this.#model.finding);
					this.#live.announce(plainLabel(finding.title, 200));
				}
				break;
			}
			case 'o':
				this.#model.toggle(this.#model.selected);
				break;
			default:
				return;
		}
		event.preventDefault();
	}
}
