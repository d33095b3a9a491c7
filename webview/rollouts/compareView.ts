import { Disposable } from '../../src/base/disposable.ts';
import { Failure } from '../../src/base/failure.ts';
import { formatCount, formatCounted, formatNumber } from '../../src/base/format.ts';
import type { Place, RolloutDetail } from '../../src/protocol/rolloutsMessages.ts';
import { button, dropdown } from '../lib/controls.ts';
import { element, fill } from '../lib/dom.ts';
import { type EmptyState, emptyState } from '../lib/emptyState.ts';
import { rowHead, staticTable } from '../lib/staticTable.ts';
import { traceCompletion } from '../lib/trace/completionTrace.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { TextBody } from '../lib/trace/textBody.ts';
import { truncationBadge } from '../lib/truncationBadge.ts';
import { tagsOf } from './cardContext.ts';
import { verdict } from './cardWords.ts';
import { placeKey, samePlace } from './chosen.ts';
import {
	comparedNumbers,
	comparisonMarks,
	difference,
	type Parting,
	partingOf,
	partingWord,
	type Side,
} from './comparison.ts';
import { PreferenceBar } from './preferenceBar.ts';
import type { RolloutsModel } from './rolloutsModel.ts';

const letters = ['A', 'B'] as const;
/** Maximum number of completions in the dropdowns; others can be selected in their group. */
const maxOffered = 250;

/** Two completions side by side, with their common prefix, first difference, and rewards. */
export class CompareView extends Disposable {
	readonly element = element('section', { class: 'compare-view', aria: { label: 'Compare two completions' } });
	readonly #model: RolloutsModel;
	readonly #say: (text: string) => void;
	#shown = '';
	#abort: AbortController | null = null;
	#bodies: TextBody[] = [];

	constructor(model: RolloutsModel, say: (text: string) => void) {
		super();
		this.#model = model;
		this.#say = say;
		this.register({ dispose: () => this.#clear() });
	}

	/** Shows the pair in the model unless it is already shown. */
	update(): void {
		const [left, right] = this.#model.pair;
		const key = `${left === null ? '' : placeKey(left)} ${right === null ? '' : placeKey(right)} ${this.#options().map(placeKey).join()}`;
		if (key === this.#shown) return;
		this.#shown = key;
		void this.#load(left, right);
	}

	/** Returns the completions to choose from: those in the open group, the selected ones, and the current pair. */
	#options(): Place[] {
		const model = this.#model;
		const group = model.groupContent.state === 'ready' ? model.groupContent.value.rollouts : [];
		const places = [
			...model.pair.filter((place) => place !== null),
			...model.chosen.list.slice(-maxOffered),
			...group
				.slice(0, maxOffered)
				.map(({ index }) => model.place(index))
				.filter((place) => place !== null),
		];
		return [...new Map(places.map((place) => [placeKey(place), place])).values()].sort(
			(a, b) => a.step - b.step || a.group - b.group || a.index - b.index,
		);
	}

	async #load(left: Place | null, right: Place | null): Promise<void> {
		this.#abort?.abort();
		const abort = new AbortController();
		this.#abort = abort;
		if (left === null || right === null) {
			this.#drawInstead({
				title: 'Select two completions',
				text: 'Choose them above, or select them in a group with the check mark (v). They can be from different steps.',
				actions: [{ label: 'Back to Group', run: () => this.#model.setMode('group') }],
			});
			return;
		}
		this.element.setAttribute('aria-busy', 'true');
		try {
			const [a, b] = await Promise.all([this.#side(left, abort.signal), this.#side(right, abort.signal)]);
			if (!abort.signal.aborted) this.#draw(a, b);
		} catch (error) {
			if (abort.signal.aborted) return;
			this.#drawInstead({
				title: 'Cannot compare these completions',
				text: Failure.from(error).toString(),
				actions: [
					{
						label: 'Retry',
						run: () => {
							this.#shown = '';
							this.update();
						},
					},
				],
			});
		} finally {
			if (this.#abort === abort) this.element.setAttribute('aria-busy', 'false');
		}
	}

	async #side(place: Place, signal: AbortSignal): Promise<Side> {
		const model = this.#model;
		const content = await model.ask('loadRollout', place, signal);
		const text = content.rollout.completion ?? (await model.ask('loadCompletion', place, signal)).completion;
		const tokens = content.rollout.hasTokens ? await model.ask('loadTokens', place, signal) : null;
		return { place, content, text, tokens };
	}

	#drawInstead(state: EmptyState): void {
		this.#clear();
		fill(this.element, this.#head(null, null), emptyState(state));
	}

	#draw(left: Side, right: Side): void {
		this.#clear();
		const parting = partingOf(left, right);
		fill(
			this.element,
			this.#head(left, right),
			element('div', { class: 'compare-summary' }, this.#statement(left, right, parting), numbersTable(left, right)),
			!samePlace(left.place, right.place) &&
				new PreferenceBar((method, params, signal) => this.#model.ask(method, params, signal), left.place, right.place)
					.element,
			element(
				'div',
				{ class: 'sides' },
				this.#column(0, left, parting, parting?.start ?? 0),
				this.#column(1, right, parting, parting?.otherStart ?? 0),
			),
		);
		if (parting === null) return;
		requestAnimationFrame(() => {
			this.#bodies[0]?.reveal(parting.start, 'parting');
			this.#bodies[1]?.reveal(parting.otherStart, 'parting');
		});
	}

	#head(left: Side | null, right: Side | null): HTMLElement {
		const model = this.#model;
		const options = this.#options();
		const choices = options.map((place) => ({ value: placeKey(place), label: this.#name(place) }));
		const choose = (side: 0 | 1): HTMLElement => {
			const now = model.pair[side];
			const none = now === null ? [{ value: '', label: 'Select…' }] : [];
			return dropdown({
				label: letters[side],
				showLabel: true,
				choices: [...none, ...choices],
				value: now === null ? '' : placeKey(now),
				onChange: (value) => {
					const place = options.find((one) => placeKey(one) === value) ?? null;
					if (place === null) return;
					if (side === 0) model.setPair(place, model.pair[1]);
					else model.setPair(model.pair[0], place);
				},
			}).element;
		};
		const swap = button({
			label: 'Swap A and B',
			icon: 'swap',
			appearance: 'icon',
			onClick: () => model.setPair(model.pair[1], model.pair[0]),
		});
		const diff = button({
			label: 'Open in Diff Editor',
			title: 'Open both completions in the diff editor',
			onClick: () => {
				const [a, b] = model.pair;
				if (a && b) model.ask('openDiff', { left: a, right: b }).catch((error: unknown) => this.#say(String(error)));
			},
		});
		diff.setDisabled(left === null || right === null);
		swap.setDisabled(left === null || right === null);
		return element('div', { class: 'compare-head' }, choose(0), swap.element, choose(1), diff.element);
	}

	#name(place: Place): string {
		const { split, step, group } = this.#model;
		const own = place.split === split && place.step === step && place.group === group;
		const detail = own ? this.#detail(place.index) : undefined;
		const facts = detail
			? ` · ${formatNumber(detail.reward, 3)}${detail.correct === null ? '' : detail.correct ? ' ✓' : ' ✗'}`
			: '';
		const where = own ? '' : `${place.split === 'validation' ? 'validation, ' : ''}${this.#model.placeText(place)}, `;
		return `${where}#${place.index}${facts}`;
	}

	#detail(index: number): RolloutDetail | undefined {
		const { groupContent } = this.#model;
		return groupContent.state === 'ready'
			? groupContent.value.rollouts.find((rollout) => rollout.index === index)
			: undefined;
	}

	/** Describes the difference in one sentence. */
	#statement(left: Side, right: Side, parting: Parting | null): HTMLElement {
		const warning =
			left.content.prompt === right.content.prompt
				? null
				: element(
						'p',
						null,
						element('span', { class: 'badge warning' }, 'Different prompts'),
						' The completions respond to different prompts.',
					);
		if (parting === null) {
			const same = samePlace(left.place, right.place)
				? 'Both sides show the same completion.'
				: 'The completions are identical.';
			return element('div', { class: 'statement', role: 'status' }, warning, element('p', null, same));
		}
		const { common, unit, start } = parting;
		const shared =
			common === 0
				? `The completions differ from the first ${unit} onward.`
				: `Identical for ${formatCounted(common, unit)}${unit === 'token' ? ` (${formatCounted(start, 'character')})` : ''}, then`;
		const goesOn = (side: Side, at: number, letter: string): HTMLElement => {
			const word = partingWord(side, parting, at);
			if (word === null) return element('span', null, `${letter} ends`);
			const p = word.logprob === null ? '' : ` (p ${formatNumber(Math.exp(word.logprob), 3)})`;
			return element(
				'span',
				null,
				`${letter} continues with `,
				element('code', { class: 'm-parting' }, plainLabel(word.text, 40) || (/\n/.test(word.text) ? '↵' : '␣')),
				p,
			);
		};
		return element(
			'div',
			{ class: 'statement', role: 'status' },
			warning,
			element(
				'p',
				null,
				`${shared} `,
				goesOn(left, parting.start, 'A'),
				', ',
				goesOn(right, parting.otherStart, 'B'),
				'.',
			),
		);
	}

	#column(side: 0 | 1, content: Side, parting: Parting | null, start: number): HTMLElement {
		const { rollout } = content.content;
		const name = this.#name(content.place);
		const trace = traceCompletion(content.text, tagsOf(this.#model));
		const body = new TextBody({
			label: `Completion ${letters[side]}`,
			trace,
			found: comparisonMarks(content, parting, start),
			behaviors: true,
		});
		this.#bodies.push(body);
		return element(
			'article',
			{ class: `card side side-${letters[side].toLowerCase()}`, aria: { label: `${letters[side]}: ${name}` } },
			element(
				'header',
				{ class: 'card-head' },
				element(
					'div',
					{ class: 'card-title' },
					element('span', { class: 'card-index' }, `${letters[side]} · ${name.split(' · ')[0]}`),
					verdict(rollout),
					truncationBadge(rollout.truncated),
					element(
						'span',
						{ class: 'card-actions' },
						button({
							label: `Show ${letters[side]} in its group`,
							icon: 'rollouts',
							appearance: 'icon',
							onClick: () => this.#model.show(content.place),
						}).element,
					),
				),
			),
			element('div', { class: 'card-body' }, body.element),
		);
	}

	#clear(): void {
		for (const body of this.#bodies) body.dispose();
		this.#bodies = [];
	}
}

function numbersTable(left: Side, right: Side): HTMLElement {
	return staticTable('numbers', {
		head: [null, ...letters, element('th', { attributes: { scope: 'col' }, title: 'B minus A' }, 'B − A')],
		rows: comparedNumbers(left, right).map((row) =>
			element(
				'tr',
				null,
				rowHead(plainLabel(row.name, 60)),
				element('td', null, row.count ? formatCount(row.left) : formatNumber(row.left, 4)),
				element('td', null, row.count ? formatCount(row.right) : formatNumber(row.right, 4)),
				element('td', null, difference(row)),
			),
		),
	});
}
