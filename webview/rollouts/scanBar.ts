import { button } from '../lib/controls.ts';
import { element, setText } from '../lib/dom.ts';
import { type ScanModel, scanWords } from './scanModel.ts';

/** Scan progress, with buttons to stop the scan or read the whole run. */
export class ScanBar {
	readonly element: HTMLElement;
	readonly #model: ScanModel<{ readonly step: number }>;
	readonly #words = element('span', { role: 'status' });
	readonly #meter = element('progress', { aria: { label: 'Steps read' } }) as HTMLProgressElement;
	readonly #stop;
	readonly #all;
	#said = '';

	constructor(model: ScanModel<{ readonly step: number }>, start: (all: boolean) => void) {
		this.#model = model;
		this.#stop = button({ label: 'Stop', onClick: () => model.stop() });
		this.#all = button({ label: 'Read All', title: 'Read every rollout in the run', onClick: () => start(true) });
		this.element = element(
			'div',
			{ class: 'scan-bar' },
			this.#meter,
			this.#words,
			this.#stop.element,
			this.#all.element,
		);
	}

	update(): void {
		const { progress, running } = this.#model;
		this.element.hidden = progress === null;
		if (progress === null) return;
		this.#meter.hidden = !running;
		this.#meter.max = Math.max(1, progress.total);
		this.#meter.value = progress.done;
		this.#stop.setHidden(!running);
		this.#all.setHidden(running || (progress.state !== 'bounded' && progress.state !== 'stopped'));
		const words = scanWords(progress);
		// The numbers change many times per second, so announce only the final state.
		this.#words.setAttribute('aria-live', running ? 'off' : 'polite');
		if (words !== this.#said) setText(this.#words, words);
		this.#said = words;
	}
}
