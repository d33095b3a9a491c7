import { Disposable } from '../../src/base/disposable.ts';
import { formatBytes, formatDuration } from '../../src/base/format.ts';
import { LiveRegion } from '../lib/a11y.ts';
import { button } from '../lib/controls.ts';
import { element, fill, setText } from '../lib/dom.ts';
import { TabList } from '../lib/tabList.ts';
import { summaryOf } from './answerSummary.ts';
import { FormView, patternFault } from './formView.ts';
import type { QueryModel } from './queryModel.ts';
import type { QueryChange } from './queryState.ts';
import { ResultView } from './resultView.ts';
import { indexRemark, RunsChooser } from './runsChooser.ts';
import type { Mode } from './savedState.ts';
import { SqlView } from './sqlView.ts';

const noticeMs = 8000;
/** Delay in milliseconds before progress is shown. */
const patienceMs = 300;

/** Query view. */
export class App extends Disposable {
	readonly #model: QueryModel;
	readonly #live = this.register(new LiveRegion());
	readonly #runs: RunsChooser;
	readonly #form: FormView;
	readonly #sql: SqlView;
	readonly #result: ResultView;
	readonly #tabs: TabList<Mode>;
	readonly #run;
	readonly #cancel;
	readonly #progress = element('progress', { class: 'progress', aria: { label: 'Progress' } });
	readonly #progressText = element('span', { class: 'quiet progress-text' });
	readonly #remark = element('p', { class: 'remark', role: 'status', hidden: true });
	readonly #notice = element('p', { class: 'remark done', role: 'status', hidden: true });
	#noticeTimer: ReturnType<typeof setTimeout> | undefined;
	#clock: ReturnType<typeof setInterval> | undefined;

	constructor(root: HTMLElement, model: QueryModel) {
		super();
		this.#model = model;
		this.#runs = new RunsChooser(model);
		this.#form = new FormView(model);
		this.#sql = new SqlView(model);
		this.#result = this.register(new ResultView(model));
		this.#run = button({
			label: 'Run',
			appearance: 'primary',
			icon: 'play',
			title: 'Run (Ctrl+Enter)',
			onClick: () => this.#ask(),
		});
		this.#cancel = button({ label: 'Cancel', icon: 'stop', title: 'Cancel (Escape)', onClick: () => model.cancel() });
		this.#tabs = new TabList({
			label: 'Query mode',
			tabs: [
				{ id: 'form', label: 'Form' },
				{ id: 'sql', label: 'SQL' },
			],
			onSelect: (mode) => model.setMode(mode),
		});
		root.append(
			element(
				'header',
				{ class: 'page-head' },
				element('h1', null, 'Query Rollouts'),
				this.#tabs.element,
				element('span', { class: 'spacer' }),
				this.#runs.element,
			),
			element(
				'section',
				{ class: 'question', aria: { label: 'Query' } },
				this.#tabs.panel(['form'], {}, this.#form.element),
				this.#tabs.panel(['sql'], {}, this.#sql.element),
				element(
					'div',
					{ class: 'actions' },
					this.#run.element,
					this.#cancel.element,
					this.#progress,
					this.#progressText,
				),
				this.#remark,
				this.#notice,
			),
			this.#result.element,
			this.#live.element,
		);
		this.register(model.onChange((change) => this.#update(change)));
		const onKey = (event: KeyboardEvent): void => this.#onKey(event);
		const onPointer = ({ target }: PointerEvent): void => {
			if (target instanceof Node && !this.#runs.element.contains(target)) this.#runs.close();
		};
		document.addEventListener('keydown', onKey);
		document.addEventListener('pointerdown', onPointer);
		this.register({
			dispose: () => {
				document.removeEventListener('keydown', onKey);
				document.removeEventListener('pointerdown', onPointer);
				clearTimeout(this.#noticeTimer);
				clearInterval(this.#clock);
			},
		});
		for (const change of ['question', 'overview', 'busy', 'answer', 'histogram'] as const) this.#update(change);
	}

	#update(change: QueryChange): void {
		const model = this.#model;
		switch (change) {
			case 'question':
			case 'overview':
				this.#tabs.select(model.mode);
				if (model.mode === 'form') this.#form.update();
				else this.#sql.update();
				this.#runs.update();
				this.#showRemark();
				this.#showBusy();
				if (change === 'overview' && model.answer === null) this.#result.update();
				break;
			case 'busy':
				this.#showBusy();
				this.#result.update();
				break;
			case 'answer':
				this.#result.update();
				this.#sql.update();
				this.#announce();
				break;
			case 'hits':
				this.#result.update();
				this.#showProgress();
				break;
			case 'histogram':
				this.#result.updateHistogram();
				break;
			case 'notice':
				this.#showNotice();
				break;
		}
	}

	#ask(): void {
		if (this.#canAsk()) this.#model.ask();
	}

	#canAsk(): boolean {
		const { form, mode, runs, fault, chosen } = this.#model;
		if (fault !== null || runs.length === 0) return false;
		if (mode === 'sql') return true;
		return patternFault(form.text, form.regex) === null && (chosen === null || chosen.length > 0);
	}

	#announce(): void {
		const { answer, busy } = this.#model;
		if (answer === null) return;
		if (answer.kind !== 'failure') {
			this.#live.announce(summaryOf(answer, busy !== null));
			return;
		}
		const { question, failure } = answer;
		if (this.#model.mode === 'sql' && question.kind === 'sql' && question.sql === this.#model.sql) {
			this.#sql.mark(failure.message);
		}
	}

	#showRemark(): void {
		const { runs, chosen, remark, fault, known, answer } = this.#model;
		const parts = [
			// With a result on screen, there is no empty state in which to show the error.
			fault !== null && answer !== null ? [fault.message, fault.action].filter(Boolean).join(' ') : null,
			known && runs.length > 0 ? indexRemark(runs, chosen) : null,
			chosen !== null && chosen.length === 0 ? 'No run is selected.' : null,
			remark,
		].filter((part) => part !== null);
		setText(this.#remark, parts.join(' '));
		this.#remark.hidden = parts.length === 0;
	}

	#showBusy(): void {
		const { busy } = this.#model;
		this.#run.setDisabled(!this.#canAsk());
		this.#cancel.setHidden(busy === null);
		clearInterval(this.#clock);
		this.#clock = undefined;
		if (busy !== null) this.#clock = setInterval(() => this.#showProgress(), 250);
		this.#showProgress();
	}

	#showProgress(): void {
		const { busy } = this.#model;
		const waited = busy === null ? 0 : performance.now() - busy.since;
		const shown = busy !== null && waited >= patienceMs;
		this.#progress.hidden = !shown;
		if (!shown) {
			setText(this.#progressText, '');
			return;
		}
		const time = formatDuration(Math.floor(waited / 1000));
		if (busy.total > 0) {
			this.#progress.max = busy.total;
			this.#progress.value = busy.bytes;
			setText(this.#progressText, `${formatBytes(busy.bytes)} of ${formatBytes(busy.total)}, ${time}`);
		} else {
			this.#progress.removeAttribute('value');
			setText(this.#progressText, waited < 1000 ? '' : time);
		}
	}

	#showNotice(): void {
		const { notice } = this.#model;
		clearTimeout(this.#noticeTimer);
		this.#notice.hidden = notice === null;
		fill(this.#notice, notice?.text ?? '');
		this.#notice.classList.toggle('bad', notice?.isError === true);
		if (notice !== null && !notice.isError) this.#noticeTimer = setTimeout(() => this.#model.forgetNotice(), noticeMs);
	}

	#onKey(event: KeyboardEvent): void {
		if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
			event.preventDefault();
			this.#ask();
		} else if (event.key === 'Escape' && this.#runs.close()) {
			event.preventDefault();
			this.#runs.element.querySelector('summary')?.focus();
		} else if (event.key === 'Escape' && this.#model.busy !== null) {
			event.preventDefault();
			this.#model.cancel();
		} else if (event.key === 'Enter' && event.target instanceof HTMLInputElement && event.target.type === 'text') {
			event.preventDefault();
			this.#ask();
		}
	}
}
