import { Disposable } from '../../src/base/disposable.ts';
import { Emitter } from '../../src/base/event.ts';
import { exchangeOf, isRunning, savedExchanges } from '../../src/core/playground/history.ts';
import {
	type ChosenPolicy,
	type Exchange,
	maxSamples,
	maxTokens,
	type PlaygroundCommand,
	type PlaygroundEvent,
	type PlaygroundSampling,
	type PlaygroundState,
	type playgroundRequests,
	type TemplateChoice,
} from '../../src/protocol/playgroundMessages.ts';
import type { Panel } from '../lib/bridge.ts';

type Requests = typeof playgroundRequests;

export type PlaygroundHost = Panel<PlaygroundCommand, Requests>;

/** Type of change: `written` while text arrives, `view` for display settings. */
export type Change = 'policies' | 'history' | 'exchange' | 'written' | 'form' | 'view';
export type Field = 'temperature' | 'topP' | 'maxTokens' | 'seed' | 'samples';
type Form = PlaygroundState['form'];

export const fieldNames: Readonly<Record<Field, string>> = {
	temperature: 'Temperature',
	topP: 'Top-p',
	maxTokens: 'Max tokens',
	seed: 'Seed',
	samples: 'Samples',
};

const usual: Readonly<Record<Field, string>> = {
	temperature: '1',
	topP: '1',
	maxTokens: '256',
	seed: '0',
	samples: '1',
};

/** Minimum, maximum, and whether the value is an integer, for each field. */
const bounds: Readonly<Record<Field, readonly [number, number, boolean]>> = {
	temperature: [0, 10, false],
	topP: [0, 1, false],
	maxTokens: [1, maxTokens, true],
	seed: [0, 2 ** 31 - 1, true],
	samples: [1, maxSamples, true],
};

/** Returns the sampling parameters, or the first invalid field and the reason. */
export function samplingOf(
	fields: Readonly<Record<string, string>>,
): PlaygroundSampling | { readonly field: Field; readonly why: string } {
	const values: Record<Field, number> = { temperature: 0, topP: 0, maxTokens: 0, seed: 0, samples: 0 };
	for (const [field, [min, max, whole]] of Object.entries(bounds) as [Field, (typeof bounds)[Field]][]) {
		const text = (fields[field] ?? '').trim().replace(',', '.');
		const value = text === '' ? Number.NaN : Number(text);
		if (!(value >= min && value <= max) || (whole && !Number.isInteger(value))) {
			const kind = whole ? 'an integer' : 'a number';
			return { field, why: `${fieldNames[field]} must be ${kind} from ${min} to ${max}.` };
		}
		values[field] = value;
	}
	return values;
}

/** State of the view. The extension owns the history; the model owns the form. */
export class PlaygroundModel extends Disposable {
	readonly host: PlaygroundHost;
	readonly #changed = this.register(new Emitter<Change>());
	readonly onChange = this.#changed.event;
	form: Form;
	policies: readonly [ChosenPolicy | null, ChosenPolicy | null];
	forbidden: string | null = null;
	exchanges: readonly Exchange[];
	current: number | null;
	undone = 0;
	/** Whether the panel has sent its state. */
	ready = false;
	/** Values last suggested for a policy. Fields that the user has not changed are updated when the policy changes. */
	#proposed = { temperature: usual.temperature, maxTokens: usual.maxTokens };

	constructor(host: PlaygroundHost, state: PlaygroundState | undefined) {
		super();
		this.host = host;
		this.form = state?.form ?? {
			question: '',
			expected: '',
			fields: { ...usual },
			mode: 'own',
			template: '{prompt}',
			system: null,
			tokens: false,
		};
		this.policies = state?.policies ?? [null, null];
		this.exchanges = state?.exchanges ?? [];
		this.current = state?.current ?? null;
	}

	get state(): PlaygroundState {
		const exchanges = savedExchanges(this.exchanges);
		return { form: this.form, policies: [...this.policies], exchanges, current: this.current };
	}

	get shown(): Exchange | undefined {
		return exchangeOf(this, this.current);
	}

	get running(): boolean {
		return this.exchanges.some(isRunning);
	}

	receive(event: PlaygroundEvent): void {
		switch (event.type) {
			case 'snapshot':
				this.ready = true;
				this.#place(event);
				this.exchanges = event.exchanges;
				this.#take(event.policies, event.forbidden);
				this.#changed.fire('policies');
				this.#changed.fire('history');
				this.#changed.fire('exchange');
				break;
			case 'policies':
				this.#take(event.policies, event.forbidden);
				this.#changed.fire('policies');
				break;
			case 'exchange': {
				const { exchange } = event;
				const known = this.exchanges.some(({ id }) => id === exchange.id);
				this.exchanges = known
					? this.exchanges.map((one) => (one.id === exchange.id ? exchange : one))
					: [...this.exchanges, exchange];
				this.#place(event);
				this.#changed.fire('history');
				if (exchange.id === this.current) this.#changed.fire('exchange');
				break;
			}
			case 'written':
				this.#write(event);
				break;
			case 'history': {
				const kept = new Set(event.kept);
				this.exchanges = this.exchanges.filter(({ id }) => kept.has(id));
				this.#place(event);
				this.#changed.fire('history');
				this.#changed.fire('exchange');
				break;
			}
		}
	}

	/** Updates the form. */
	type(change: Partial<Form>): void {
		this.form = { ...this.form, ...change };
		this.#changed.fire('form');
	}

	setField(field: Field, value: string): void {
		this.type({ fields: { ...this.form.fields, [field]: value.slice(0, 40) } });
	}

	setTokens(tokens: boolean): void {
		this.form = { ...this.form, tokens };
		this.#changed.fire('view');
	}

	/** Sends the question in the form; returns the invalid field if the form is incomplete. */
	ask(): { readonly field: Field | 'question' | 'template' | 'policy'; readonly why: string } | null {
		const { question, expected, fields, system } = this.form;
		if (this.policies[0] === null && this.policies[1] === null)
			return { field: 'policy', why: 'Select a policy first.' };
		if (question.trim() === '') return { field: 'question', why: 'Type a question first.' };
		const sampling = samplingOf(fields);
		if ('why' in sampling) return sampling;
		const template = this.template();
		if (template === null) {
			return { field: 'template', why: 'The template must contain {prompt}.' };
		}
		this.host.post({ type: 'ask', question, expected, sampling, template, system });
		return null;
	}

	/** Returns the template; null if it is invalid. */
	template(): TemplateChoice | null {
		const { mode, template } = this.form;
		if (mode !== 'custom') return { mode };
		return template.includes('{prompt}') ? { mode, text: template } : null;
	}

	#place({ current, undone }: { readonly current: number | null; readonly undone: number }): void {
		this.current = current;
		this.undone = undone;
	}

	#take(policies: readonly [ChosenPolicy | null, ChosenPolicy | null], forbidden: string | null): void {
		this.policies = policies;
		this.forbidden = forbidden;
		const first = policies[0] ?? policies[1];
		if (first === null) return;
		const next = {
			temperature: first.temperature === null ? this.#proposed.temperature : String(first.temperature),
			maxTokens: first.maxTokens === null ? this.#proposed.maxTokens : String(Math.min(first.maxTokens, maxTokens)),
		};
		const { fields } = this.form;
		const follow = (field: 'temperature' | 'maxTokens') =>
			fields[field] === this.#proposed[field] ? next[field] : (fields[field] ?? usual[field]);
		this.form = {
			...this.form,
			fields: { ...fields, temperature: follow('temperature'), maxTokens: follow('maxTokens') },
		};
		this.#proposed = next;
		this.#changed.fire('form');
	}

	#write({ exchange: id, side: at, parts }: Extract<PlaygroundEvent, { type: 'written' }>): void {
		const added = new Map(parts.map(({ sample, text }) => [sample, text]));
		this.exchanges = this.exchanges.map((exchange) =>
			exchange.id !== id
				? exchange
				: {
						...exchange,
						sides: exchange.sides.map((side, i) =>
							i !== at
								? side
								: {
										...side,
										samples: side.samples.map((sample, k) => {
											const text = added.get(k);
											return text === undefined ? sample : { ...sample, text: sample.text + text };
										}),
									},
						),
					},
		);
		if (id === this.current) this.#changed.fire('written');
	}
}
