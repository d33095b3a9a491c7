import { formatCounted, formatDuration } from '../../src/base/format.ts';
import { stopText } from '../../src/core/search/stopText.ts';
import { button, dropdown } from '../lib/controls.ts';
import { element, fill, setText, setTitle } from '../lib/dom.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { TreeModel } from './treeModel.ts';

/** Header with the search's title, progress and actions. */
export class PageHeader {
	readonly element: HTMLElement;
	readonly #model: TreeModel;
	readonly #title = element('h1', null, 'Search tree');
	readonly #state = element('span', { class: 'badge state' });
	readonly #facts = element('p', { class: 'facts' });
	readonly #why = element('span', { class: 'quiet why' });
	readonly #trees;
	readonly #more;
	readonly #stop;
	readonly #compare;

	constructor(model: TreeModel, exportMenu: HTMLElement) {
		this.#model = model;
		this.#trees = dropdown({
			label: 'Tree',
			showLabel: true,
			choices: [],
			value: '0',
			onChange: (value) => model.post({ type: 'choose', tree: Number(value) }),
		});
		this.#more = button({
			label: 'Run More…',
			icon: 'resume',
			title: 'Continue the search with additional budget',
			onClick: () => model.post({ type: 'more' }),
		});
		this.#stop = button({ label: 'Stop', icon: 'stop', onClick: () => model.post({ type: 'stop' }) });
		this.#compare = button({
			label: 'Compare…',
			icon: 'compare',
			title: 'Show another tree side by side',
			onClick: () => model.post(model.other === null ? { type: 'compare' } : { type: 'closeOther' }),
		});
		this.element = element(
			'header',
			{ class: 'page-head' },
			element(
				'div',
				{ class: 'head-line' },
				this.#title,
				this.#state,
				element('span', { class: 'spacer' }),
				this.#trees.element,
				this.#more.element,
				this.#stop.element,
				this.#compare.element,
				exportMenu,
				button({
					label: 'Open Log as Text',
					icon: 'log',
					appearance: 'icon',
					onClick: () => model.post({ type: 'openLog' }),
				}).element,
			),
			element('div', { class: 'head-line' }, this.#facts, this.#why),
		);
	}

	update(): void {
		const { main, other } = this.#model;
		if (main === null) return;
		const { source, latest, complete } = main;
		setText(this.#title, plainLabel(source.title, 200) || 'Search tree');
		setTitle(this.#title, plainLabel(source.path, 500));
		const { outcome } = latest;
		const state = source.running ? 'running' : outcome !== null ? 'completed' : complete ? 'incomplete' : 'loading';
		setText(this.#state, state);
		this.#state.className = `badge state ${source.running ? 'right' : ''}`;
		this.#trees.setHidden(source.trees.length < 2);
		if (source.trees.length > 1) {
			this.#trees.setChoices(
				source.trees
					.slice(0, 1000)
					.map((name, i) => ({ value: String(i), label: plainLabel(name, 60) || `Tree ${i + 1}` })),
				String(source.chosen),
			);
		}
		const why = source.canGoOn === true ? null : source.canGoOn;
		this.#more.setHidden(source.running);
		this.#more.setDisabled(why !== null);
		this.#stop.setHidden(!source.running);
		this.#compare.setLabel(other === null ? 'Compare…' : 'Stop Comparing');
		setText(this.#why, why === null ? '' : `Cannot continue: ${why}`);
		const at = main.events.at(-1)?.at ?? null;
		const facts = [
			latest.start === null ? null : plainLabel(latest.start.strategy, 60),
			latest.start === null ? null : plainLabel(latest.start.policy.name, 60),
			source.foreign === null ? null : `written by ${plainLabel(source.foreign, 60)}`,
			formatCounted(latest.nodeCount, 'node'),
			formatCounted(main.events.length, 'event'),
			at === null ? null : formatDuration(at),
			outcome?.answer == null ? null : `answer ${plainLabel(outcome.answer, 80)}`,
			outcome === null ? null : stopText[outcome.stop],
			source.faults.length === 0 ? null : formatCounted(source.faults.length, 'parse error'),
		].filter((words) => words !== null);
		fill(this.#facts, facts.join(' · '));
	}
}
