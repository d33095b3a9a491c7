import { Disposable } from '../../src/base/disposable.ts';
import { formatCounted } from '../../src/base/format.ts';
import { stopText } from '../../src/core/search/stopText.ts';
import { LiveRegion } from '../lib/a11y.ts';
import { element, fill, setText } from '../lib/dom.ts';
import { emptyState } from '../lib/emptyState.ts';
import { frames } from '../lib/frames.ts';
import { ThemeWatcher } from '../lib/theme.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { CompareTab } from './details/compareTab.ts';
import { DetailTabs } from './details/detailTabs.ts';
import { EventsTab } from './details/eventsTab.ts';
import { NodeTab } from './details/nodeTab.ts';
import { PathTab } from './details/pathTab.ts';
import { SearchTab } from './details/searchTab.ts';
import { TokensTab } from './details/tokensTab.ts';
import { ExportMenu } from './exportMenu.ts';
import { HelpDialog } from './helpDialog.ts';
import { Legend } from './legend.ts';
import { PageHeader } from './pageHeader.ts';
import { TimeBar } from './timeBar.ts';
import { Toolbar } from './toolbar.ts';
import type { Change, TreeModel } from './treeModel.ts';
import { TreePane } from './treePane.ts';
import type { SideName } from './treeSide.ts';

/** Search tree page: header, one or two trees, a details sidebar, and the replay bar at the bottom. */
export class App extends Disposable {
	readonly #model: TreeModel;
	readonly #live = this.register(new LiveRegion());
	readonly #theme = this.register(new ThemeWatcher());
	readonly #header: PageHeader;
	readonly #toolbar: Toolbar;
	readonly #time: TimeBar;
	readonly #tabs: DetailTabs;
	readonly #legend = new Legend();
	readonly #help: HelpDialog;
	readonly #notice = element('div', { class: 'notice-place' });
	readonly #panes: Record<SideName, TreePane | null> = { main: null, other: null };
	readonly #stages = element('div', { class: 'stages' });
	readonly #empty = element('div', { class: 'stage-empty' });
	readonly #view: HTMLElement;
	readonly #body = element('div', { class: 'page-body' });
	readonly #root: HTMLElement;
	#frame = 0;
	#said = '';

	constructor(root: HTMLElement, model: TreeModel) {
		super();
		this.#root = root;
		this.#model = model;
		const exports = new ExportMenu(model, () => this.#pane);
		this.#header = new PageHeader(model, exports.element);
		this.#help = new HelpDialog();
		this.#toolbar = new Toolbar(model, {
			fit: () => this.#each((pane) => pane.fit()),
			zoom: (factor) => this.#pane?.zoomBy(factor),
			help: () => this.#help.show(),
		});
		this.#time = this.register(new TimeBar(model));
		this.#tabs = this.register(
			new DetailTabs(model, [
				new SearchTab(model),
				new NodeTab(model),
				new PathTab(model),
				new TokensTab(model),
				new EventsTab(model),
				new CompareTab(model),
			]),
		);
		this.#view = element(
			'div',
			{ class: 'view' },
			element(
				'div',
				{ class: 'tree-area' },
				this.#toolbar.element,
				element('div', { class: 'stage-place' }, this.#stages, this.#empty),
				this.#legend.element,
				this.#time.element,
			),
			this.#tabs.element,
		);
		fill(
			this.#body,
			element('h1', { class: 'visually-hidden' }, 'Search tree'),
			element('p', { class: 'quiet loading' }, 'Loading tree…'),
		);
		fill(root, this.#body, this.#live.element);
		this.register(model.onChange((changes) => this.#update(changes)));
		const onKey = (event: KeyboardEvent): void => this.#onKey(event);
		document.addEventListener('keydown', onKey);
		this.register({ dispose: () => document.removeEventListener('keydown', onKey) });
		this.register({ dispose: () => frames.cancel(this.#frame) });
	}

	get #pane(): TreePane | null {
		const { selection } = this.#model;
		return (selection === null ? null : this.#panes[selection.side]) ?? this.#panes.main;
	}

	#each(run: (pane: TreePane) => void): void {
		for (const pane of Object.values(this.#panes)) if (pane !== null) run(pane);
	}

	#update(changes: ReadonlySet<Change>): void {
		const { main, failure } = this.#model;
		if (main === null) {
			if (failure !== null)
				fill(this.#body, element('h1', { class: 'visually-hidden' }, 'Search tree'), this.#failed(failure));
			return;
		}
		if (!this.#view.isConnected) {
			fill(this.#body, this.#view);
			fill(this.#root, this.#header.element, this.#notice, this.#body, this.#live.element, this.#help.element);
		}
		if (changes.has('sides')) this.#arrange();
		if (changes.has('sides') || changes.has('source')) {
			const shownFailure = main.failure ?? this.#model.other?.failure ?? null;
			fill(
				this.#notice,
				shownFailure !== null &&
					element(
						'div',
						{ class: 'notice', role: 'alert' },
						plainLabel(`${shownFailure.message} ${shownFailure.action ?? ''}`, 1000),
					),
			);
		}
		if (changes.has('events') || changes.has('sides') || changes.has('source')) this.#say();
		// Coalesce all changes into one redraw per frame.
		if (this.#frame === 0) {
			this.#frame = frames.request(() => {
				this.#frame = 0;
				this.#draw();
			});
		}
	}

	#draw(): void {
		const { main } = this.#model;
		const pane = this.#panes.main;
		if (main === null || pane === null) return;
		this.#header.update();
		this.#toolbar.update(pane.kind, pane.coloring);
		const isEmpty = main.latest.nodes.length === 0;
		this.#empty.hidden = !isEmpty;
		if (isEmpty) {
			setText(
				this.#empty,
				!main.complete
					? 'Loading tree…'
					: main.source.running
						? 'The search has started. Waiting for the first node…'
						: 'The log contains no nodes.',
			);
		}
	}

	/** Lays out one tree, or two side by side. */
	#arrange(): void {
		for (const side of ['main', 'other'] as const) {
			const exists = this.#model.side(side) !== null;
			const pane = this.#panes[side];
			if (exists && pane === null) {
				const made = this.register(new TreePane(this.#model, side, this.#theme));
				this.#panes[side] = made;
				if (side === 'main') made.onDraw((scene) => this.#legend.update(scene, made.palette));
			} else if (!exists && pane !== null) {
				pane.dispose();
				pane.element.remove();
				this.#panes[side] = null;
			}
		}
		const elements = Object.values(this.#panes).flatMap((pane) => (pane === null ? [] : [pane.element]));
		if (elements.some((one) => !one.isConnected) || this.#stages.children.length !== elements.length) {
			fill(this.#stages, ...elements);
		}
		this.#stages.classList.toggle('two', elements.length > 1);
	}

	/** Announces when the search starts and ends, but not every new node. */
	#say(): void {
		const { main } = this.#model;
		if (main === null || !main.complete) return;
		const { outcome, nodeCount } = main.latest;
		const state =
			outcome !== null
				? `Search ended: ${stopText[outcome.stop]}. ${formatCounted(nodeCount, 'node')}.`
				: main.source.running
					? 'The search is running.'
					: `${formatCounted(nodeCount, 'node')}.`;
		const key = outcome === null ? `${main.source.running}` : state;
		if (key === this.#said) return;
		this.#said = key;
		this.#live.announce(state);
	}

	#failed({ message, action }: { readonly message: string; readonly action: string | null }): HTMLElement {
		return emptyState({
			title: 'No tree to show',
			text: plainLabel(action === null ? message : `${message} ${action}`, 1500),
			actions: [{ label: 'Reload', run: () => this.#model.post({ type: 'again' }) }],
		});
	}

	#onKey(event: KeyboardEvent): void {
		if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || this.#model.main === null) return;
		const target = event.composedPath()[0];
		if (target instanceof Element && target.closest('input:not([type=range]), textarea, select, vscode-dropdown'))
			return;
		switch (event.key) {
			case '/':
				this.#toolbar.focusSearch();
				break;
			case '?':
				this.#help.show();
				break;
			case '[':
				this.#time.step(-1);
				break;
			case ']':
				this.#time.step(1);
				break;
			case 'p':
				this.#time.toggle();
				break;
			case 'l':
				this.#time.pause();
				this.#model.goTo(null);
				break;
			case 'n':
				this.#model.moveHit(1);
				break;
			case 'N':
				this.#model.moveHit(-1);
				break;
			case 'g':
				this.#pane?.focus();
				break;
			default:
				return;
		}
		event.preventDefault();
	}
}
