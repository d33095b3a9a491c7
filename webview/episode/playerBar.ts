import { Disposable, toDisposable } from '../../src/base/disposable.ts';
import { replaySpeeds } from '../../src/protocol/episodeMessages.ts';
import { button, dropdown } from '../lib/controls.ts';
import { element, setAria, setText } from '../lib/dom.ts';
import { frames } from '../lib/frames.ts';
import type { EpisodeModel } from './episodeModel.ts';
import { advance, type ReplayState } from './replay.ts';

/** Replay controls: slider, play, and speed. */
export class PlayerBar extends Disposable {
	readonly element: HTMLElement;
	readonly #model: EpisodeModel;
	readonly #range = element('input', {
		class: 'slider turn-slider',
		attributes: { type: 'range', min: 0, max: 0, step: 1 },
		aria: { label: 'Turn' },
	});
	readonly #place = element('span', { class: 'turn-place' });
	readonly #play;
	readonly #speed;
	#state: ReplayState | null = null;
	#episode: number | null = null;
	#last = 0;
	#frame = 0;

	constructor(model: EpisodeModel) {
		super();
		this.#model = model;
		this.#range.addEventListener('input', () => this.goTo(Number(this.#range.value)));
		this.#play = button({ label: 'Play', icon: 'play', appearance: 'icon', onClick: () => this.toggle() });
		this.#speed = dropdown({
			label: 'Replay speed',
			choices: replaySpeeds.map((speed) => ({ value: String(speed), label: `${speed}×` })),
			value: String(model.speed),
			onChange: (value) => model.setSpeed(replaySpeeds.find((speed) => String(speed) === value) ?? 1),
		});
		this.element = element(
			'section',
			{ class: 'player', aria: { label: 'Replay' } },
			button({ label: 'Go to reset', icon: 'reset', appearance: 'icon', onClick: () => this.goTo(0) }).element,
			button({ label: 'Previous turn', icon: 'previous', appearance: 'icon', onClick: () => this.step(-1) }).element,
			this.#play.element,
			button({ label: 'Next turn', icon: 'next', appearance: 'icon', onClick: () => this.step(1) }).element,
			this.#range,
			this.#place,
			this.#speed.element,
		);
		this.register(toDisposable(() => frames.cancel(this.#frame)));
	}

	/** Starts or pauses playback. At the end, starts again from the reset. */
	toggle(): void {
		if (this.#state !== null) {
			this.pause();
			return;
		}
		const { shown, turn, lastTurn } = this.#model;
		if (shown === null || lastTurn === 0) return;
		this.#episode = shown.id;
		this.#state = { turn: turn >= lastTurn ? 0 : turn, rest: 0 };
		this.#last = performance.now();
		this.#play.setLabel('Pause', 'pause');
		this.#model.goTo(this.#state.turn);
		this.#frame = frames.request((now) => this.#tick(now));
	}

	pause(): void {
		if (this.#state === null) return;
		this.#state = null;
		frames.cancel(this.#frame);
		this.#play.setLabel('Play', 'play');
	}

	step(by: number): void {
		this.goTo(this.#model.turn + by);
	}

	goTo(turn: number): void {
		this.pause();
		this.#model.goTo(turn);
	}

	draw(): void {
		const { shown, turn, lastTurn, speed } = this.#model;
		if (shown?.id !== this.#episode) this.pause();
		this.element.hidden = shown === null;
		this.#range.max = String(lastTurn);
		this.#range.value = String(turn);
		this.#range.disabled = lastTurn === 0;
		this.#play.setDisabled(lastTurn === 0);
		this.#speed.setValue(String(speed));
		const reset = lastTurn === 0 ? 'Reset' : `Reset, before turn 1 of ${lastTurn}`;
		setText(this.#place, turn === 0 ? reset : `Turn ${turn} of ${lastTurn}`);
		setAria(this.#range, 'valuetext', this.#place.textContent ?? '');
	}

	#tick(now: number): void {
		if (this.#state === null) return;
		const { speed, lastTurn, turn } = this.#model;
		// After being hidden, the view continues where it left off.
		const seconds = Math.min(0.25, Math.max(0, now - this.#last) / 1000);
		this.#state = advance(this.#state, seconds, speed, lastTurn);
		this.#last = now;
		if (this.#state.turn !== turn) this.#model.goTo(this.#state.turn);
		if (this.#state.turn >= lastTurn) this.pause();
		else this.#frame = frames.request((time) => this.#tick(time));
	}
}
