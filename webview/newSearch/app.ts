import { Disposable } from '../../src/base/disposable.ts';
import { formatCount, formatCounted, formatNumber } from '../../src/base/format.ts';
import { budgetText, offeredBudgets } from '../../src/core/search/budgetText.ts';
import type { OfferedPolicy } from '../../src/protocol/newSearchMessages.ts';
import { button } from '../lib/controls.ts';
import { element, setText } from '../lib/dom.ts';
import { emptyState } from '../lib/emptyState.ts';
import { Redraw } from '../lib/frames.ts';
import { select } from '../lib/select.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import { EnvironmentField, RowField, TurnsField } from './episodeFields.ts';
import { row } from './formRow.ts';
import type { NewSearchModel } from './newSearchModel.ts';
import { SettingsGrid } from './settingsGrid.ts';
import { StepsField } from './stepsField.ts';
import { StrategyList } from './strategyList.ts';

const otherPolicy = 'other';
const typedBudget = 'typed';

/** Form for *New Search*. Every field has a default, so *Start* works right away. */
export class App extends Disposable {
	readonly #model: NewSearchModel;
	readonly #start = button({
		label: 'Start',
		icon: 'play',
		appearance: 'primary',
		title: 'Ctrl+Enter, or Cmd+Enter',
		onClick: () => void this.#model.start(),
	});
	readonly #summary = element('p', { class: 'quiet', role: 'status' });
	readonly #failure = element('p', { class: 'notice', role: 'alert', hidden: true });
	readonly #policy = select('Policy', (value) => this.#choosePolicy(value));
	readonly #prompt = element('textarea', {
		class: 'field area',
		attributes: { rows: 3, spellcheck: 'false', placeholder: 'What is 17 + 25?' },
	});
	readonly #answer = element('input', {
		class: 'field answer',
		attributes: { type: 'text', spellcheck: 'false', placeholder: 'Unknown' },
	});
	readonly #problemNote = element('p', { class: 'quiet' });
	readonly #next = button({ label: 'Another Problem', icon: 'next', onClick: () => this.#model.nextProblem() });
	readonly #environment: EnvironmentField;
	readonly #row: RowField;
	readonly #turns: TurnsField;
	readonly #problem: readonly HTMLElement[];
	readonly #strategies: StrategyList;
	readonly #scorer = select('Scorer', (value) => this.#chooseScorer(value));
	readonly #scorerRow: HTMLElement;
	readonly #scorerNote = element('p', { class: 'quiet' });
	readonly #steps: StepsField;
	readonly #budget = select('Budget', (value) => this.#chooseBudget(value));
	readonly #budgetText = element('input', {
		class: 'field',
		aria: { label: 'Budget limits' },
		attributes: { type: 'text', spellcheck: 'false', placeholder: '20000 tokens, 60 seconds' },
	});
	readonly #settings: SettingsGrid;
	readonly #more = element('details', { class: 'more' }, element('summary', null, 'Parameters and Sampling'));
	readonly #form: HTMLFormElement;
	readonly #empty: HTMLElement;
	readonly #loading = element('p', { class: 'quiet loading' }, 'Loading…');
	readonly #redraw = this.register(new Redraw(() => this.#render()));

	constructor(root: HTMLElement, model: NewSearchModel) {
		super();
		this.#model = model;
		this.#environment = new EnvironmentField(model);
		this.#row = new RowField(model);
		this.#turns = new TurnsField(model);
		this.#problem = [row('Problem', this.#prompt, this.#problemNote), row('Gold answer', this.#answer)];
		this.#strategies = new StrategyList(model);
		this.#steps = new StepsField(model);
		this.#settings = new SettingsGrid(model);
		this.#more.append(this.#settings.element);
		// Set only once: the `toggle` event fires late, so a redraw could close the section again right after a click.
		this.#more.open = model.more;
		this.#scorerRow = row('Scorer', this.#scorer.element, this.#scorerNote);
		this.#empty = emptyState({
			title: 'No policy yet',
			text: 'A search needs a policy: a checkpoint from a run, a running engine, or an OpenAI-compatible server.',
			actions: [
				{ label: 'Start Demo Run', run: () => model.runDemo() },
				{ label: 'Add a Server…', run: () => void model.choosePolicy() },
			],
		});
		this.#form = this.#build();
		root.append(
			element(
				'header',
				{ class: 'page-head form-head' },
				element('div', { class: 'head-line' }, element('h1', null, 'New Search'), this.#start.element, this.#summary),
				this.#failure,
			),
			this.#loading,
			this.#empty,
			this.#form,
		);
		this.#listen();
		this.register(model.onChange(() => this.#redraw.schedule()));
		this.#render();
	}

	#build(): HTMLFormElement {
		return element(
			'form',
			{ class: 'rows', aria: { label: 'New search' } },
			row('Policy', this.#policy.element),
			this.#environment.element,
			this.#row.element,
			...this.#problem,
			element(
				'div',
				{ class: 'row-buttons' },
				this.#next.element,
				button({ label: 'Choose from a Dataset…', icon: 'table', onClick: () => void this.#model.chooseProblem() })
					.element,
			),
			this.#strategies.element,
			this.#scorerRow,
			this.#steps.element,
			this.#turns.element,
			row('Budget', element('div', { class: 'pair' }, this.#budget.element, this.#budgetText)),
			this.#more,
		);
	}

	#listen(): void {
		const model = this.#model;
		this.#form.addEventListener('submit', (event) => event.preventDefault());
		document.addEventListener('keydown', (event) => {
			if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
			event.preventDefault();
			void model.start();
		});
		this.#prompt.addEventListener('input', () => model.typeProblem(this.#prompt.value));
		this.#answer.addEventListener('input', () => model.typeAnswer(this.#answer.value));
		this.#budgetText.addEventListener('input', () => model.typeBudget(this.#budgetText.value));
		this.#more.addEventListener('toggle', () => model.showMore(this.#more.open));
	}

	#render(): void {
		const model = this.#model;
		const { contents, draft, policies } = model;
		const none = contents !== null && policies.length === 0 && contents.forbidden === null;
		this.#loading.hidden = contents !== null;
		this.#empty.hidden = !none;
		this.#form.hidden = contents === null || none;
		this.#start.setHidden(this.#form.hidden);
		const { fault, failure, busy } = model;
		setText(this.#failure, failure ?? '');
		this.#failure.hidden = failure === null;
		setText(this.#summary, this.#form.hidden ? '' : busy ? 'Starting…' : (fault ?? this.#useText()));
		if (this.#form.hidden) return;
		this.#policy.set(
			[
				...policies.map((policy, at) => ({ value: String(at), label: labelOf(policy), group: policy.group })),
				{ value: otherPolicy, label: 'Another policy…' },
			],
			String(policies.findIndex(({ spec }) => JSON.stringify(spec) === JSON.stringify(draft.policy))),
		);
		setValue(this.#prompt, draft.problem?.prompt ?? '');
		setValue(this.#answer, draft.problem?.answer ?? '');
		for (const field of this.#problem) field.hidden = model.environment !== null;
		this.#environment.draw();
		this.#row.draw();
		this.#turns.draw();
		this.#drawProblemNote();
		this.#strategies.draw();
		this.#drawScorer();
		this.#steps.draw();
		this.#drawBudget();
		this.#settings.draw();
		this.#start.setDisabled(busy || fault !== null);
	}

	#drawProblemNote(): void {
		const { facts, draft } = this.#model;
		const problems = facts?.problems ?? [];
		const at = problems.findIndex(({ prompt }) => prompt === draft.problem?.prompt);
		const kind = facts?.source === 'held-out' ? 'Held-out problem' : 'Training problem';
		setText(this.#problemNote, at < 0 ? '' : `${kind} ${at + 1} of ${problems.length} from the policy's run`);
		this.#problemNote.hidden = at < 0;
		this.#next.setHidden(this.#model.environment !== null || problems.length < 2);
	}

	#drawScorer(): void {
		const { scorerScope, scorers, scorer } = this.#model;
		this.#scorerRow.hidden = scorerScope === undefined;
		if (scorer === null) return;
		const at = scorers.indexOf(scorer);
		this.#scorer.set(
			scorers.map(({ label }, i) => ({ value: String(i), label: plainLabel(label, 80) })),
			at < 0 ? plainLabel(scorer.label, 80) : String(at),
		);
		const unit = this.#model.environment === null ? ['step', 'completions'] : ['turn', 'episodes'];
		const what = scorerScope === 'step' ? `Scores each ${unit[0]}` : `Scores finished ${unit[1]}`;
		setText(this.#scorerNote, scorer.detail === '' ? what : `${what}: ${plainLabel(scorer.detail, 200)}`);
	}

	#drawBudget(): void {
		const { budgetText: typed, budget } = this.#model;
		this.#budget.set(
			[
				...offeredBudgets.map((one) => ({ value: budgetText(one), label: budgetText(one) })),
				{ value: typedBudget, label: 'Other limits…' },
			],
			typed === null ? budgetText(budget) : typedBudget,
		);
		this.#budgetText.hidden = typed === null;
		setValue(this.#budgetText, typed ?? '');
	}

	/** Describes the expected usage and the budget at which the search ends. */
	#useText(): string {
		const { use, budget, facts, draft } = this.#model;
		const limit = `at most ${budgetText(budget)}`;
		if (use === null) return Object.keys(budget).length === 0 ? 'No limit' : `Uses ${limit}`;
		const tokens = formatCounted(roughly(use.tokens), 'token');
		const price = draft.policy?.kind === 'openai' ? draft.policy.price : undefined;
		const cost =
			price === undefined ? '' : `, about ${formatNumber((use.tokens / 1e6) * price.output, 2)} ${price.currency}`;
		if (use.limited) return `Expected to exceed its budget of ${tokens}${cost}`;
		const { completions = 0, step = 0 } = facts?.sample ?? {};
		const basis = `the average length of ${formatCounted(completions, 'completion')} at step ${formatCount(step)}`;
		return `About ${tokens}${cost}, based on ${basis}; ${limit}`;
	}

	#choosePolicy(value: string): void {
		const policy = this.#model.policies[Number(value)];
		if (value === otherPolicy) void this.#model.choosePolicy();
		else if (policy !== undefined) this.#model.setPolicy(policy.spec);
	}

	#chooseScorer(value: string): void {
		const scorer = this.#model.scorers[Number(value)];
		if (scorer !== undefined) this.#model.change({ guide: scorer.spec });
	}

	#chooseBudget(value: string): void {
		const budget = offeredBudgets.find((one) => budgetText(one) === value);
		if (value === typedBudget) {
			this.#model.typeBudget(budgetText(this.#model.budget).replaceAll(/(\d),(?=\d)/g, '$1'));
			return;
		}
		this.#model.typeBudget(null);
		if (budget !== undefined) this.#model.change({ budget });
	}
}

function labelOf({ label, detail }: OfferedPolicy): string {
	return detail === '' ? plainLabel(label, 120) : `${plainLabel(label, 120)} (${plainLabel(detail, 120)})`;
}

function setValue(node: HTMLInputElement | HTMLTextAreaElement, value: string): void {
	if (node.value !== value) node.value = value;
}

/** Rounds an estimate to two digits. */
function roughly(value: number): number {
	const unit = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, value))) - 1);
	return Math.round(value / unit) * unit;
}
