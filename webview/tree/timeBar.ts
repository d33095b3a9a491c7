import { Disposable, toDisposable } from '../../src/base/disposable.ts';
import { formatCount, formatCounted, formatDuration } from '../../src/base/format.ts';
import { button, dropdown } from '../lib/controls.ts';
import { element, fill, setAria, setText } from '../lib/dom.ts';
import { frames } from '../lib/frames.ts';
import { describeEvent, eventNames } from './eventWords.ts';
import { advance, type PlayState, type Speed, speeds } from './player.ts';
import type { Change, TreeModel } from './treeModel.ts';

const speedNames = (speed: Speed): string =>
	speed === 'recorded' ? 'Original speed' : `${formatCounted(speed, 'event')}/s`;

/** Replay controls: event slider, play, speed and follow. */
export class TimeBar extends Disposable {
	readonly element: HTMLElement;
	readonly #model: TreeModel;
	readonly #range = element('input', {
		class: 'slider time-slider',
		attributes: { type: 'range', min: 0, max: 0, step: 1 },
		aria: { label: 'Replay position' },
	});
	readonly #place = element('span', { class: 'time-place' });
	readonly #words = element('span', { class: 'time-words' });
	readonly #play;
	readonly #live;
	#speed: Speed = 50;
	#state: PlayState | null = null;
	#last = 0;
	#frame = 0;

	constructor(model: TreeModel) {
		super();
		this.#model = model;
		this.#range.addEventListener('input', () => {
			this.pause();
			this.#goTo(Number(this.#range.value));
		});
		this.#play = button({ label: 'Play', icon: 'play', appearance: 'icon', onClick: () => this.toggle() });
		this.#live = button({
			label: 'Follow new events',
			icon: 'follow',
			appearance: 'icon',
			pressed: true,
			onClick: () => {
				this.pause();
				model.goTo(null);
			},
		});
		const speed = dropdown({
			label: 'Replay speed',
			choices: speeds.map((value) => ({ value: String(value), label: speedNames(value) })),
			value: String(this.#speed),
			onChange: (value) => {
				this.#speed = speeds.find((one) => String(one) === value) ?? 50;
			},
		});
		this.element = element(
			'section',
			{ class: 'time-bar', aria: { label: 'Replay' } },
			button({ label: 'Go to start', icon: 'reset', appearance: 'icon', onClick: () => this.#jump(1) }).element,
			button({ label: 'Previous event', icon: 'previous', appearance: 'icon', onClick: () => this.step(-1) }).element,
			this.#play.element,
			button({ label: 'Next event', icon: 'next', appearance: 'icon', onClick: () => this.step(1) }).element,
			this.#range,
			this.#live.element,
			speed.element,
			element('span', { class: 'time-line' }, this.#place, this.#words),
		);
		this.register(model.onChange((changes) => this.#update(changes)));
		this.register(toDisposable(() => frames.cancel(this.#frame)));
	}

	/** Starts or pauses playback. At the end, restarts from the beginning. */
	toggle(): void {
		if (this.#state !== null) {
			this.pause();
			return;
		}
		const side = this.#model.current;
		if (side === null || side.events.length === 0) return;
		const moment = side.moment >= side.events.length ? 0 : side.moment;
		this.#state = { moment, rest: 0 };
		this.#last = performance.now();
		this.#play.setLabel('Pause', 'pause');
		this.#goTo(moment);
		this.#frame = frames.request((now) => this.#tick(now));
	}

	pause(): void {
		if (this.#state === null) return;
		this.#state = null;
		frames.cancel(this.#frame);
		this.#play.setLabel('Play', 'play');
	}

	step(by: number): void {
		this.pause();
		const side = this.#model.current;
		if (side !== null) this.#goTo(side.moment + by);
	}

	#jump(moment: number): void {
		this.pause();
		this.#goTo(moment);
	}

	#goTo(moment: number): void {
		const side = this.#model.current;
		if (side === null) return;
		this.#model.goTo(moment >= side.events.length ? null : moment);
	}

	#tick(now: number): void {
		const side = this.#model.current;
		if (this.#state === null || side === null) return;
		this.#state = advance(this.#state, Math.min(0.25, (now - this.#last) / 1000), this.#speed, side.events);
		this.#last = now;
		const { moment } = this.#state;
		if (moment !== side.moment || moment >= side.events.length) this.#goTo(moment);
		if (moment >= side.events.length) this.pause();
		else this.#frame = frames.request((time) => this.#tick(time));
	}

	#update(changes: ReadonlySet<Change>): void {
		if (changes.has('sides')) this.pause();
		if (!['events', 'moment', 'sides', 'selection'].some((change) => changes.has(change as Change))) return;
		const side = this.#model.current;
		const count = side?.events.length ?? 0;
		this.#range.max = String(count);
		this.#range.value = String(side?.moment ?? 0);
		this.#range.disabled = count === 0;
		this.#live.setPressed(side?.atEnd ?? true);
		const event = side?.lastEvent ?? null;
		const moment = side?.moment ?? 0;
		const time = event === null ? '' : `, ${formatDuration(event.at)}`;
		setText(this.#place, `Event ${formatCount(moment)} of ${formatCount(count)}${time}`);
		if (event === null) fill(this.#words, 'No events yet.');
		else {
			fill(
				this.#words,
				element('strong', { class: `event-${event.t}` }, eventNames[event.t]),
				` ${describeEvent(event)}`,
			);
		}
		setAria(this.#range, 'valuetext', `${this.#place.textContent}: ${this.#words.textContent ?? ''}`);
	}
}
