import { Disposable } from '../../src/base/disposable.ts';
import { formatCount, formatDuration } from '../../src/base/format.ts';
import type { DashboardAction, DashboardRun } from '../../src/protocol/dashboardMessages.ts';
import { type RovingFocus, rovingFocus } from '../lib/a11y.ts';
import { formatValue } from '../lib/charts/plotScales.ts';
import { type ButtonControl, button } from '../lib/controls.ts';
import { element, fill, setAria, setText, setTitle } from '../lib/dom.ts';
import { type IconName, icon } from '../lib/icons.ts';
import type { Tooltip } from '../lib/tooltip.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { DashboardModel } from './dashboardModel.ts';
import { explainMetric, metricContext } from './explanations.ts';
import {
	accuracyNames,
	elapsedOfRun,
	isLive,
	judgementNames,
	judgingStages,
	newestValue,
	remainingSeconds,
	statusWords,
} from './headerFacts.ts';
import { engineWords, explainEngine, explainStage, stageType } from './runWords.ts';

export interface HeaderNeeds {
	readonly model: DashboardModel;
	readonly tooltip: Tooltip;
	readonly act: (action: DashboardAction) => void;
	readonly openRollouts: () => void;
}

const statusIcons: Readonly<Record<string, IconName>> = {
	starting: 'clock',
	running: 'play',
	paused: 'pause',
	finished: 'check',
	stopped: 'stop',
	crashed: 'error',
	unreadable: 'warning',
};

interface Fact {
	readonly root: HTMLElement;
	readonly label: HTMLElement;
	readonly value: HTMLElement;
}

/** Who runs, how far it is, and what can be done with it. */
export class RunHeader extends Disposable {
	readonly element: HTMLElement;
	readonly #needs: HeaderNeeds;
	readonly #name = element('h1', { class: 'run-name' });
	readonly #status = element('span', { class: 'status' });
	readonly #progress: HTMLElement;
	readonly #bar = element('div', { class: 'progress-bar' });
	readonly #facts: Record<
		'trainer' | 'engine' | 'stage' | 'step' | 'elapsed' | 'left' | 'reward' | 'judged' | 'accuracy' | 'device',
		Fact
	>;
	readonly #actions: readonly { readonly action: DashboardAction; readonly control: ButtonControl }[];
	readonly #rollouts: ButtonControl;
	readonly #focus: RovingFocus;
	#statusKey = '';

	constructor(needs: HeaderNeeds) {
		super();
		this.#needs = needs;
		const context = () => metricContext(needs.model.run, undefined);
		this.#facts = {
			trainer: this.#fact('Trainer', () => ({
				title: 'Trainer',
				paragraphs: [
					'The program that wrote this run; it is read as it lies, and nothing is changed. A metric that is the canonical one has the canonical name, and its explanation the name of the trainer; any other has the name that the trainer gave it.',
					...(needs.model.run?.notes ?? []),
				],
			})),
			engine: this.#fact('Engine', () => explainEngine(needs.model.run)),
			stage: this.#fact('Stage', () => explainStage(needs.model.run)),
			step: this.#fact('Step', () => ({
				title: 'Step',
				paragraphs: [
					'Optimizer updates done, over all stages, and how many there are at most: a stage that ends by a measured accuracy may need fewer.',
				],
			})),
			elapsed: this.#fact('Elapsed', () => ({
				title: 'Elapsed',
				paragraphs: [
					'Time since the run was started; pauses and the time between a stop and its resume are part of it.',
				],
			})),
			left: this.#fact('Left', () => ({
				title: 'Time left, at most',
				paragraphs: [
					'Steps that are left at the median pace of the newest 50. Not shown before the last stage, as the pace of a stage is known only once it runs.',
				],
			})),
			reward: this.#fact('Reward', () => explainMetric('reward', context())),
			judged: this.#fact('In order', () => explainMetric(this.#judged(), context())),
			accuracy: this.#fact('Held-out', () => explainMetric(accuracyNames[0] as string, context())),
			device: this.#fact('Device', () => ({ title: 'Device', paragraphs: ['What the engine computes on.'] })),
		};
		const action = (
			name: DashboardAction,
			label: string,
			symbol: IconName,
			appearance: 'icon' | 'secondary' | 'primary',
		) => ({
			action: name,
			control: button({ label, icon: symbol, appearance, onClick: () => needs.act(name) }),
		});
		this.#actions = [
			action('resume', 'Resume', 'resume', 'secondary'),
			action('pause', 'Pause', 'pause', 'secondary'),
			action('continue', 'Continue', 'play', 'primary'),
			action('stop', 'Stop', 'stop', 'secondary'),
			action('checkpoint', 'Save checkpoint', 'checkpoint', 'icon'),
			action('hyperparameters', 'Set hyper-parameters', 'sliders', 'icon'),
			action('openLog', 'Open the log', 'log', 'icon'),
			action('openFolder', 'Open the run folder', 'folder', 'icon'),
		];
		this.#rollouts = button({
			label: 'Rollouts',
			title: 'Open the rollouts of the step under the cursor',
			icon: 'rollouts',
			onClick: needs.openRollouts,
		});
		this.#progress = element(
			'div',
			{ class: 'progress', role: 'progressbar', aria: { label: 'Steps done', valuemin: 0 } },
			this.#bar,
		);
		const controls = this.#actions.map(({ control }) => control.element);
		const inOrder = [...controls.slice(0, 4), this.#rollouts.element, ...controls.slice(4)];
		const buttons = element('div', { class: 'run-actions', role: 'toolbar', aria: { label: 'Run' } }, ...inOrder);
		this.#focus = this.register(
			rovingFocus(buttons, () => inOrder.filter((node) => !node.hidden && !node.hasAttribute('disabled'))),
		);
		this.element = element(
			'header',
			{ class: 'run-header' },
			element('div', { class: 'run-title' }, this.#name, this.#status, element('span', { class: 'spacer' }), buttons),
			element('dl', { class: 'facts' }, ...Object.values(this.#facts).map((fact) => fact.root)),
			this.#progress,
		);
		this.render();
	}

	/** Draws what the model says now; the clock calls it too. */
	render(): void {
		const { model } = this.#needs;
		const { run } = model;
		this.element.hidden = run === null;
		if (run === null) return;
		setText(this.#name, run.name);
		setTitle(this.#name, run.name);
		this.#renderStatus(run);
		for (const { action, control } of this.#actions) control.setHidden(!run.actions.includes(action));
		// Another trainer's rollouts need no metrics beside them.
		this.#rollouts.setDisabled(run.format === undefined && model.table.lastRow('reward') < 0);
		// run.json is not rewritten at every step; the metrics are.
		const newest = model.table.step.at(-1);
		const known = run.step ?? newest ?? null;
		const step = Math.max(run.step ?? 0, newest ?? 0);
		this.#focus.settle();
		const show = (fact: Fact, text: string | null): void => {
			fact.root.hidden = text === null;
			setText(fact.value, plainLabel(text ?? ''));
		};
		show(this.#facts.trainer, run.format === undefined ? null : run.engine);
		show(this.#facts.engine, run.format === undefined ? engineWords(run) : null);
		show(this.#facts.stage, run.format === undefined ? run.stage : null);
		show(
			this.#facts.step,
			known === null
				? null
				: run.totalSteps === null
					? formatCount(step)
					: `${formatCount(step)} / ${formatCount(run.totalSteps)}`,
		);
		const elapsed = elapsedOfRun(run, model.now());
		show(this.#facts.elapsed, elapsed === null ? null : formatDuration(Math.floor(elapsed)));
		const left = remainingSeconds(run, model.table);
		show(this.#facts.left, left === null || left <= 0 ? null : `\u2264 ${formatDuration(left)}`);
		const reward = newestValue(model.table, ['reward']);
		show(this.#facts.reward, reward && formatValue(reward.value, 'number'));
		const judges = judgingStages.includes(stageType(run) ?? '');
		const judged = judges ? newestValue(model.table, judgementNames) : null;
		setText(this.#facts.judged.label, stageType(run) === 'process-reward-model' ? 'Steps right' : 'Pairs in order');
		show(this.#facts.judged, judged && formatValue(judged.value, 'share'));
		const accuracy = newestValue(model.table, accuracyNames);
		show(this.#facts.accuracy, accuracy && formatValue(accuracy.value, 'share'));
		show(this.#facts.device, run.device === '' ? null : run.device);
		const total = run.totalSteps ?? 0;
		this.#progress.classList.toggle('known', total > 0 && isLive(run));
		this.#bar.style.width = total > 0 && isLive(run) ? `${Math.min(100, (100 * step) / total)}%` : '0';
		setAria(this.#progress, 'valuemax', Math.max(total, step, 1));
		setAria(this.#progress, 'valuenow', step);
		setAria(this.#progress, 'valuetext', total > 0 ? `step ${step} of at most ${total}` : `step ${step}`);
	}

	#judged(): string {
		return newestValue(this.#needs.model.table, judgementNames)?.metric ?? 'rewards/accuracies';
	}

	#renderStatus(run: DashboardRun): void {
		const words = statusWords(run);
		const attempt = run.attempt > 1 ? `, attempt ${run.attempt}` : '';
		const key = `${words}${attempt}`;
		if (key === this.#statusKey) return;
		this.#statusKey = key;
		const kind = run.status ?? (run.fault?.missing ? 'starting' : 'unreadable');
		this.#status.className = `status status-${kind}`;
		fill(this.#status, icon(statusIcons[kind] ?? 'clock'), `${words}${attempt}`);
	}

	#fact(label: string, explanation: Parameters<Tooltip['explain']>[1]): Fact {
		const value = element('dd', null);
		const term = element('dt', null, label);
		const root = element('div', { class: 'fact', tabIndex: 0 }, term, value);
		this.register(this.#needs.tooltip.explain(root, explanation));
		return { root, label: term, value };
	}
}
