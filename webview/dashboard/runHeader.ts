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
	judgingStages,
	judgmentNames,
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

/** Header with run name, status, progress and actions. */
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
					'The program that wrote this run. The run’s files are opened read-only. Metrics that have a canonical equivalent are shown under the canonical name, and their explanations include the original name. Other metrics keep their original names.',
					...(needs.model.run?.notes ?? []),
				],
			})),
			engine: this.#fact('Engine', () => explainEngine(needs.model.run)),
			stage: this.#fact('Stage', () => explainStage(needs.model.run)),
			step: this.#fact('Step', () => ({
				title: 'Step',
				paragraphs: [
					'Optimizer updates across all stages: completed and maximum. A stage with an accuracy target may end early.',
				],
			})),
			elapsed: this.#fact('Elapsed', () => ({
				title: 'Elapsed',
				paragraphs: ['Wall time since the start, including pauses and time between stop and resume.'],
			})),
			left: this.#fact('Left', () => ({
				title: 'Time left (max)',
				paragraphs: [
					'Time for the remaining steps at the median pace of the last 50 steps. Shown only in the last stage, because the pace of later stages is unknown.',
				],
			})),
			reward: this.#fact('Reward', () => explainMetric('reward', context())),
			judged: this.#fact('Accuracy', () => explainMetric(this.#judged(), context())),
			accuracy: this.#fact('Held-out', () => explainMetric(accuracyNames[0] as string, context())),
			device: this.#fact('Device', () => ({
				title: 'Device',
				paragraphs: ['The device that the engine runs on.', ...(needs.model.run?.deviceNotes ?? [])],
			})),
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
			action('hyperparameters', 'Set hyperparameters', 'sliders', 'icon'),
			action('openLog', 'Open log', 'log', 'icon'),
			action('openFolder', 'Open run folder', 'folder', 'icon'),
		];
		this.#rollouts = button({
			label: 'Rollouts',
			title: 'Open rollouts at the cursor step',
			icon: 'rollouts',
			onClick: needs.openRollouts,
		});
		this.#progress = element(
			'div',
			{ class: 'progress', role: 'progressbar', aria: { label: 'Completed steps', valuemin: 0 } },
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

	/** Renders the current state of the model. Also called periodically to update the elapsed time. */
	render(): void {
		const { model } = this.#needs;
		const { run } = model;
		this.element.hidden = run === null;
		if (run === null) return;
		setText(this.#name, run.name);
		setTitle(this.#name, run.name);
		this.#renderStatus(run);
		for (const { action, control } of this.#actions) control.setHidden(!run.actions.includes(action));
		// Other trainers may have rollouts without metrics.
		this.#rollouts.setDisabled(run.format === undefined && model.table.lastRow('reward') < 0);
		// Use the metrics, because run.json is not updated at every step.
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
		const judged = judges ? newestValue(model.table, judgmentNames) : null;
		setText(this.#facts.judged.label, stageType(run) === 'process-reward-model' ? 'Step accuracy' : 'Pair accuracy');
		show(this.#facts.judged, judged && formatValue(judged.value, 'share'));
		const accuracy = newestValue(model.table, accuracyNames);
		show(this.#facts.accuracy, accuracy && formatValue(accuracy.value, 'share'));
		show(this.#facts.device, run.device === '' ? null : run.device);
		const total = run.totalSteps ?? 0;
		this.#progress.classList.toggle('known', total > 0 && isLive(run));
		this.#bar.style.width = total > 0 && isLive(run) ? `${Math.min(100, (100 * step) / total)}%` : '0';
		setAria(this.#progress, 'valuemax', Math.max(total, step, 1));
		setAria(this.#progress, 'valuenow', step);
		setAria(this.#progress, 'valuetext', total > 0 ? `step ${step} of ${total}` : `step ${step}`);
	}

	#judged(): string {
		return newestValue(this.#needs.model.table, judgmentNames)?.metric ?? 'rewards/accuracies';
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
