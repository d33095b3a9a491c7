import { Disposable } from '../../src/base/disposable.ts';
import { Failure } from '../../src/base/failure.ts';
import { firstUpper, formatNumber } from '../../src/base/format.ts';
import type { PromptRow } from '../../src/protocol/explorerMessages.ts';
import type { RolloutSplit } from '../../src/protocol/rolloutSplit.ts';
import type { GroupContent, GroupSummary } from '../../src/protocol/rolloutsMessages.ts';
import { button } from '../lib/controls.ts';
import { element, fill, setText, unseen } from '../lib/dom.ts';
import { emptyState } from '../lib/emptyState.ts';
import { SelectionList } from '../lib/selectionList.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { type RewardRange, rewardBars, rewardRange } from './bars.ts';
import { cardContext } from './cardContext.ts';
import { CardStrip } from './cardStrip.ts';
import { answerCounts, changedAnswers, meanOf } from './promptHistory.ts';
import type { RolloutsModel } from './rolloutsModel.ts';
import { ScanBar } from './scanBar.ts';
import type { ScanModel } from './scanModel.ts';

const rowHeight = 52;
const answersShown = 4;

/** One prompt over training: answers and rewards per step, plus the completions at the selected step. */
export class TrainingView extends Disposable {
	readonly element = element('section', { class: 'training-view', aria: { label: 'One prompt over training' } });
	readonly #model: RolloutsModel;
	readonly #scan: ScanModel<PromptRow>;
	readonly #say: (text: string) => void;
	readonly #prompt = element('p', { class: 'training-prompt' });
	readonly #bar: ScanBar;
	readonly #list: SelectionList;
	readonly #strip = this.register(new CardStrip());
	readonly #heading = element('div', { class: 'training-step' });
	readonly #empty = element('div', { class: 'training-empty' });
	readonly #body: HTMLElement;
	#range: RewardRange = { low: 0, high: 1 };
	#changed: ReadonlySet<number> = new Set();
	#selected: PromptRow | null = null;
	#abort: AbortController | null = null;
	#place: { split: RolloutSplit; step: number; group: number } | null = null;

	constructor(model: RolloutsModel, scan: ScanModel<PromptRow>, say: (text: string) => void) {
		super();
		this.#model = model;
		this.#scan = scan;
		this.#say = say;
		this.#bar = new ScanBar(scan, (all) => this.#start(all));
		this.#list = this.register(
			new SelectionList({
				label: 'Steps with this prompt',
				class: 'history-list',
				rowHeight,
				draw: (row, i) => this.#drawRow(row, scan.rows[i] as PromptRow, i),
				onSelect: (i) => this.#select(scan.rows[i] ?? null),
			}),
		);
		this.#body = element(
			'div',
			{ class: 'training-body' },
			element(
				'div',
				{ class: 'history' },
				element(
					'div',
					{ class: 'history-numbers history-names', aria: { hidden: true } },
					...['Step', 'Rewards', 'Mean', 'Correct', 'Length'].map((name) => element('span', null, name)),
				),
				this.#list.element,
			),
			element('div', { class: 'training-cards' }, this.#heading, this.#strip.element),
		);
		fill(
			this.element,
			element('div', { class: 'training-head' }, this.#prompt, this.#bar.element),
			this.#body,
			this.#empty,
		);
		this.register(scan.onChange(() => this.#draw()));
	}

	/** Starts a scan for the open group's prompt, unless it has already been scanned. */
	update(): void {
		const { split, step, group, summary } = this.#model;
		if (step === null || group === null) return;
		const known = this.#place !== null && this.#scan.progress !== null;
		// Moving between steps with the same prompt does not require a new scan.
		const same =
			known &&
			(this.#scan.rows.some((row) => row.step === step && row.group === group) ||
				(this.#place?.step === step && this.#place.group === group)) &&
			this.#place?.split === split;
		if (same) {
			this.#draw();
			return;
		}
		this.#place = { split, step, group };
		setText(this.#prompt, plainLabel(summary?.prompt ?? '', 240));
		this.#select(null);
		this.#start(false);
	}

	updateChosen(): void {
		this.#strip.updateChosen();
	}

	#start(all: boolean): void {
		const place = this.#place;
		if (!place) return;
		this.#scan.start(`${place.split}/${place.step}/${place.group}`, (scan) => ({
			type: 'scanPrompt',
			scan,
			...place,
			all,
		}));
	}

	#draw(): void {
		const { rows, progress, running } = this.#scan;
		this.#bar.update();
		this.#range = rewardRange(rows as unknown as GroupSummary[]);
		this.#changed = changedAnswers(rows);
		const selected = this.#selected === null ? -1 : rows.findIndex((row) => this.#isSelected(row));
		this.#list.update(rows.length, selected);
		const nothing = rows.length === 0 && progress !== null && !running;
		this.#body.hidden = nothing;
		this.#empty.hidden = !nothing;
		if (nothing) {
			const failed = progress.state === 'failed';
			fill(
				this.#empty,
				emptyState({
					title: failed ? 'Cannot read steps' : 'Prompt not found',
					text: failed
						? (progress.failure?.toString() ?? '')
						: 'The step was deleted, or the scan stopped before reaching it.',
					actions: [{ label: 'Retry', run: () => this.#start(false) }],
				}),
			);
		}
		if (this.#selected !== null || rows.length === 0) return;
		const own = rows.find((row) => row.step === this.#place?.step && row.group === this.#place.group);
		const first = own ?? (running ? undefined : rows.at(-1));
		if (first) this.#select(first);
	}

	#isSelected(row: PromptRow): boolean {
		return row.step === this.#selected?.step && row.group === this.#selected.group;
	}

	#drawRow(node: HTMLElement, row: PromptRow, at: number): void {
		const judged = row.correct.filter((correct) => correct !== null);
		const answers = answerCounts(row);
		node.append(
			element(
				'span',
				{ class: 'history-numbers' },
				element('span', { class: 'step-number' }, unseen('Step '), row.step),
				element('span', { class: 'history-bars' }, rewardBars(row as unknown as GroupSummary, null, this.#range)),
				element('span', { title: 'Mean reward' }, unseen(', mean reward '), formatNumber(meanOf(row.reward), 3)),
				element(
					'span',
					{ title: 'Correct' },
					judged.length > 0 && unseen(', correct '),
					judged.length > 0 && `${judged.filter(Boolean).length}/${judged.length}`,
				),
				element(
					'span',
					{ class: 'quiet', title: 'Mean completion length' },
					unseen(', mean length '),
					formatNumber(meanOf(row.length), 3),
				),
			),
			element(
				'span',
				{ class: 'history-answers' },
				unseen('Answers: '),
				...answers
					.slice(0, answersShown)
					.map(({ answer, count, correct }) =>
						element(
							'span',
							{ class: `answer${correct === true ? ' right' : ''}` },
							correct === true ? '✓ ' : '',
							answer === null ? element('i', null, 'no answer') : plainLabel(answer, 40) || '∅',
							count > 1 && element('span', { class: 'quiet' }, ` ×${count}`),
						),
					),
				answers.length > answersShown && element('span', { class: 'quiet' }, `+${answers.length - answersShown}`),
				this.#changed.has(at) &&
					element(
						'span',
						{ class: 'badge', title: 'The most frequent answer differs from the previous step’s' },
						unseen(', '),
						'changed',
					),
			),
		);
	}

	#select(row: PromptRow | null): void {
		this.#selected = row;
		this.#abort?.abort();
		this.#strip.clear();
		fill(this.#heading);
		if (row === null) return;
		this.#list.update(
			this.#scan.rows.length,
			this.#scan.rows.findIndex((one) => this.#isSelected(one)),
		);
		void this.#load(row);
	}

	async #load(row: PromptRow): Promise<void> {
		const abort = new AbortController();
		this.#abort = abort;
		const model = this.#model;
		const place = { split: this.#place?.split ?? 'train', step: row.step, group: row.group } as const;
		try {
			const content = await model.ask('loadGroup', { ...place, beside: true }, abort.signal);
			if (abort.signal.aborted) return;
			this.#showGroup(place, content);
		} catch (error) {
			if (abort.signal.aborted) return;
			fill(this.#heading, element('p', { role: 'alert' }, Failure.from(error).toString()));
		}
	}

	#showGroup(place: { split: RolloutSplit; step: number; group: number }, content: GroupContent): void {
		const model = this.#model;
		const { rollouts } = content;
		fill(
			this.#heading,
			element('h2', null, firstUpper(this.#model.placeText(place))),
			button({
				label: 'Open Group',
				onClick: () => model.show({ ...place, index: null }),
			}).element,
		);
		const largestAdvantage = rollouts.reduce((max, { advantage }) => Math.max(max, Math.abs(advantage ?? 0)), 0);
		const context = cardContext(
			model,
			{
				...place,
				...{ largestAdvantage, search: '', tokenView: model.tokenView },
				select: () => undefined,
			},
			this.#say,
		);
		this.#strip.show(rollouts, context);
	}
}
