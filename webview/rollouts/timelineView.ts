import { scaleLinear } from 'd3';
import { formatDuration } from '../../src/base/format.ts';
import type { RolloutTimeline, TimelineActivity } from '../../src/protocol/rolloutTimeline.ts';
import { element, fill, setAria, setText, uniqueId } from '../lib/dom.ts';
import { activityWords, kindNames, type TimelineLayout, timelineLayout, timelineWords } from './timelineLayout.ts';

const rowHeight = 16;

/**
 * Activities of a rollout over time, as bars. Arrow keys, Home and End select an activity, which is described below the
 * bars. Activities without a recorded duration are drawn as marks with no length.
 */
export class TimelineView {
	readonly element: HTMLElement;
	readonly #activities: RolloutTimeline;
	readonly #bars: HTMLElement[];
	readonly #list: HTMLElement;
	readonly #words = element('p', { class: 'activity-words' });
	#selected = -1;

	constructor(label: string, activities: RolloutTimeline) {
		this.#activities = activities;
		const layout = timelineLayout(activities);
		const scale = scaleLinear()
			.domain([0, layout.end > 0 ? layout.end : 1])
			.range([0, 100]);
		this.#bars = activities.map((activity, i) => this.#bar(activity, i, layout, scale));
		this.#list = element(
			'div',
			{
				class: 'activity-bars',
				role: 'listbox',
				tabIndex: 0,
				aria: { label, orientation: 'horizontal' },
				on: { keydown: (event) => this.#onKey(event), focus: () => this.#select(Math.max(0, this.#selected)) },
			},
			...this.#bars,
		);
		this.#list.style.height = `${layout.rowCount * rowHeight}px`;
		this.element = element(
			'div',
			{ class: 'activities' },
			element('p', { class: 'quiet' }, timelineWords(activities, layout)),
			legend(activities),
			this.#list,
			layout.end > 0 && axis(scale),
			this.#words,
		);
	}

	#bar(
		activity: TimelineActivity,
		index: number,
		{ rows }: TimelineLayout,
		scale: (seconds: number) => number,
	): HTMLElement {
		const { kind, start, seconds, error } = activity;
		const state = `${seconds === null ? ' unknown-length' : ''}${error === undefined ? '' : ' failed'}`;
		const words = activityWords(activity);
		const bar = element('div', {
			class: `activity ${kind}${state}`,
			id: uniqueId('activity'),
			role: 'option',
			title: words,
			aria: { label: words, selected: false },
			on: { click: () => this.#select(index) },
		});
		bar.style.left = `${scale(start)}%`;
		if (seconds !== null) bar.style.width = `${scale(start + seconds) - scale(start)}%`;
		bar.style.top = `${(rows[index] as number) * rowHeight}px`;
		return bar;
	}

	#select(index: number): void {
		const [before, bar] = [this.#bars[this.#selected], this.#bars[index]];
		if (bar === undefined) return;
		if (before !== undefined) setAria(before, 'selected', false);
		before?.classList.remove('selected');
		this.#selected = index;
		setAria(bar, 'selected', true);
		bar.classList.add('selected');
		setAria(this.#list, 'activedescendant', bar.id);
		setText(this.#words, activityWords(this.#activities[index] as TimelineActivity));
	}

	#onKey(event: KeyboardEvent): void {
		if (event.ctrlKey || event.altKey || event.metaKey) return;
		const last = this.#bars.length - 1;
		const steps: Readonly<Record<string, number>> = {
			ArrowRight: this.#selected + 1,
			ArrowDown: this.#selected + 1,
			ArrowLeft: this.#selected - 1,
			ArrowUp: this.#selected - 1,
			Home: 0,
			End: last,
		};
		const to = steps[event.key];
		if (to === undefined) return;
		// The panel uses arrow keys to move between completions.
		event.preventDefault();
		event.stopPropagation();
		this.#select(Math.min(last, Math.max(0, to)));
	}
}

function legend(activities: RolloutTimeline): HTMLElement {
	const kinds = new Set(activities.map(({ kind }) => kind));
	const entries = [...kinds].map((kind) =>
		element('span', { class: 'activity-kind' }, element('span', { class: `activity-swatch ${kind}` }), kindNames[kind]),
	);
	return element('p', { class: 'activity-legend', aria: { hidden: true } }, ...entries);
}

function axis(scale: ReturnType<typeof scaleLinear<number, number>>): HTMLElement {
	const ticks = scale.ticks(4).map((seconds) => {
		const tick = element('span', null, formatDuration(seconds));
		tick.style.left = `${scale(seconds)}%`;
		return tick;
	});
	const line = element('div', { class: 'activity-axis', aria: { hidden: true } });
	fill(line, ...ticks);
	return line;
}
