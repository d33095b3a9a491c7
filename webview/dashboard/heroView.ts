import { formatCount, formatPercent } from '../../src/base/format.ts';
import type { DashboardAlerts, NextStep } from '../../src/protocol/dashboardMessages.ts';
import { button } from '../lib/controls.ts';
import { element, fill } from '../lib/dom.ts';
import type { DashboardModel } from './dashboardModel.ts';
import { type BestCheckpoint, bestCheckpoint, nextSteps, resultOf } from './heroFacts.ts';

const labels: Readonly<Record<NextStep, string>> = {
	showAdvice: 'Show Suggested Change',
	evaluate: 'Evaluate Checkpoint...',
	tryInPlayground: 'Try in Playground',
	compare: 'Compare Runs...',
	query: 'Query Rollouts',
};

/** One-line summary of a run above its charts: result, best checkpoint, and suggested next steps. */
export class HeroView {
	readonly element: HTMLElement;
	readonly #result = element('p', { class: 'hero-result' });
	readonly #steps = element('div', { class: 'hero-steps', role: 'group', aria: { label: 'Next steps' } });
	readonly #take: (step: NextStep) => void;
	#shown = '';
	#offered = '';

	constructor(take: (step: NextStep) => void) {
		this.#take = take;
		this.element = element('section', { class: 'hero', aria: { label: 'Result' }, hidden: true });
		this.element.append(this.#result, this.#steps);
	}

	/** Shows the run. Hidden while rows are arriving, because the latest rows are not known yet. */
	show({ table, run, loading }: DashboardModel, alerts: DashboardAlerts | null): void {
		if (run === null || table.length === 0) {
			this.element.hidden = true;
			return;
		}
		const result = loading ? null : resultOf(table);
		const best = loading ? null : bestCheckpoint(table, run.checkpoints);
		const steps = nextSteps(run, alerts);
		this.element.hidden = result === null && steps.length === 0;
		const shown = JSON.stringify([result, best]);
		if (shown !== this.#shown) {
			this.#shown = shown;
			fill(
				this.#result,
				...(result === null
					? []
					: [
							part(result.label, result.from === result.to ? result.to : `${result.from} → ${result.to}`, result.note),
							...(best === null
								? []
								: [part('Best checkpoint', `step ${formatCount(best.step)}`, noteOf(best, run.checkpoints.length))]),
						]),
			);
		}
		this.#offer(steps);
	}

	/** Keeps the buttons, and therefore focus, if the suggested steps have not changed. */
	#offer(steps: readonly NextStep[]): void {
		const offered = steps.join();
		if (offered === this.#offered) return;
		this.#offered = offered;
		fill(this.#steps, ...steps.map((step) => button({ label: labels[step], onClick: () => this.#take(step) }).element));
	}
}

/** Formats "61.0%, 3 of 5 evaluated". The count is shown because unevaluated checkpoints could be better. */
function noteOf({ accuracy, evaluated }: BestCheckpoint, checkpoints: number): string {
	const some = evaluated < checkpoints ? `, ${formatCount(evaluated)} of ${formatCount(checkpoints)} evaluated` : '';
	return `${formatPercent(accuracy)}${some}`;
}

function part(label: string, value: string, note: string | null): HTMLElement {
	return element(
		'span',
		{ class: 'hero-part' },
		element('span', { class: 'hero-label' }, label),
		element('strong', null, value),
		...(note === null ? [] : [element('span', { class: 'hero-label' }, note)]),
	);
}
