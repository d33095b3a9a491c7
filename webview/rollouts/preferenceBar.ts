import { Failure } from '../../src/base/failure.ts';
import type { PreferenceChoice } from '../../src/protocol/feedback.ts';
import type { Place } from '../../src/protocol/rolloutsMessages.ts';
import { button } from '../lib/controls.ts';
import { element, setText } from '../lib/dom.ts';
import type { Ask } from './rolloutsState.ts';

const labels: Readonly<Record<PreferenceChoice, string>> = {
	a: 'A Is Better',
	equal: 'Equal',
	b: 'B Is Better',
};
const said: Readonly<Record<PreferenceChoice, string>> = {
	a: 'You prefer A.',
	equal: 'You rated them as equal.',
	b: 'You prefer B.',
};

/** Human preference between two completions. Pressing the same button again clears the preference. */
export class PreferenceBar {
	readonly element: HTMLElement;
	readonly #ask: Ask;
	readonly #pair: { readonly a: Place; readonly b: Place };
	readonly #status = element('span', { class: 'quiet', role: 'status' });
	readonly #buttons;
	#choice: PreferenceChoice | null = null;
	#possible = false;

	constructor(ask: Ask, a: Place, b: Place) {
		this.#ask = ask;
		this.#pair = { a, b };
		this.#buttons = (['a', 'equal', 'b'] as const).map((choice) => ({
			choice,
			control: button({ label: labels[choice], pressed: false, onClick: () => void this.choose(choice) }),
		}));
		for (const { control } of this.#buttons) control.setDisabled(true);
		this.element = element(
			'div',
			{ class: 'preference', role: 'group', aria: { label: 'Preference' } },
			element('span', null, 'Which is better?'),
			...this.#buttons.map(({ control }) => control.element),
			this.#status,
		);
		void this.#load();
	}

	/** Saves a preference, or clears it if it is the current one. */
	async choose(choice: PreferenceChoice): Promise<void> {
		if (!this.#possible) return;
		const before = this.#choice;
		this.#show(before === choice ? null : choice);
		try {
			await this.#ask('savePreference', { ...this.#pair, choice: this.#choice });
		} catch (error) {
			this.#show(before);
			setText(this.#status, `Not saved: ${Failure.from(error)}`);
		}
	}

	async #load(): Promise<void> {
		try {
			const { samePrompt, choice } = await this.#ask('loadPreference', this.#pair);
			this.#possible = samePrompt;
			for (const { control } of this.#buttons) control.setDisabled(!samePrompt);
			if (samePrompt) this.#show(choice);
			else setText(this.#status, 'The completions belong to different prompts, so they cannot be ranked.');
		} catch (error) {
			setText(this.#status, Failure.from(error).toString());
		}
	}

	#show(choice: PreferenceChoice | null): void {
		this.#choice = choice;
		for (const one of this.#buttons) one.control.setPressed(one.choice === choice);
		setText(this.#status, choice === null ? '' : said[choice]);
	}
}
