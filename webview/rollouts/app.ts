import { Disposable } from '../../src/base/disposable.ts';
import { firstUpper, formatCounted } from '../../src/base/format.ts';
import {
	type BehaviorRow,
	type ExplorerCommand,
	maxExported,
	type PanelEvent,
	type PromptRow,
} from '../../src/protocol/explorerMessages.ts';
import { LiveRegion } from '../lib/a11y.ts';
import { element, fill, setAria, setText } from '../lib/dom.ts';
import { whenShown } from '../lib/frames.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { BehaviorsView } from './behaviorsView.ts';
import { Browser } from './browser.ts';
import { nextTokenView, rate, toggleChosen, toggleFold, toggleMarks } from './commandActions.ts';
import { CompareView } from './compareView.ts';
import { ContinuationModel } from './continuationModel.ts';
import { ContinueView } from './continueView.ts';
import { FeedbackModel } from './feedbackModel.ts';
import { FilterBar } from './filterBar.ts';
import { activeFilters } from './filters.ts';
import { focusKind } from './focusKind.ts';
import { GroupView } from './groupView.ts';
import { Help } from './help.ts';
import { type Command, commandOf } from './keys.ts';
import { LabelView } from './labelView.ts';
import { type ExportScope, ModeBar } from './modeBar.ts';
import { noRollouts } from './noRollouts.ts';
import { Notes } from './notes.ts';
import type { RolloutsModel } from './rolloutsModel.ts';
import type { Change } from './rolloutsState.ts';
import { ScanModel } from './scanModel.ts';
import { Toolbar } from './toolbar.ts';
import { TrainingView } from './trainingView.ts';

/** Rollouts panel: creates the views, forwards changes to them, and converts key presses to commands. */
export class App extends Disposable {
	readonly #root: HTMLElement;
	readonly #model: RolloutsModel;
	readonly #live = this.register(new LiveRegion());
	readonly #toolbar: Toolbar;
	readonly #filters: FilterBar;
	readonly #browser: Browser;
	readonly #group: GroupView;
	readonly #modes: ModeBar;
	readonly #prompts: ScanModel<PromptRow>;
	readonly #reasoning: ScanModel<BehaviorRow>;
	readonly #continuations: ContinuationModel;
	readonly #compare: CompareView;
	readonly #training: TrainingView;
	readonly #behaviors: BehaviorsView;
	readonly #label: LabelView;
	readonly #feedback: FeedbackModel;
	readonly #continue: ContinueView;
	readonly #view = element('div', { class: 'view', role: 'tabpanel' });
	readonly #notes = new Notes();
	readonly #help = new Help();
	readonly #heading = element('h1', { class: 'visually-hidden' }, 'Rollouts');
	readonly #work: HTMLElement;
	#shown: 'nothing' | 'empty' | 'work' = 'nothing';

	constructor(
		root: HTMLElement,
		model: RolloutsModel,
		openDashboard: () => void,
		post: (command: ExplorerCommand) => void,
	) {
		super();
		this.#root = root;
		this.#model = model;
		this.#toolbar = this.register(
			new Toolbar(model, {
				help: () => this.#help.open(),
				dashboard: openDashboard,
				browse: () => root.classList.toggle('browsing'),
				notes: () => this.#notes.open(model.run?.trainer ?? null),
			}),
		);
		this.#filters = this.register(new FilterBar(model));
		this.#browser = this.register(new Browser(model));
		const say = (text: string) => this.#live.announce(text);
		this.#feedback = this.register(new FeedbackModel((method, params, signal) => model.ask(method, params, signal)));
		this.#group = this.register(new GroupView(model, this.#feedback, say));
		this.#modes = this.register(new ModeBar(model, (what) => this.#export(what)));
		this.#prompts = this.register(new ScanModel<PromptRow>('promptScan', post));
		this.#reasoning = this.register(new ScanModel<BehaviorRow>('behaviorScan', post));
		this.#continuations = this.register(
			new ContinuationModel((method, params, signal) => model.ask(method, params, signal), post),
		);
		this.#compare = this.register(new CompareView(model, say));
		this.#training = this.register(new TrainingView(model, this.#prompts, say));
		this.#behaviors = this.register(new BehaviorsView(model, this.#reasoning));
		this.#label = this.register(new LabelView(model, say));
		this.#continue = this.register(new ContinueView(model, this.#continuations, say));
		this.#work = element(
			'div',
			{ class: 'work' },
			this.#browser.element,
			element('div', { class: 'main' }, this.#modes.element, this.#filters.element, this.#view),
		);
		this.register(model.onChange(whenShown((changes) => this.#update(changes))));
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
			fill(
				this.#root,
				...[this.#heading, this.#toolbar.element, this.#work, this.#help.element, this.#notes.element],
				this.#live.element,
			);
			this.#showMode();
			this.#applyMarks();
		}
		if (changes.has('run')) setText(this.#heading, `Rollouts from ${plainLabel(model.run?.name ?? '')}`);
		if (changes.has('steps') || changes.has('step')) {
			this.#toolbar.update();
			this.#browser.updateSteps();
		}
		if (changes.has('steps') && model.unseen > 0) {
			this.#live.announce(formatCounted(model.unseen, 'new step'));
		}
		if (changes.has('groups') || changes.has('group')) this.#browser.updateGroups();
		if (changes.has('groups') || changes.has('found')) this.#filters.update();
		if (changes.has('mode')) this.#showMode();
		if (changes.has('marks')) {
			this.#applyMarks();
			this.#group.syncChoices();
		}
		if (changes.has('chosen')) {
			this.#modes.update();
			this.#group.updateChosen();
			this.#training.updateChosen();
		}
		const moved = changes.has('step') || changes.has('groups') || changes.has('group');
		if (moved || changes.has('chosen')) this.#updateMode(moved);
		if (changes.has('completion')) this.#group.select(false);
		if (changes.has('view')) {
			this.#group.syncChoices();
			this.#group.applyView();
		}
	}

	get continuations(): ContinuationModel {
		return this.#continuations;
	}

	/** Forwards a message from the extension to the view that handles it. */
	receive(event: PanelEvent): void {
		if (event.type === 'promptScan' || event.type === 'behaviorScan' || event.type === 'continuation') {
			this.#prompts.receive(event);
			this.#reasoning.receive(event);
			this.#continuations.receive(event);
			return;
		}
		this.#model.receive(event);
		if (event.type === 'snapshot') this.#forget();
	}

	/** Discards cached data about the run before a new snapshot, because its files may have changed. */
	#forget(): void {
		this.#prompts.clear();
		this.#reasoning.clear();
		this.#label.forget();
		this.#feedback.forget();
		this.#continue.forget();
		this.#updateMode(true);
	}

	#showMode(): void {
		const { mode } = this.#model;
		this.#modes.update();
		const views = {
			group: this.#group,
			compare: this.#compare,
			training: this.#training,
			behaviors: this.#behaviors,
			label: this.#label,
			continue: this.#continue,
		} as const;
		// Scans run only while their view is visible.
		if (mode !== 'training') this.#prompts.stop();
		if (mode !== 'behaviors') this.#reasoning.stop();
		this.#filters.element.hidden = mode !== 'group';
		this.#view.dataset.mode = mode;
		setAria(this.#view, 'label', views[mode].element.getAttribute('aria-label') ?? mode);
		fill(this.#view, views[mode].element);
		this.#updateMode(true);
	}

	#updateMode(moved: boolean): void {
		switch (this.#model.mode) {
			case 'group':
				if (moved) this.#group.update();
				break;
			case 'compare':
				this.#compare.update();
				break;
			case 'training':
				if (moved) this.#training.update();
				break;
			case 'behaviors':
				if (moved) this.#behaviors.update();
				break;
			case 'label':
				this.#label.update();
				break;
			case 'continue':
				this.#continue.update();
				break;
		}
	}

	/** Shows or hides marks. They are always present in the text; CSS controls their visibility. */
	#applyMarks(): void {
		this.#view.dataset.marks = [...this.#model.marks].join(' ');
	}

	#export(what: ExportScope): void {
		const model = this.#model;
		const { split, step, groups, filters } = model;
		if (step === null) return;
		const filtered = activeFilters(filters) > 0;
		const shown = groups.flatMap(({ summary, rows }) =>
			rows.map((row) => ({ split, step, group: summary.group, index: summary.index[row] as number })),
		);
		const rollouts = what === 'chosen' ? model.chosen.list : filtered ? shown.slice(0, maxExported) : [];
		const scope = what === 'chosen' || filtered ? 'rollouts' : 'step';
		model.ask('export', { split, scope, step, group: model.group, rollouts }).then(
			({ written }) => this.#live.announce(written ? 'Exported.' : 'Export canceled.'),
			(error: unknown) => this.#live.announce(String(error)),
		);
	}

	#showEmpty(): void {
		const { run } = this.#model;
		if (!run) return;
		this.#shown = 'empty';
		fill(this.#root, this.#heading, noRollouts(run), this.#live.element);
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
		const say = (text: string) => this.#live.announce(text);
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
				this.#live.announce(model.step === null ? '' : firstUpper(model.stepText(model.step)));
				break;
			case 'search':
				this.#filters.focus();
				break;
			case 'follow':
				if (!model.live) break;
				model.setFollow(!model.follow);
				this.#live.announce(model.follow ? 'Following new steps' : 'Stopped following new steps');
				break;
			case 'tokens':
				nextTokenView(model, say);
				break;
			case 'marks':
				toggleMarks(model, say);
				break;
			case 'widest-spread': {
				model.setMode('group');
				model.showWidestSpread();
				this.#sayGroup();
				break;
			}
			case 'fold':
				toggleFold(model, say);
				break;
			case 'choose':
				toggleChosen(model, say);
				break;
			case 'rate-higher':
			case 'rate-lower':
			case 'unrate':
				rate(model, this.#feedback, command, say);
				break;
			case 'compare':
			case 'show-compare':
				model.setMode('compare');
				break;
			case 'label':
			case 'continue': {
				const place = model.place();
				if (place) model.openOne(command, place);
				break;
			}
			case 'show-group':
				model.setMode('group');
				break;
			case 'show-training':
				model.setMode('training');
				break;
			case 'show-behaviors':
				model.setMode('behaviors');
				break;
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
