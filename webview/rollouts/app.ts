import { Disposable } from '../../src/base/disposable.ts';
import { LiveRegion } from '../lib/a11y.ts';
import { element, fill, setText } from '../lib/dom.ts';
import { emptyState } from '../lib/emptyState.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { Browser } from './browser.ts';
import { FilterBar } from './filterBar.ts';
import { GroupView } from './groupView.ts';
import { Help } from './help.ts';
import { type Command, commandOf } from './keys.ts';
import type { Change, RolloutsModel } from './rolloutsModel.ts';
import { tokenViews } from './savedState.ts';
import { Toolbar } from './toolbar.ts';

/** The panel as a whole: puts the parts together, hands them what changed, and turns keys into moves. */
export class App extends Disposable {
	readonly #root: HTMLElement;
	readonly #model: RolloutsModel;
	readonly #live = this.register(new LiveRegion());
	readonly #toolbar: Toolbar;
	readonly #filters: FilterBar;
	readonly #browser: Browser;
	readonly #group: GroupView;
	readonly #help = new Help();
	readonly #heading = element('h1', { class: 'visually-hidden' }, 'Rollouts');
	readonly #work: HTMLElement;
	#shown: 'nothing' | 'empty' | 'work' = 'nothing';

	constructor(root: HTMLElement, model: RolloutsModel, openDashboard: () => void) {
		super();
		this.#root = root;
		this.#model = model;
		this.#toolbar = this.register(
			new Toolbar(model, {
				help: () => this.#help.open(),
				dashboard: openDashboard,
				browse: () => root.classList.toggle('browsing'),
			}),
		);
		this.#filters = this.register(new FilterBar(model));
		this.#browser = this.register(new Browser(model));
		this.#group = this.register(new GroupView(model, (text) => this.#live.announce(text)));
		this.#work = element(
			'div',
			{ class: 'work' },
			this.#browser.element,
			element('div', { class: 'main' }, this.#filters.element, this.#group.element),
		);
		this.register(model.onChange((changes) => this.#update(changes)));
		const onKey = (event: KeyboardEvent): void => this.#onKey(event);
		document.addEventListener('keydown', onKey);
		this.register({ dispose: () => document.removeEventListener('keydown', onKey) });
	}

	#update(changes: ReadonlySet<Change>): void {
		const model = this.#model;
		if (model.steps.rows.length === 0) {
			this.#showEmpty();
			return;
		}
		if (this.#shown !== 'work') {
			this.#shown = 'work';
			fill(this.#root, this.#heading, this.#toolbar.element, this.#work, this.#help.element, this.#live.element);
		}
		if (changes.has('run')) setText(this.#heading, `Rollouts of ${plainLabel(model.run?.name ?? '')}`);
		if (changes.has('steps') || changes.has('step')) {
			this.#toolbar.update();
			this.#browser.updateSteps();
		}
		if (changes.has('steps') && model.unseen > 0) {
			this.#live.announce(model.unseen === 1 ? '1 new step' : `${model.unseen} new steps`);
		}
		if (changes.has('groups') || changes.has('group')) this.#browser.updateGroups();
		if (changes.has('groups') || changes.has('found')) this.#filters.update();
		if (changes.has('step') || changes.has('groups') || changes.has('group')) this.#group.update();
		if (changes.has('completion')) this.#group.select(false);
		if (changes.has('view')) {
			this.#group.syncChoices();
			this.#group.applyView();
		}
	}

	#showEmpty(): void {
		const { run } = this.#model;
		if (!run) return;
		this.#shown = 'empty';
		const waiting = run.status === 'starting' || run.status === 'running' || run.status === 'paused';
		const cold = waiting && run.stage !== 'grpo';
		const stage =
			run.stage === null
				? ''
				: ` It is in stage “${plainLabel(run.stage, 60)}”${run.step === null ? '' : `, step ${run.step}`}.`;
		fill(
			this.#root,
			this.#heading,
			emptyState({
				title: 'No rollouts yet',
				text: cold
					? `The run is in its cold start, which learns from worked solutions. Rollouts come with the first GRPO step and appear here by themselves.${stage}`
					: waiting
						? `Rollouts appear here as soon as the first GRPO step has been sampled.${stage}`
						: 'This run wrote no rollouts: it ended before its first GRPO step, or they were pruned.',
				actions: [],
			}),
			this.#live.element,
		);
	}

	#onKey(event: KeyboardEvent): void {
		if (this.#help.element.open || event.defaultPrevented) return;
		const target = event.composedPath()[0];
		if (event.key === 'Escape' && focusKind(target) === 'text') {
			(document.activeElement as HTMLElement | null)?.blur();
			return;
		}
		const { key, ctrlKey, altKey, metaKey } = event;
		const command = commandOf({ key, ctrlKey, altKey, metaKey, focus: focusKind(target) });
		if (command === null) return;
		event.preventDefault();
		this.#run(command);
	}

	#run(command: Command): void {
		const model = this.#model;
		const { index } = model;
		switch (command) {
			case 'next-group':
			case 'previous-group':
				model.moveGroup(command === 'next-group' ? 1 : -1);
				this.#sayGroup();
				break;
			case 'first-group':
			case 'last-group':
				model.moveGroup(command === 'first-group' ? -model.groups.length : model.groups.length);
				this.#sayGroup();
				break;
			case 'next-completion':
			case 'previous-completion':
				model.moveCompletion(command === 'next-completion' ? 1 : -1);
				this.#group.select(true);
				break;
			case 'newer-step':
			case 'older-step':
				model.moveStep(command === 'newer-step' ? 1 : -1);
				this.#live.announce(`Step ${model.step ?? ''}`);
				break;
			case 'search':
				this.#filters.focus();
				break;
			case 'follow':
				if (!model.live) break;
				model.setFollow(!model.follow);
				this.#live.announce(model.follow ? 'Following the newest step' : 'Staying at this step');
				break;
			case 'tokens': {
				const next = tokenViews[(tokenViews.indexOf(model.tokenView) + 1) % tokenViews.length] ?? 'off';
				model.setTokenView(next);
				this.#live.announce(`Tokens: ${next}`);
				break;
			}
			case 'copy':
				if (index !== null) this.#group.copy(index, 'completion');
				break;
			case 'open-text':
				if (index !== null) this.#group.openText(index);
				break;
			case 'clear-filters':
				model.clearFilters();
				break;
			case 'help':
				this.#help.open();
				break;
		}
	}

	#sayGroup(): void {
		const { groupPosition, groups, summary } = this.#model;
		if (!summary) return;
		this.#live.announce(`Group ${groupPosition + 1} of ${groups.length}: ${plainLabel(summary.prompt, 80)}`);
	}
}

/** What kind of control keys would go to. */
function focusKind(target: EventTarget | undefined): 'text' | 'choice' | 'other' {
	if (!(target instanceof Element)) return 'other';
	if (target.matches('textarea, [contenteditable], input:not([type=range], [type=checkbox])')) return 'text';
	const host = target.getRootNode() instanceof ShadowRoot ? (target.getRootNode() as ShadowRoot).host : target;
	if (host.matches('vscode-text-field')) return 'text';
	return host.closest('vscode-dropdown, [data-keys="own"]') || target.matches('input, select') ? 'choice' : 'other';
}
