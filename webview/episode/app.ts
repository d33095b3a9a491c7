import { Disposable } from '../../src/base/disposable.ts';
import { LiveRegion } from '../lib/a11y.ts';
import { button } from '../lib/controls.ts';
import { element, fill, setText } from '../lib/dom.ts';
import { emptyState } from '../lib/emptyState.ts';
import { whenShown } from '../lib/frames.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { CallForm } from './callForm.ts';
import { EpisodeBar } from './episodeBar.ts';
import { EpisodeList } from './episodeList.ts';
import type { Change, EpisodeModel } from './episodeModel.ts';
import { PageHeader } from './pageHeader.ts';
import { PlayerBar } from './playerBar.ts';
import { TurnList } from './turnList.ts';
import { TurnView } from './turnView.ts';

/** Episode view: episodes, turns, the selected turn, and the form for the next one. */
export class App extends Disposable {
	readonly #model: EpisodeModel;
	readonly #live = this.register(new LiveRegion());
	readonly #header: PageHeader;
	readonly #episodes: EpisodeList;
	readonly #bar: EpisodeBar;
	readonly #player: PlayerBar;
	readonly #turns: TurnList;
	readonly #turn: TurnView;
	readonly #form: CallForm;
	readonly #failure = element('div', { class: 'notice', role: 'alert' });
	readonly #remarks = element('p', { class: 'quiet remarks-line' });
	readonly #empty = element('div', { class: 'nothing' });
	readonly #body: HTMLElement;
	#emptyKey = '';
	#announced = '';

	constructor(root: HTMLElement, model: EpisodeModel) {
		super();
		this.#model = model;
		this.#header = new PageHeader(model);
		this.#episodes = new EpisodeList(model);
		this.#bar = new EpisodeBar(model);
		this.#player = this.register(new PlayerBar(model));
		this.#turns = new TurnList(model);
		this.#turn = new TurnView(model);
		this.#form = new CallForm(model);
		this.#body = element(
			'div',
			{ class: 'body' },
			element('div', { class: 'side' }, this.#episodes.element, this.#turns.element),
			element(
				'div',
				{ class: 'main' },
				this.#bar.element,
				this.#player.element,
				this.#turn.element,
				this.#form.element,
			),
		);
		fill(
			root,
			element('div', { class: 'page' }, this.#header.element, this.#failure, this.#remarks, this.#body, this.#empty),
			this.#live.element,
		);
		document.addEventListener('keydown', (event) => this.#key(event));
		this.register(model.onChange(whenShown((changes) => this.#draw(changes))));
		this.#draw(new Set<Change>(['status', 'branches', 'turn', 'form', 'view']));
	}

	#draw(changes: ReadonlySet<Change>): void {
		this.#header.draw();
		if (changes.has('status') || changes.has('branches')) {
			this.#episodes.draw();
			this.#drawFailure();
			this.#drawEmpty();
		}
		if (!changes.has('form') || changes.size > 1 || changes.has('view')) {
			this.#bar.draw();
			this.#player.draw();
			this.#turns.draw();
			this.#turn.draw();
		}
		this.#form.draw();
		this.#announce();
	}

	#drawFailure(): void {
		const { status } = this.#model;
		const failure = status?.failure ?? null;
		this.#failure.hidden = failure === null;
		setText(this.#remarks, status?.remarks.map((remark) => plainLabel(remark, 300)).join(' ') ?? '');
		this.#remarks.hidden = this.#remarks.textContent === '';
		if (failure === null) {
			fill(this.#failure);
			return;
		}
		const { message, action, line } = failure;
		fill(
			this.#failure,
			element('p', null, plainLabel(message, 2000), ' ', action === null ? '' : plainLabel(action, 400)),
			element(
				'div',
				{ class: 'head-line' },
				button({ label: 'Restart', onClick: () => this.#model.post({ type: 'restart' }) }).element,
				line === null
					? null
					: button({
							label: `Open Line ${line}`,
							onClick: () => this.#model.post({ type: 'openFile', line }),
						}).element,
			),
		);
	}

	#drawEmpty(): void {
		const { status, branches } = this.#model;
		const kind =
			status === null
				? 'wait'
				: status.forbidden !== null
					? 'forbidden'
					: branches.length > 0
						? 'none'
						: status.environment === null
							? 'wait'
							: 'start';
		this.#empty.hidden = kind === 'none' || kind === 'wait';
		this.#body.hidden = branches.length === 0;
		const key = `${kind} ${status?.forbidden ?? ''}`;
		if (key === this.#emptyKey) return;
		this.#emptyKey = key;
		if (kind === 'forbidden') {
			fill(
				this.#empty,
				emptyState({
					title: 'Environment disabled',
					text: `${status?.forbidden ?? ''} Trust the workspace to step through episodes.`,
					actions: [{ label: 'Manage Workspace Trust', run: () => this.#model.post({ type: 'trust' }) }],
				}),
			);
		} else if (kind === 'start') {
			fill(
				this.#empty,
				emptyState({
					title: 'No episodes yet',
					text: 'Select Reset to start an episode with the selected row. Then call tools to see what they return and how the state changes.',
					actions: [{ label: 'Reset', run: () => this.#model.reset() }],
				}),
			);
		} else fill(this.#empty);
	}

	/** Announces the result of an action. */
	#announce(): void {
		const { shown, turn, busy } = this.#model;
		if (shown === null || busy) return;
		const last = turn === 0 ? null : (shown.turns[turn - 1] ?? null);
		const text = turn === 0 ? shown.reset?.observation : last?.results.map(({ content }) => content).join('. ');
		const words = `${turn === 0 ? 'Reset' : `Turn ${turn}`}: ${plainLabel(text ?? shown.error?.message ?? '', 200)}`;
		if (words === this.#announced) return;
		if (this.#announced !== '') this.#live.announce(words);
		this.#announced = words;
	}

	/** Arrow keys, Home, End and Space control the replay, unless the focused control uses them. */
	#key(event: KeyboardEvent): void {
		if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
		const target = event.composedPath()[0];
		const used = 'input, textarea, select, [role="listbox"], [role="combobox"], vscode-dropdown, vscode-text-field';
		if (target instanceof Element && target.closest(used)) return;
		const pressable =
			target instanceof Element && target.closest('button, vscode-button, summary, vscode-checkbox, [role="button"]');
		const act = {
			ArrowLeft: () => this.#player.step(-1),
			ArrowRight: () => this.#player.step(1),
			Home: () => this.#player.goTo(0),
			End: () => this.#player.goTo(this.#model.lastTurn),
		}[event.key];
		if (act !== undefined) act();
		else if (event.key === ' ' && !pressable) this.#player.toggle();
		else if (event.key === 'Escape' && this.#model.status?.busy != null) this.#model.post({ type: 'stop' });
		else return;
		event.preventDefault();
	}
}
